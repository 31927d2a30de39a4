"""Random, mutated and costly bodies: no fault, little time, and no change but by an answer."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from random import Random
from typing import Any

import pytest

import curator
from composition import ConComp, FiltCon, Individual, Menu, Parallel, Partition
from curator.codec import encode
from curator.service import LocalService
from curator.wire import MessageReply
from mechanisms import Fit, Frugal, Gaussian, Laplace, SparseVector
from queryable import ZCDP, ApproxDP, ApproxZCDP, Launch
from tests.curator.fuzzing import (
    COUNT,
    PERSON,
    costly,
    message,
    mutations,
    random_bodies,
    to_persons,
)
from tests.curator.stretching import examples, queries
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


Slow = tuple[float, Any, bytes]


def persons(faults: list[BaseException]) -> LocalService:
    """A root whose child 0 is a filter with a frugal person, a synthetic one, an `Individual`."""
    data = {"age": [n % 90 for n in range(300)], "sex": ["mf"[n % 2] for n in range(300)]}
    root = curator.open(
        MemoryLedger(), FiltCon(ApproxZCDP(10**6, "1/2")), data, name="visits", key=KEY
    )
    inner = root.launch(FiltCon(ApproxZCDP(10**5, "1/4")))
    inner.launch(Frugal() @ FiltCon(ZCDP(1000)))
    inner.launch(PERSON).ask(Fit("1/10", rounds=1))
    inner.launch(Individual(1))
    return LocalService(root, on_fault=faults.append)


def tried(
    bodies: Iterable[bytes],
    slowest: list[Slow],
    service: Callable[[list[BaseException]], LocalService] = service,
    tokens: tuple[Any, ...] = TOKENS,
) -> Counter[str]:
    """Send bodies from the paths of several tokens, and see what became of each.

    Args:
        slowest: gets the processor time, the token and the body of those of analysts that changed
            nothing; the slowest hundred at least.
    """
    faults: list[BaseException] = []
    served, found = service(faults), Counter[str]()
    before = state(served)
    for number, body in enumerate(bodies):
        token = tokens[number % len(tokens)]
        began = time.process_time()
        status, reply = served.tell(token, body)
        seconds = time.process_time() - began
        assert status in STATUSES, (status, reply, body)
        kind, new = str(status), 0
        if status == 200:
            told = MessageReply.read(reply)
            kind, new = told.outcome.kind, told.new
        else:
            assert json.loads(reply).keys() == {"error", "type"}
        found[kind] += 1
        after = state(served)
        assert (after != before) == (new > 0), body
        before = after
        if not new and token:
            slowest.append((seconds, token, body))
            if len(slowest) > 1000:
                slowest[:] = sorted(slowest, reverse=True)[:100]
    assert faults == []
    assert not served.broken
    return found


def bodies(count: int, seed: int) -> Iterator[bytes]:
    yield from mutations(count - count // 10, seed)
    yield from random_bodies(count // 10, seed)


def test_random_and_mutated_bodies() -> None:
    found = tried(bodies(2000, 1), [])
    assert {"400", "query error", "answer"} <= found.keys()


@pytest.mark.slow
def test_mutated_messages_to_persons() -> None:
    """What they are asked, and their launches, with one to three changes."""
    found = tried(to_persons(2000, 1), [], persons, ((0,),))
    assert {"400", "query error", "answer"} <= found.keys()
    assert found["query error"] > 1000  # most are read


@pytest.mark.long
def test_a_million_bodies() -> None:
    """Random and mutated ones, and every stretched text."""
    found, slowest = Counter[str](), list[Slow]()
    texts = [text for tree in examples() for text in queries(tree)]
    for seed in range(100):
        stretched = (said(text) for text in texts[seed::100])
        found += tried(chain(bodies(10_000, seed), stretched), slowest)
    report(found, slowest)
    assert found.total() == 10**6 + len(texts)


def report(found: Counter[str], slowest: list[Slow]) -> None:
    """Print what became of bodies, and the slowest ten.

    A collection of garbage may fall into the time of any body. So the time of each is the least of
    three, each in a new service.
    """
    print(sorted(found.items()), found.total())  # noqa: T201 (a report)
    again = []
    for first, token, body in sorted(slowest, reverse=True)[:100]:
        times = [first]
        for _ in range(3):
            served = service([])
            began = time.process_time()
            served.tell(token, body)
            times.append(time.process_time() - began)
        again.append((min(times), token, body))
    for seconds, token, body in sorted(again, reverse=True)[:10]:
        print(f"{seconds * 1000:.1f} ms", token, len(body), body[:300])  # noqa: T201 (a report)


def said(query: str, salt: int = 0) -> bytes:
    return message(query, Random(f"{salt} {query}")).encode()


def processor_time(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


@pytest.mark.parametrize(
    "query",
    [
        Launch(ConComp([Laplace(COUNT, epsilon=f"1/{n}") for n in range(2, 42)], delta="1/10")),
        Launch(FiltCon(ApproxDP(1, "1/10"), Menu("1/10", [1, 2], [1000, 2000]))),
        Launch(
            Parallel(
                Partition("age", list(range(60))),
                {n: Gaussian(COUNT, rho=f"1/{n + 1}") for n in range(60)},
            ),
        ),
    ],
    ids=["optimal", "menu", "parallel"],
)
def test_long_computations_are_refused_to_analysts_and_not_to_the_owner(query: Any) -> None:
    """What a message costs before it is refused or charged is counted in steps, not in seconds."""
    faults: list[BaseException] = []
    root = curator.open(
        MemoryLedger(),
        FiltCon(ApproxDP(10**6, "1/2"), d_in=100),
        {"age": list(range(100))},
        name="visits",
        key=KEY,
    )
    root.launch(FiltCon(ApproxDP(10**4, "1/4"), d_in=100))
    served = LocalService(root, on_fault=faults.append)
    text = str(encode(query), "ascii")
    for place, token in enumerate(((0,), (), (0,))):
        before = state(served)
        outcome = MessageReply.read(served.tell(token, said(text, place)).body).outcome
        told = str(outcome.text)
        assert ("too much work" in told or "take a coarser one" in told) == bool(token), told
        assert outcome.kind == "query error" or not token
        assert state(served) == before or not token


@pytest.mark.parametrize("name", costly())
def test_bodies_that_cost_much_to_read(name: str) -> None:
    """No more than twenty times as long as the parser of JSON takes for a list of numbers."""
    body = costly()[name]
    numbers = "[" + "1," * (len(body) // 2) + "1]"
    began = time.process_time()
    json.loads(numbers)
    parsed, slowest = time.process_time() - began, list[Slow]()
    tried([body] * 2, slowest)  # the first is the owner's
    assert slowest[0][0] < 20 * max(parsed, 0.002)
