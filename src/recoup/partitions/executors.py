"""Where tasks run: threads of this process, processes of this machine, or a Dask cluster."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import Any

from recoup.redaction import in_words
from recoup.refusals import InputRefused, SettingRefused
from recoup.settings import Settings
from recoup.work.flow import ThreadEach

DASK_TIMEOUT_S = 10
KILLED_S = 10  # a process that was killed is gone long before


@dataclass(frozen=True, slots=True)
class Place:
    """An executor, and what can be relied on."""

    executor: Executor
    repeats: bool = False  # it may run a task twice, and lose results: a task starts and ends its run itself
    apart: bool = False  # in other processes
    kill: Callable[["Future[Any]"], None] | None = None  # ends a task that hangs, where that is possible
    close: Callable[[], None] = lambda: None
    is_alive: Callable[[], bool] = lambda: True  # False: it is to be made again


def place(settings: Settings) -> Place:
    """Where the settings say that tasks run."""
    match settings.partition_executor:
        case "processes":
            slots = ProcessSlots()
            return Place(slots, apart=True, kill=slots.kill, close=slots.shutdown)
        case "dask":
            return dask(settings.dask_scheduler)
    return Place(ThreadEach())


class ProcessSlots(Executor):
    """A process for each task that runs at the same time, used again by later ones.

    Each is a pool of one: a task whose process dies takes no other task with it, and one that hangs can be killed.
    """

    def __init__(self) -> None:
        self._free: list[tuple[ProcessPoolExecutor, Future[int]]] = []
        self._busy: dict[int, tuple[ProcessPoolExecutor, Future[int]]] = {}
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        with self._lock:
            slot = self._free.pop() if self._free else self._made()
        try:
            future = slot[0].submit(fn, *args, **kwargs)
        except RuntimeError:  # its process died while it was idle
            slot[0].shutdown(wait=False)
            slot = self._made()
            future = slot[0].submit(fn, *args, **kwargs)
        with self._lock:
            self._busy[id(future)] = slot
        future.add_done_callback(self._ended)
        return future

    def kill(self, future: "Future[Any]") -> None:
        """End the process of a task that hangs, and wait until its future has ended: its slot is free then."""
        with self._lock:
            slot = self._busy.get(id(future))
        if slot is None:
            return
        ended = threading.Event()
        future.add_done_callback(lambda _: ended.set())  # behind those that were added before
        with contextlib.suppress(ProcessLookupError, BrokenExecutor, TimeoutError):
            os.kill(slot[1].result(timeout=KILLED_S), signal.SIGKILL)
            ended.wait(KILLED_S)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            slots = [*self._free, *self._busy.values()]
            self._free = []
        for pool, _ in slots:
            pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def _made(self) -> "tuple[ProcessPoolExecutor, Future[int]]":
        # Not forked: this process has threads, which hold locks.
        pool = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"), initializer=_end_with_parent)
        return pool, pool.submit(os.getpid)

    def _ended(self, future: "Future[Any]") -> None:
        with self._lock:
            slot = self._busy.pop(id(future))
            if not isinstance(future.exception(), RuntimeError):
                self._free.append(slot)
                return
        slot[0].shutdown(wait=False)


def _end_with_parent() -> None:
    """A worker that is killed must not leave processes behind that write for it."""
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, name="recoup-parent", daemon=True).start()


def dask(scheduler: str | None) -> Place:
    """A Dask cluster. One that repeats failed tasks is refused: a partition is retried by the control plane alone."""
    if scheduler is None:
        raise SettingRefused(
            "no_dask_scheduler",
            "Tasks of partitions run on Dask (executor), and no scheduler is named.",
            'Add its address to recoup.toml, under [partitions]: scheduler = "tcp://HOST:8786"',
        )
    try:
        from distributed import Client as Untyped
    except ImportError as error:
        raise InputRefused(
            "dask_missing", "Tasks on Dask need distributed, which is not installed.",
            "Install the extra: pip install 'recoup[dask]'",
        ) from error  # fmt: skip
    client_of: Any = Untyped
    try:
        client = client_of(scheduler, timeout=DASK_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:  # the second: an address that is none
        raise SettingRefused(
            "dask_unreachable", f"The Dask scheduler {scheduler} does not answer: {in_words(error)}",
            "Start the cluster, or correct its address in recoup.toml, under [partitions].", scheduler=scheduler,
        ) from error  # fmt: skip
    # A function without a name is sent as it is: the scheduler needs no Recoup.
    allowed = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)
    if allowed != 0:
        client.close()
        raise SettingRefused(
            "dask_repeats",
            f"The Dask cluster at {scheduler} repeats a task whose worker died up to {allowed} times"
            " (distributed.scheduler.allowed-failures).",
            "Set it to 0 where the scheduler starts: DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0",
            scheduler=scheduler, allowed_failures=allowed,
        )  # fmt: skip
    return Place(
        _Uncancelled(client.get_executor(pure=False)), repeats=True, apart=True, close=client.close,
        is_alive=lambda: client.status == "running",
    )  # fmt: skip


class _Uncancelled(Executor):
    """A cluster that goes away cancels its tasks. Nobody asked for that here: it is an error of each."""

    def __init__(self, cluster: Executor) -> None:
        self._cluster = cluster

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        ours: Future[Any] = Future()
        self._cluster.submit(fn, *args, **kwargs).add_done_callback(lambda theirs: _pass_on(theirs, ours))
        return ours


def _pass_on(theirs: "Future[Any]", ours: "Future[Any]") -> None:
    if theirs.cancelled():
        ours.set_exception(BrokenExecutor("the cluster went away, or cancelled the task"))
    elif (error := theirs.exception()) is not None:
        ours.set_exception(error)
    else:
        ours.set_result(theirs.result())
