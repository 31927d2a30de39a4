"""How many mechanisms a query of an analyst may run."""

import json
from functools import partial
from random import Random
from typing import Any

import pytest

import curator
import mechanisms as m
from composition import FiltCon, Parallel, Partition
from curator.codec import encode
from curator.service import LocalService
from curator.service.answering.lengths import MOST_RUNS, MessageLimits, expected
from curator.wire import MessageReply
from queryable import RDP, ZCDP, CanAfford, Launch, PureDP
from queryable.messages import AskMany, LaunchMany
from tests.curator.fuzzing import COUNT, message
from tests.stored import KEY, MemoryLedger

NOISY = m.Gaussian(COUNT, variance=10**6)
FILTER = FiltCon(RDP(2, 100))
RANDOM = Random(1)


def repeated(base: Any, mean: int, copies: int = 1) -> m.Best:
    return m.Best([base] * copies, "largest", m.TruncatedNegativeBinomial(1, f"1/{mean}"))


def outcome_of(served: LocalService, token: tuple[int, ...], query: Any) -> Any:
    body = message(str(encode(query), "ascii"), RANDOM).encode()
    return MessageReply.read(served.tell(token, body).body).outcome


def scripted(count: int, mechanism: Any = NOISY) -> m.Scripted:
    return m.Scripted(FILTER, [Launch(mechanism)] * count)


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
        (m.Poisson(50), 50),
        (m.Threshold(3, "1/500"), 500),
        (m.TruncatedNegativeBinomial("-1/2", "1/1000000"), 10**6),
    ):
        assert expected(m.Best([NOISY], "largest", law)).runs == 1 + 20 + runs


def test_many_runs_are_refused_to_analysts_and_not_to_the_owner() -> None:
    faults: list[BaseException] = []
    root = curator.open(
        MemoryLedger(), FiltCon(RDP(2, 1000)), {"age": [30, 40, 50]}, name="visits", key=KEY
    )
    root.launch(FILTER)
    served = LocalService(root, on_fault=faults.append)
    sent = partial(outcome_of, served)
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
WIDE = m.GroupBy([{"age": range(1000)}, {"b": range(1000)}], m.Count())
MANY = m.Histogram("age", range(900))
LAW = m.TruncatedNegativeBinomial(1, "1/4000")
TOO_MUCH = {
    "best of a large choice": m.Best([m.TopK(MANY, "1/10", k=900)], "largest", LAW, of=0),
    "large noise": m.Gaussian(WIDE, variance=10**60),
    "large noise of Laplace": m.Laplace(WIDE, scale=10**60),
    "digits": m.Laplace(
        m.GroupBy([{"age": range(300)}, {"b": range(300)}], m.Count()), scale="1e290"
    ),
    "cells": m.Gaussian(WIDE, variance=100),
    "in an analysis": m.Scripted(FiltCon(PureDP(10)), [Launch(m.Laplace(WIDE, scale=10**6))]),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_costs_much_is_refused_before_the_charge(case: str) -> None:
    """At 1b177ec the first ran for minutes, and the second took 37 s and 60 MB of the ledger."""
    ledger = MemoryLedger()
    budget = FiltCon(ZCDP(10) if isinstance(TOO_MUCH[case], m.Gaussian) else PureDP(10**5))
    root = curator.open(ledger, budget, TABLE, name="visits", key=KEY)
    root.launch(budget)
    served = LocalService(root)
    before = json.loads(served.status().body)
    outcome = outcome_of(served, (0,), Launch(TOO_MUCH[case]))
    assert outcome.kind == "query error"
    assert "the most for a message to this curator" in str(outcome.text)
    assert json.loads(served.status().body) == before


def test_the_owner_allows_more() -> None:
    """In the configuration, and with her own messages."""
    root = curator.open(MemoryLedger(), FiltCon(PureDP(10)), TABLE, name="visits", key=KEY)
    root.launch(FiltCon(PureDP(5)))
    wide = m.GroupBy([{"age": range(60)}, {"b": range(60)}], m.Count())
    query = Launch(m.Laplace(wide, scale=10**40))

    def kind(token: tuple[int, ...], allowed: MessageLimits) -> str:
        return str(outcome_of(LocalService(root, allowed=allowed), token, query).kind)

    assert kind((0,), MessageLimits()) == "query error"
    assert kind((0,), MessageLimits(growth=10**4)) == "answer"
    assert kind((), MessageLimits()) == "answer"


def test_usual_questions_are_far_below_the_limits() -> None:
    """Of what people ask, steps are below a twentieth, and answers below a quarter."""
    for usual in (
        m.Gaussian(m.Count(), variance=100),
        m.Gaussian(m.GroupBy([{"age": range(100)}, {"b": range(10)}], m.Count()), variance=10**6),
        m.TopK(MANY, "1/10", k=10),
        m.Quantiles("age", ["1/4", "1/2", "3/4"], range(100)).measurement(
            PureDP, 1, loss=PureDP(1)
        ),
    ):
        found, text = expected(Launch(usual)), encode(Launch(usual))
        assert found.steps < 100_000
        assert found.characters < 25 * len(text)
