"""How many mechanisms a query of an analyst may run."""

import json
from random import Random
from typing import Any

import pytest

import curator
from composition import FiltCon, Parallel, Partition
from curator.codec import encode
from curator.service import LocalService
from curator.service.lengths import MOST_RUNS, expected_runs
from curator.wire import Told
from mechanisms import Best, Gaussian, Poisson, Scripted, Threshold, TruncatedNegativeBinomial
from queryable import RDP, AskMany, CanAfford, Launch, LaunchMany
from tests.curator.fuzzing import COUNT, message
from tests.stored import KEY, MemoryLedger

NOISY = Gaussian(COUNT, variance=10**6)
FILTER = FiltCon(RDP(2, 100))


def repeated(base: Any, mean: int, copies: int = 1) -> Best:
    return Best([base] * copies, "largest", TruncatedNegativeBinomial(1, f"1/{mean}"))


def scripted(count: int, mechanism: Any = NOISY) -> Scripted:
    return Scripted(FILTER, [Launch(mechanism)] * count)


def test_runs_are_multiplied_where_they_are_nested() -> None:
    assert expected_runs(Launch(NOISY)) == 1
    assert expected_runs(LaunchMany([Launch(NOISY)] * 3)) == 3
    assert expected_runs(Launch(scripted(7))) == 8
    # the launch, 20 for its check, and 100 runs
    assert expected_runs(Launch(repeated(NOISY, 100))) == pytest.approx(121, abs=1e-9)
    assert expected_runs(CanAfford(Launch(repeated(NOISY, 100, 2)))) == pytest.approx(141, abs=1e-9)
    inner = expected_runs(scripted(5, repeated(NOISY, 10))) - 5 * 20
    nested = expected_runs(repeated(scripted(5, repeated(NOISY, 10)), 30))
    assert nested == pytest.approx(1 + 20 + 5 * 20 + 30 * inner, abs=1e-6)
    parts = Parallel(Partition("age", [1, 2]), {1: repeated(NOISY, 100), 2: NOISY})
    assert expected_runs(AskMany([Launch(parts)])) == pytest.approx(122, abs=1e-9)


def test_laws_whose_draws_vary_much_count_as_many_runs() -> None:
    for law, runs in (
        (Poisson(50), 50),
        (Threshold(3, "1/500"), 500),
        (TruncatedNegativeBinomial("-1/2", "1/1000000"), 10**6),
    ):
        assert expected_runs(Best([NOISY], "largest", law)) == 1 + 20 + runs


def test_many_runs_are_refused_to_analysts_and_not_to_the_owner() -> None:
    faults: list[BaseException] = []
    root = curator.open(
        MemoryLedger(), FiltCon(RDP(2, 1000)), {"age": [30, 40, 50]}, name="visits", key=KEY
    )
    root.launch(FILTER)
    served = LocalService(root, on_fault=faults.append)
    random = Random(1)

    def sent(token: tuple[int, ...], query: Any) -> Any:
        body = message(str(encode(query), "ascii"), random).encode()
        return Told.read(served.tell(token, body).body).outcome

    long = repeated(scripted(30), 200, 1)
    assert expected_runs(long) > MOST_RUNS
    for query in (
        Launch(long),
        CanAfford(Launch(long)),
        LaunchMany([Launch(repeated(NOISY, 2600))] * 2),
    ):
        before = json.loads(served.status().body)
        outcome = sent((0,), query)
        assert outcome.kind == "query error"
        assert f"{MOST_RUNS} is the most" in str(outcome.text)
        assert json.loads(served.status().body) == before
    assert sent((0,), Launch(repeated(NOISY, 10))).kind == "answer"
    assert sent((), CanAfford(Launch(long))).kind == "answer"
    assert faults == []
