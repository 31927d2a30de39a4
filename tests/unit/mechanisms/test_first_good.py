"""Tries of candidates until one is good enough: answers, prices, errors, and failures."""

import re
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import ExPost, FiltCon
from mechanisms import (
    Count,
    Gaussian,
    Histogram,
    Laplace,
    Scripted,
    Table,
    TruncatedNegativeBinomial,
    column,
)
from mechanisms.best import BestRun
from mechanisms.first_good import FirstGood, FirstGoodState, Try
from queryable import (
    Ask,
    CanAfford,
    Coins,
    Launch,
    Loss,
    Measurement,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
    UnknownQueryError,
)
from queryable.effort import within_effort
from queryable.randomness.laws import UniformBelow

NONE = BestRun(None, None)
OFTEN = TruncatedNegativeBinomial(0, "1/1000")
SEARCH = FirstGood(1, OFTEN, 3)
NOISY = Laplace(Count(), epsilon="1/2")
DATA: Any = {"age": np.arange(40)}


def running(budget: Any = 10, search: FirstGood = SEARCH, seed: int = 1) -> tuple[Any, Any]:
    """An ex-post filter, and the search in it."""
    root = Queryable(ExPost(PureDP(budget)), DATA, coins=SeededCoins(seed), allow_seeded=True)
    return root, root.launch(search)


def test_the_best_of_the_runs_is_answered() -> None:
    """The largest, or the smallest; it ends the search, and the data are let go."""
    coins = SeededCoins(3)
    for score, near in (("largest", max), ("smallest", min)):
        state, opening = SEARCH.init(DATA, SeededCoins(4))
        assert opening is None
        after, answer = SEARCH.step(state, Try(NOISY, score), coins)
        again = SeededCoins(3)
        runs = sum(again.draw(UniformBelow(3)) == 0 for _ in range(state.left))
        found = [NOISY.release(DATA, again.spawn(run, 0)) for run in range(runs)]
        assert runs > 1
        assert answer == BestRun(0, near(found))
        assert after == FirstGoodState(1, True, 0, None)
        coins = SeededCoins(3)


def test_an_error_of_a_candidate_quotes_nothing_and_is_charged() -> None:
    """A script's wrong query has what it was answered in its text, which nobody has paid for."""

    def quoting(view: Any) -> Any:
        if not view:
            return Launch(Laplace(Count(), epsilon="1/10"))
        return Ask(10**6 + int(view[-1].answer.answer), "x")

    root, search = running(search=FirstGood("1/10", OFTEN, 1))
    with pytest.raises(MechanismFault) as caught:
        search(Try(Scripted(FiltCon(PureDP("1/10")), quoting), lambda view: 1))
    assert re.search(r"\d{6}", str(caught.value)) is None
    assert caught.value.__context__ is None
    assert root.privacy_loss().epsilon == Fraction(1, 5)


def test_tries_until_one_is_good() -> None:
    """What was tried is paid for, twice the dearest; what comes after the end is refused."""
    root, search = running(seed=3)
    assert search(Try(Laplace(Count(), epsilon="1/10"), "largest", 10**6)) == NONE
    assert root.privacy_loss().epsilon == Fraction(1, 5)
    found = search(Try([NOISY, Laplace(Count(), epsilon="1/4")], "largest", 30))
    assert found.answer >= 30
    assert root.privacy_loss().epsilon == 1
    with pytest.raises(QueryRefusedError, match="search has ended"):
        search(Try(NOISY, "largest"))
    assert root.privacy_loss().epsilon == 1


def test_a_cheaper_candidate_after_a_dear_one() -> None:
    root, search = running(search=FirstGood(1, TruncatedNegativeBinomial(1, "1/1000"), 3))
    assert search(Try(NOISY, "smallest", -(10**6))) == NONE
    assert root.privacy_loss().epsilon == Fraction(3, 2)
    assert search(Try(Laplace(Count(), epsilon="1/10"), "largest")).candidate == 0
    assert root.privacy_loss().epsilon == 1 + Fraction(1, 10)


def test_the_last_try_ends_the_search() -> None:
    _, search = running()
    for _ in range(3):
        assert search(Try(NOISY, "largest", 10**6)) == NONE
    with pytest.raises(QueryRefusedError, match="search has ended"):
        search(Try(NOISY, "largest"))


def test_what_might_not_fit_is_refused_before_anything_runs() -> None:
    root, search = running(budget="1/2")
    assert root.ask(CanAfford(Ask(0, Try(Laplace(Count(), epsilon="1/4"), "largest"))))
    assert not root.ask(CanAfford(Ask(0, Try(NOISY, "largest"))))
    with pytest.raises(QueryRefusedError):
        search(Try(NOISY, "largest"))
    assert root.privacy_loss().epsilon == 0
    search(Try(Laplace(Count(), epsilon="1/4"), "largest"))


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("nonsense", "ask FirstGood Try"),
        (Try(Laplace(Count(), epsilon=2), "largest"), "at most 1"),
        (Try(Gaussian(Count(), scale=9), "largest"), "epsilon-DP"),
        (Try(Laplace(Count(column("absent") > 3), epsilon=1), "largest"), "absent"),
    ],
)
def test_wrong_queries_are_not_charged(query: Any, error: str) -> None:
    root, search = running()
    with pytest.raises((UnknownQueryError, QueryError), match=error):
        search(query)
    assert root.privacy_loss().epsilon == 0
    assert isinstance(search(Try(NOISY, "largest")), BestRun)


def test_long_searches_are_refused_where_steps_are_limited() -> None:
    slow = Laplace(Histogram("age", range(41)), scale=10**13)
    state, _ = SEARCH.init(DATA, SeededCoins(1))
    with within_effort(steps=1000), pytest.raises(QueryError, match="too much"):
        SEARCH.step(state, Try(slow, len), SeededCoins(1))


def test_in_a_filter_it_costs_the_most_in_advance() -> None:
    """At d_in records so many times the largest epsilon; with a list of tries it is a script."""
    assert SEARCH.privacy_map(3) == PureDP(6)
    assert FirstGood("1/2", TruncatedNegativeBinomial(1, "1/3"), 2).privacy_map(1) == PureDP("3/2")
    root = Queryable(FiltCon(PureDP(2)), DATA)
    search = root.launch(SEARCH)
    assert root.privacy_loss() == PureDP(2)
    assert isinstance(search(Try(NOISY, "largest")), BestRun)


def test_over_a_table_with_a_privacy_unit() -> None:
    """A candidate that protects less than the data is refused, as it would be at a launch."""
    table = Table({"age": [1, 2, 3], "who": [1, 1, 2]}, privacy_unit="who", max_rows=2)
    root = Queryable(ExPost(PureDP(9)), table)
    search = root.launch(FirstGood(2, OFTEN, 3))
    noisy = Laplace(table.count(column("age") > 1), epsilon=1)
    assert isinstance(search(Try(noisy, "largest")), BestRun)
    assert root.privacy_loss().epsilon <= 4


@attrs.frozen
class Failing(Measurement[int]):
    """Fails whenever it runs."""

    def loss(self, d_in: int) -> Loss:
        return PureDP("1/3")

    def release(self, dataset: Any, coins: Coins) -> int:
        raise RuntimeError


def test_a_failing_run_ends_the_search_and_costs_the_worst_case() -> None:
    root, search = running(search=FirstGood(1, OFTEN, 1))  # at least one run is in the only try
    with pytest.raises(MechanismFault):
        search(Try(Failing(), "largest"))
    assert root.privacy_loss().epsilon == Fraction(2, 3)


def test_equal_coins_give_equal_searches() -> None:
    answers = [running(seed=7)[1](Try(NOISY, "largest")) for _ in range(2)]
    assert answers[0] == answers[1] != running(seed=8)[1](Try(NOISY, "largest"))


def test_a_refusal_says_what_to_do() -> None:
    state = FirstGoodState(3, True, 0, None)
    same, answer = SEARCH.step(state, Try(NOISY, "largest"), SeededCoins(1))
    assert same is state
    assert isinstance(answer, Refused)
    assert "launch another FirstGood" in str(answer.instead)
