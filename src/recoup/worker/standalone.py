"""A duty without a worker: the command line, the demo, a bench."""

from contextlib import AbstractContextManager

from recoup import policy
from recoup.database.connection import Actor, Database, Transaction
from recoup.lifecycles.declaration import Authority
from recoup.policy import Policy
from recoup.settings import Settings


class Standalone:
    """Runs a flow under an authority, until nothing is left or it is stopped."""

    def __init__(self, database: Database, authority: Authority, *, name: str, actor: Actor | None = None) -> None:
        self.name = name
        self.authority = authority
        self.settings: Settings = database.settings
        self.conninfo = database.conninfo
        self.stopping = False
        self._database = database
        self._actor = actor or Actor("system", name)
        with database.transaction(Authority.READER) as tx:
            self._policy = policy.in_force(tx).policy

    @property
    def policy(self) -> Policy:
        return self._policy

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._database.transaction(self.authority, actor=self._actor)

    def stop(self) -> None:
        """Claim nothing more; finish what was claimed."""
        self.stopping = True

    def may_claim(self, tx: Transaction) -> bool:
        return not self.stopping

    def tally(self, tx: Transaction, done: int) -> None:
        """Only the flow itself counts them."""
