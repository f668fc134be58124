"""The async twins: on a thread, or on the caller's own AsyncConnection."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from hub import DOL
from library.conftest import Program
from recoup import NewError, failures
from recoup.client import Client
from recoup.refusals import InputRefused


def test_recording_and_the_gate_in_an_async_transaction(client: Client, program: Program) -> None:
    free, blocked = uuid.uuid4(), uuid.uuid4()

    async def promote() -> set[uuid.UUID]:
        async with await AsyncConnection.connect(program.uri, row_factory=dict_row) as own:
            await client.aio.errors.record([NewError(table=DOL, outreach_id=blocked, message="no filing")], tx=own)
            stopped = await client.aio.errors.blocked_locking([free, blocked], tx=own)
            await own.execute("insert into app.promoted values (%s)", (free,))
            who = await (await own.execute("select current_user as who")).fetchone()
            assert who == {"who": program.login}
            assert await client.aio.errors.is_blocked(blocked, tx=own)
            assert not await client.aio.errors.is_blocked(blocked), "it is not committed yet"
        return stopped

    assert asyncio.run(promote()) == {blocked}
    assert free in program.promoted()
    assert client.errors.is_blocked(blocked)


def test_a_refusal_leaves_an_async_transaction_as_it_was(client: Client, program: Program) -> None:
    async def refused() -> Any:
        async with await AsyncConnection.connect(program.uri) as own:
            await own.execute("insert into app.filings values ('async')")
            with pytest.raises(InputRefused, match="not an error table"):
                await client.aio.errors.record(table="outreach.nothing", message="x", tx=own)
            return await (await own.execute("select count(*) from app.filings where ein = 'async'")).fetchone()

    assert asyncio.run(refused()) == (1,)


def test_the_event_loop_goes_on_meanwhile(client: Client, program: Program) -> None:
    """A call that waits for a lock holds up nobody else; cancelled, it leaves the connection usable."""
    entity = uuid.uuid4()

    async def waited() -> tuple[float, Any]:
        async with (
            await AsyncConnection.connect(program.uri) as promoting,
            await AsyncConnection.connect(program.uri) as own,
        ):
            await client.aio.errors.blocked_locking([entity], tx=promoting)
            record = client.aio.errors.record(table=DOL, outreach_id=entity, message="x", tx=own)
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(record, 0.3)
            took = time.monotonic() - began
            return took, await (await own.execute("select current_user")).fetchone()

    took, who = asyncio.run(waited())
    assert 0.3 <= took < 5
    assert who == (program.login,)
    assert not client.errors.is_blocked(entity)


def test_without_a_connection_a_twin_is_a_transaction_of_its_own(client: Client) -> None:
    entity = uuid.uuid4()

    async def recorded() -> list[str]:
        await client.aio.errors.record(table=DOL, outreach_id=entity, message="x")
        return [one.status for one in await client.aio.errors.list(entities=entity)]

    assert asyncio.run(recorded()) == ["RETRY_PENDING"]


def test_an_async_connection_is_not_for_the_plain_verbs(client: Client, program: Program) -> None:
    async def given() -> None:
        async with await AsyncConnection.connect(program.uri) as own:
            client.errors.record(table=DOL, outreach_id=uuid.uuid4(), message="x", tx=own)

    with pytest.raises(TypeError, match=r"db\.aio"):
        asyncio.run(given())


def test_failures_as_an_async_block(client: Client) -> None:
    entity = uuid.uuid4()

    async def fail() -> None:
        async with failures(client, DOL, outreach_id=entity):
            await asyncio.sleep(0)
            raise TimeoutError("took too long")

    with pytest.raises(TimeoutError, match="took too long"):
        asyncio.run(fail())
    assert client.errors.is_blocked(entity)


def test_failures_inside_an_async_promotion_does_not_wait_for_itself(client: Client, program: Program) -> None:
    entity = uuid.uuid4()

    async def promote() -> None:
        async with await AsyncConnection.connect(program.uri) as own:
            await client.aio.errors.blocked_locking([entity], tx=own)
            async with failures(client, DOL, outreach_id=entity):
                raise ValueError("x")

    with pytest.raises(ValueError, match="x") as caught:
        asyncio.run(promote())
    assert "around that transaction" in caught.value.__notes__[0]


def test_a_connection_that_breaks_raises_its_own_error(client: Client, program: Program) -> None:
    async def broken() -> None:
        async with await AsyncConnection.connect(program.uri) as own:
            await own.close()
            await client.aio.errors.record(table=DOL, outreach_id=uuid.uuid4(), message="x", tx=own)

    with pytest.raises(psycopg.OperationalError, match="closed"):
        asyncio.run(broken())
