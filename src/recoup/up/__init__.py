"""``recoup up``: server, schema, worker and API of one machine, in one command.

What an operator can rely on:

- One ``up`` for each home. A second one, and one whose port is taken, are refused before anything is changed.
- Worker and API are processes of their own. One that dies is started again, and so is the embedded server; none of
  them outlives ``up``, however that ends. What was acknowledged is committed, so nothing is lost with any of them.
- Stopped by a signal it takes no new requests, finishes what is in progress, and stops the server if it was started by
  ``up`` and nobody else is connected.
"""
