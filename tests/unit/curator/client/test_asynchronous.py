"""The asynchronous variant gives the answers of the other one, and lets an event loop go on."""

import asyncio
from collections.abc import Iterator

import pytest

from composition import FiltCon
from curator import AsyncQueryable, connect_async
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, QueryRefusedError
from tests.served import ROOT, Served, opened, serving
from tests.stored import MemoryLedger
from tests.unit.curator.service.asgi import awaited

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62]}
NOISY = Gaussian(Count(column("age") >= 40), rho="1/50")
SEARCH = SparseVector(2, epsilon="1/4", cutoff=9)
OLD = Count(column("age") >= 50)


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(opened(MemoryLedger(), FiltCon(ZCDP(1)), DATA)) as found:
        yield found


@awaited
async def test_every_method_is_awaited(served: Served) -> None:
    async with await connect_async(served.url, "owner") as connection:
        assert await connection.names() == (ROOT,)
        assert "columns" in await connection.about(ROOT)
        table = await connection[ROOT]
        noisy = await table(NOISY, name="old")
        assert await table.launch(NOISY, name="old") == noisy
        search = await table.launch(SEARCH)
        assert isinstance(search, AsyncQueryable)
        assert await search.ask(OLD) in (True, False)
        assert len(await search.ask_many([OLD, OLD])) == 2
        inner, again = await table.launch_many([FiltCon(ZCDP("1/8")), NOISY])
        assert isinstance(inner, AsyncQueryable)
        assert again is not None
        released = await inner.release(Count(), loss=ZCDP("1/100"))
        assert len(await inner.release_many([Count()], loss=ZCDP("1/100"))) == 1
        assert released.estimate is not None
        assert not await table.can_afford(Gaussian(Count(), rho=2))
        assert await inner.remaining() == ZCDP("21/200")
        with pytest.raises(QueryRefusedError):
            await table(Gaussian(Count(), rho=2))
        assert await inner.privacy_loss() == ZCDP("1/50")
        assert sorted(await table.children()) == [1, 2]
        handle = served.handle()
        assert len(await table.ledger()) == len(handle.ledger())
        assert len(await inner.view()) == 6  # two releases and four polls
        assert "old" in await table.tree()
        assert "one row" in await table.explain()
        assert repr(search) == "<AsyncQueryable FiltCon/1>"


@awaited
async def test_tasks_at_once_and_a_cancelled_one(served: Served) -> None:
    """All are answered; the message of a cancelled task is in the view."""
    async with await connect_async(served.url, "owner") as connection:
        table = await connection[ROOT]
        answers = await asyncio.gather(*(table(NOISY) for _ in range(10)))
        cancelled = asyncio.ensure_future(table(NOISY))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        kept = [each.answer.answer for each in (await table.view())]
        assert sorted(map(int, kept[:10])) == sorted(map(int, answers))
        assert len(kept) in (10, 11)
