"""When a worker has to stop by itself."""

from recoup.refusals import Refusal


class WorkerStopped(Refusal):
    """Raised by a duty: the worker finishes what is in progress, and exits with a status that is not 0."""
