"""Reading the metrics of a database: in parts, each in a transaction of its own. One that fails hides no other."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import psycopg
from psycopg.sql import Identifier, Literal

from recoup import __version__, observe, policy
from recoup.database.connection import Database, Transaction
from recoup.database.queries import load
from recoup.domain import Domain, duties, lifecycles, logs
from recoup.lifecycles.declaration import Authority
from recoup.metrics import declared
from recoup.metrics.declared import Metric
from recoup.refusals import Refusal
from recoup.worker.policy import WorkerPolicy

Q = load("recoup.metrics", "metrics.sql")
TIMEOUT = "5s"  # of one statement: a scrape that hangs is worth less than one that lacks something
MAX_WORKERS = 200
MAX_KEYS = 1000  # of one signal
MAX_SUBSCRIPTIONS = 200
MAX_LABEL = 400  # characters


@dataclass(frozen=True, slots=True)
class Value:
    """One line of the text: a metric, the values of its labels, and a number."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


Part = Callable[[Transaction], Iterable[Value]]


@dataclass(frozen=True)
class Reader:
    """Reads everything that the domains have, from one database."""

    domains: Sequence[Domain]

    def read(self, database: Database) -> list[Value]:
        """All values. Never raises because of the database: what could not be read is a value, too."""
        found = [_value(declared.INFO, 1, __version__)]
        is_up = False
        for name, part in self.parts.items():
            begun = time.monotonic()
            try:
                with database.transaction(Authority.READER) as tx:
                    tx.execute(Q["as_reader"], {"timeout": TIMEOUT})
                    found += part(tx)
            except (psycopg.Error, Refusal) as error:
                observe.logger().error("metrics could not be read", part=name, failure=_words(error))
                found.append(_value(declared.SCRAPE_FAILED, 1, name))
                if not is_up and not _answers(error):
                    break  # no other part would fare better, and each would wait as long
            else:
                is_up = True
                found.append(_value(declared.SCRAPE_FAILED, 0, name))
            found.append(_value(declared.SCRAPE_SECONDS, time.monotonic() - begun, name))
        return [*found, _value(declared.UP, int(is_up))]

    @cached_property
    def parts(self) -> dict[str, Part]:
        return {
            "database": _database,
            "workers": _workers,
            "duties": self._duties,
            "queues": self._queues,
            "logs": self._logs,
            "alerts": self._alerts,
        }

    def _duties(self, tx: Transaction) -> Iterator[Value]:
        for duty in duties(self.domains):
            yield _value(declared.DUTY_LAG, max(duty.lag(tx) or 0.0, 0.0), duty.name)

    def _queues(self, tx: Transaction) -> Iterator[Value]:
        given = {"most": declared.MAX_COUNTED}
        for life in lifecycles(self.domains):
            if life.queue is None:
                continue
            name = life.queue.table
            query = Q["queue"].format(queue=Identifier(*name.split(".")), most=Literal(declared.MAX_COUNTED))
            due, claimed, longest, oldest = tx.execute(query).fetchone() or (0, 0, None, None)
            yield _value(declared.QUEUE, due, name, "due")
            yield _value(declared.QUEUE, claimed, name, "claimed")
            yield _value(declared.QUEUE_LAG, longest or 0.0, name)
            yield _value(declared.OLDEST_LEASE, oldest or 0.0, name)
        for queue, stage, count in tx.execute(Q["waits"], given):
            yield _value(declared.QUEUE, count, queue, stage)
        for queue, oldest in tx.execute(Q["leases"]):
            yield _value(declared.OLDEST_LEASE, oldest or 0.0, queue)

    def _logs(self, tx: Transaction) -> Iterator[Value]:
        transactions, seconds = tx.execute(Q["horizon"]).fetchone() or (0, None)
        yield _value(declared.HORIZON_TRANSACTIONS, transactions)
        yield _value(declared.HORIZON_SECONDS, seconds or 0.0)
        times = {log.table: log.at for log in logs(self.domains)}
        for log, name, incarnation, unread in tx.execute(Q["subscriptions"], {"most": MAX_SUBSCRIPTIONS}).fetchall():
            if log not in times:
                continue  # of a later release
            query = Q["first_unread"].format(log=Identifier(*log.split(".")), at=Identifier(times[log]))
            row = tx.execute(query, {"first_unread": unread, "incarnation": incarnation}).fetchone()
            yield _value(declared.SUBSCRIPTION_LAG, max(row[0] if row and row[0] else 0.0, 0.0), log, name)

    def _alerts(self, tx: Transaction) -> Iterator[Value]:
        given = {"most": MAX_KEYS}
        for severity, count in tx.execute(Q["alerts"], given):
            yield _value(declared.ALERTS, count, severity)
        age, failing = tx.execute(Q["judged"]).fetchone() or (None, 0)
        if age is not None:
            yield _value(declared.ALERTS_JUDGED, max(age, 0.0))
        yield _value(declared.SIGNALS_FAILING, failing)
        metrics = dict(declared.of_signals(self.domains))
        for signal, key, value in tx.execute(Q["signals"], given):
            if signal in metrics:
                yield _value(metrics[signal], value, key)


def _database(tx: Transaction) -> Iterator[Value]:
    ahead = tx.execute(Q["now"]).fetchone()
    yield _value(declared.CLOCK_AHEAD, ahead[0] if ahead else 0.0)
    for domain, epoch, release in tx.execute(Q["releases"]):
        yield _value(declared.RELEASE, release, domain, epoch)
    version = tx.execute(Q["policy"]).fetchone()
    yield _value(declared.POLICY_VERSION, version[0] if version else 0)


def _workers(tx: Transaction) -> Iterator[Value]:
    given = {"lost_after_s": policy.in_force(tx).policy[WorkerPolicy].lost_after_s, "most": MAX_WORKERS}
    alive, silent, age = tx.execute(Q["workers"], given).fetchone() or (0, 0, None)
    yield _value(declared.WORKERS, alive, "alive")
    yield _value(declared.WORKERS, silent, "silent")
    if age is not None:
        yield _value(declared.WORKER_BEAT, max(age, 0.0))
    for duty, worker, runs, done, failures, last_run_at in tx.execute(Q["tallies"], given):
        yield _value(declared.DUTY_RUNS, runs, duty, worker)
        yield _value(declared.DUTY_UNITS, done, duty, worker)
        yield _value(declared.DUTY_FAILURES, failures, duty, worker)
        yield _value(declared.DUTY_LAST_RUN, last_run_at, duty, worker)
    for scope, count in tx.execute(Q["pauses"]):
        yield _value(declared.PAUSED, count, scope)


def _value(metric: Metric, value: float, *labels: object) -> Value:
    return Value(metric, tuple(str(label)[:MAX_LABEL] for label in labels), float(value))


def _answers(error: Exception) -> bool:
    """Whether the database refused this one statement, and would answer others."""
    return isinstance(error, psycopg.Error) and error.sqlstate is not None


def _words(error: Exception) -> str:
    return error.happened if isinstance(error, Refusal) else f"{type(error).__name__}: {error}".split("\n")[0]
