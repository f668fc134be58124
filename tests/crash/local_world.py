"""The local world, for workers that verify: what their policy says of it, and companies of a kind."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from recoup import gate
from recoup.database.connection import Database
from recoup.gate import NewIntake
from recoup.lifecycles.declaration import Authority
from recoup_demo.world import Kind, World


def policy_of(world: World, **more: Any) -> str:
    """The section of a policy that verifies against this world, with long timeouts for a busy machine."""
    values = {**world.policy, **more}
    return "[gate.verification]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def brought_in(database: Database, world: World, kind: Kind, count: int) -> list[UUID]:
    """Intakes of this many companies of this kind."""
    found = [company for company in world.companies if company.kind is kind][:count]
    assert len(found) == count, f"the world has {len(found)} companies of kind {kind}"
    given = [NewIntake(company_name=c.name, company_domain=c.domain, state=c.state) for c in found]
    with database.transaction(Authority.HUB) as tx:
        return gate.add_intakes(tx, given)
