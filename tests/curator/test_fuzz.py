"""Random, mutated and costly bodies: no fault, little time, and no change but by an answer."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import curator
from composition import FiltCon
from curator.service import LocalService
from curator.wire import Told
from mechanisms import SparseVector
from queryable import ZCDP
from tests.curator.fuzzing import costly, mutations, random_bodies
from tests.stored import KEY, MemoryLedger

TOKENS: tuple[Any, ...] = ((), (0,), (1,), (7,), (1, 0))
STATUSES = {200, 400, 404, 409}


def service(faults: list[BaseException]) -> LocalService:
    """A root whose child 0 is a sparse vector, and child 1 a filter with a sparse vector."""
    root = curator.open(
        MemoryLedger(),
        FiltCon(ZCDP(10**6)),
        {"age": list(range(100))},
        name="visits",
        key=KEY,
    )
    root.launch(SparseVector(300, epsilon="1/100", cutoff=3))
    root.launch(FiltCon(ZCDP(10**4))).launch(SparseVector(300, epsilon="1/100", cutoff=3))
    return LocalService(root, on_fault=faults.append)


def state(served: LocalService) -> Any:
    """The number of messages, and what is spent.

    The head is no part of it: of a query that only the mechanism itself can refuse, the ledger has
    an intent that is void.
    """
    told = json.loads(served.status().body)
    return told["messages"], told["spent"]


def tried(bodies: Iterable[bytes], slowest: list[tuple[float, bytes]]) -> Counter[str]:
    """Send bodies from the paths of several tokens, and see what became of each.

    Args:
        slowest: gets the processor time and the body of each that changed nothing and was slower
            than those before.
    """
    faults: list[BaseException] = []
    served, found = service(faults), Counter[str]()
    before = state(served)
    for number, body in enumerate(bodies):
        token = TOKENS[number % len(TOKENS)]
        began = time.process_time()
        status, reply = served.tell(token, body)
        seconds = time.process_time() - began
        assert status in STATUSES, (status, reply, body)
        kind, new = str(status), 0
        if status == 200:
            told = Told.read(reply)
            kind, new = told.outcome.kind, told.new
        else:
            assert json.loads(reply).keys() == {"error", "type"}
        found[kind] += 1
        after = state(served)
        assert (after != before) == (new > 0), body
        before = after
        if not new and (not slowest or seconds > slowest[-1][0]):
            slowest.append((seconds, body))
    assert faults == []
    assert not served.broken
    return found


def bodies(count: int, seed: int) -> Iterator[bytes]:
    yield from mutations(count - count // 10, seed)
    yield from random_bodies(count // 10, seed)


def test_random_and_mutated_bodies() -> None:
    found = tried(bodies(2000, 1), [])
    assert {"400", "query error", "answer"} <= found.keys()


@pytest.mark.long
def test_a_million_bodies() -> None:
    found, slowest = Counter[str](), list[tuple[float, bytes]]()
    for seed in range(100):
        found += tried(bodies(10_000, seed), slowest)
    assert found.total() == 10**6
    print(found, slowest[-1])  # noqa: T201 (a report)


@pytest.mark.parametrize("name", costly())
def test_bodies_that_cost_much_to_read(name: str) -> None:
    """No more than twenty times as long as the parser of JSON takes for a list of numbers."""
    body = costly()[name]
    numbers = "[" + "1," * (len(body) // 2) + "1]"
    began = time.process_time()
    json.loads(numbers)
    parsed, slowest = time.process_time() - began, list[tuple[float, bytes]]()
    tried([body], slowest)
    assert slowest[0][0] < 20 * max(parsed, 0.002)
