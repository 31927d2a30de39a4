"""How many mechanisms a query of an analyst may run."""

import json
from random import Random
from typing import Any

import pytest

import curator
from composition import FiltCon, Parallel, Partition
from curator.codec import encode
from curator.service import LocalService
from curator.service.answering.lengths import MOST_RUNS, MessageLimits, expected
from curator.wire import MessageReply
from mechanisms import (
    Best,
    Count,
    Gaussian,
    GroupBy,
    Histogram,
    Laplace,
    Poisson,
    Quantiles,
    Scripted,
    Threshold,
    TopK,
    TruncatedNegativeBinomial,
)
from queryable import RDP, ZCDP, CanAfford, Launch, PureDP
from queryable.messages import AskMany, LaunchMany
from tests.curator.fuzzing import COUNT, message
from tests.stored import KEY, MemoryLedger

NOISY = Gaussian(COUNT, variance=10**6)
FILTER = FiltCon(RDP(2, 100))


def repeated(base: Any, mean: int, copies: int = 1) -> Best:
    return Best([base] * copies, "largest", TruncatedNegativeBinomial(1, f"1/{mean}"))


def scripted(count: int, mechanism: Any = NOISY) -> Scripted:
    return Scripted(FILTER, [Launch(mechanism)] * count)


def test_runs_are_multiplied_where_they_are_nested() -> None:
    assert expected(Launch(NOISY)).runs == 1
    assert expected(LaunchMany([Launch(NOISY)] * 3)).runs == 3
    assert expected(Launch(scripted(7))).runs == 8
    # the launch, 20 for its check, and 100 runs
    assert expected(Launch(repeated(NOISY, 100))).runs == pytest.approx(121, abs=1e-9)
    assert expected(CanAfford(Launch(repeated(NOISY, 100, 2)))).runs == pytest.approx(141, abs=1e-9)
    inner = expected(scripted(5, repeated(NOISY, 10))).runs - 5 * 20
    nested = expected(repeated(scripted(5, repeated(NOISY, 10)), 30)).runs
    assert nested == pytest.approx(1 + 20 + 5 * 20 + 30 * inner, abs=1e-6)
    parts = Parallel(Partition("age", [1, 2]), {1: repeated(NOISY, 100), 2: NOISY})
    assert expected(AskMany([Launch(parts)])).runs == pytest.approx(122, abs=1e-9)


def test_laws_whose_draws_vary_much_count_as_many_runs() -> None:
    for law, runs in (
        (Poisson(50), 50),
        (Threshold(3, "1/500"), 500),
        (TruncatedNegativeBinomial("-1/2", "1/1000000"), 10**6),
    ):
        assert expected(Best([NOISY], "largest", law)).runs == 1 + 20 + runs


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
        return MessageReply.read(served.tell(token, body).body).outcome

    long = repeated(scripted(30), 200, 1)
    assert expected(long).runs > MOST_RUNS
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


TABLE = {"age": [30, 40, 50], "b": [1, 2, 3]}
WIDE = GroupBy([{"age": range(1000)}, {"b": range(1000)}], Count())
MANY = Histogram("age", range(900))
LAW = TruncatedNegativeBinomial(1, "1/4000")
TOO_MUCH = {
    "best of a large choice": Best([TopK(MANY, "1/10", k=900)], "largest", LAW, of=0),
    "large noise": Gaussian(WIDE, variance=10**60),
    "large noise of Laplace": Laplace(WIDE, scale=10**60),
    "digits": Laplace(GroupBy([{"age": range(300)}, {"b": range(300)}], Count()), scale="1e290"),
    "cells": Gaussian(WIDE, variance=100),
    "in an analysis": Scripted(FiltCon(PureDP(10)), [Launch(Laplace(WIDE, scale=10**6))]),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_costs_much_is_refused_before_the_charge(case: str) -> None:
    """At 1b177ec the first ran for minutes, and the second took 37 s and 60 MB of the ledger."""
    ledger = MemoryLedger()
    budget = FiltCon(ZCDP(10) if isinstance(TOO_MUCH[case], Gaussian) else PureDP(10**5))
    root = curator.open(ledger, budget, TABLE, name="visits", key=KEY)
    root.launch(budget)
    query = Launch(TOO_MUCH[case])
    served, random = LocalService(root), Random(1)
    body = message(str(encode(query), "ascii"), random).encode()
    before = json.loads(served.status().body)
    outcome = MessageReply.read(served.tell((0,), body).body).outcome
    assert outcome.kind == "query error"
    assert "the most for a message to this curator" in str(outcome.text)
    assert json.loads(served.status().body) == before


def test_the_owner_allows_more() -> None:
    """In the configuration, and with her own messages."""
    root = curator.open(MemoryLedger(), FiltCon(PureDP(10)), TABLE, name="visits", key=KEY)
    root.launch(FiltCon(PureDP(5)))
    wide = GroupBy([{"age": range(60)}, {"b": range(60)}], Count())
    query = Launch(Laplace(wide, scale=10**40))
    random = Random(1)

    def kind(token: tuple[int, ...], allowed: MessageLimits) -> str:
        body = message(str(encode(query), "ascii"), random).encode()
        served = LocalService(root, allowed=allowed)
        return str(MessageReply.read(served.tell(token, body).body).outcome.kind)

    assert kind((0,), MessageLimits()) == "query error"
    assert kind((0,), MessageLimits(growth=10**4)) == "answer"
    assert kind((), MessageLimits()) == "answer"


def test_usual_questions_are_far_below_the_limits() -> None:
    """Of what people ask, steps are below a twentieth, and answers below a quarter."""
    for usual in (
        Gaussian(Count(), variance=100),
        Gaussian(GroupBy([{"age": range(100)}, {"b": range(10)}], Count()), variance=10**6),
        TopK(MANY, "1/10", k=10),
        Quantiles("age", ["1/4", "1/2", "3/4"], range(100)).measurement(PureDP, 1, loss=PureDP(1)),
    ):
        found, text = expected(Launch(usual)), encode(Launch(usual))
        assert found.steps < 100_000
        assert found.characters < 25 * len(text)
