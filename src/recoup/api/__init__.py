"""The HTTP API: the same functions as the library and the commands, for programs in any language.

A route is a typed function over a transaction, with the authority that it needs (``declare``). Each domain lists its
routes in a module of its own; the verbs of its subjects are made from their declarations. The application adds what is
the same for all of them: who calls, limits, one transaction, idempotency keys, one shape of answers and refusals.
"""
