"""The command line: one module per domain, each a thin adapter over the library's own functions."""
