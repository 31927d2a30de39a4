"""Books of what is realised, kept from outside, equal what the running filter says."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from composition import ExPost, FiltCon
from mechanisms import Count, Laplace, LaplaceNoiseReduction
from mechanisms.estimates import Refine
from queryable import (
    ApproxDP,
    ExPostBound,
    InteractiveError,
    PureDP,
    Queryable,
    QueryRefusedError,
    RetiredChildError,
)
from tests.strategies import Faulty, raising

DATA = [0] * 100


def reduction(last: str = "0.5") -> LaplaceNoiseReduction:
    return LaplaceNoiseReduction(Count(), epsilons=["0.1", "0.2", last])


@pytest.mark.parametrize("budget", [PureDP("1.2"), ApproxDP("1.2", "1e-6")], ids=str)
@pytest.mark.parametrize("nested", [False, True])
def test_books_follow_what_is_realised(budget: Any, nested: bool) -> None:
    """Reductions, ordinary children and refusals, interleaved at random; three sessions."""
    for seed in range(3):
        random = Random(seed)
        root = Queryable(FiltCon(budget) if nested else ExPost(budget), DATA)
        q = root.launch(ExPost(budget)) if nested else root
        children: list[Any] = []
        for _ in range(20):
            with suppress(QueryRefusedError, RetiredChildError):
                step = random.random()
                if step < 0.25:
                    children.append(q.launch(reduction(random.choice(["0.3", "0.5"]))))
                elif step < 0.35:
                    q.launch(Laplace(Count(), epsilon="0.05"))
                elif children:
                    random.choice(children).ask(Refine())
            assert q.node.books is not None
            assert q.node.books.total() == q.privacy_loss()
        for child in children:
            with suppress(InteractiveError):
                assert child.node.reported in (None, child.privacy_loss())


def test_a_refused_ask_costs_nothing() -> None:
    q = Queryable(ExPost(PureDP("0.15")), DATA)
    child = q.launch(reduction())
    child.ask(Refine())
    with pytest.raises(QueryRefusedError):
        child.ask(Refine())
    assert q.node.books is not None
    assert q.node.books.total() == q.privacy_loss()
    assert "last reported ExPostBound(loss <= 0.1" in q.tree()


def test_after_a_halt_nothing_more_is_entered() -> None:
    """Also where what is asked then would have fitted."""
    q = Queryable(ExPost(PureDP("0.3"), on_exceed="halt"), DATA)
    child = q.launch(reduction())
    child.ask(Refine())
    for scale in ("2", None):
        with pytest.raises(QueryRefusedError, match="halted"):
            child.ask(Refine(scale))
        assert q.node.spent == q.privacy_loss() == ExPostBound("0.1", 0)


def test_ordinary_children_are_charged_in_full_at_launch() -> None:
    q = Queryable(ExPost(PureDP(1)), DATA)
    with pytest.raises(InteractiveError):
        q.launch(Faulty(raising(ValueError()), at_launch=True))
    (row,) = q.ledger()
    assert (row.outcome, row.loss) == ("failed", PureDP("0.1"))
    assert row.total == q.privacy_loss()


def test_its_theorem_is_its_own() -> None:
    assert "ex-post accounting interleaves" in Queryable(ExPost(PureDP(1)), DATA).explain()
