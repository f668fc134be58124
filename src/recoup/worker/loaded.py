"""What a process that works for long has loaded by the time it begins."""

import gc


def keep() -> None:
    """Leave what is loaded out of garbage collection: it stays anyway, and to walk over it takes 25 ms each time."""
    gc.collect()
    gc.freeze()
