"""What a value holds, and what is remembered of it."""

import gc
import weakref
from typing import Any

import attrs
import pytest

from composition import FiltCon
from mechanisms import Count, Laplace, column
from queryable import InteractiveMechanism, Launch, Measurement, PureDP, Queryable, QueryError
from queryable.checks import held as module
from queryable.checks.held import MOST_NESTED, held, nesting
from tests.laws.subjects import SUBJECTS, Subject


def test_a_class_of_an_analysts_own_may_end() -> None:
    """Its functions hold the variables of where it was written, and so data."""

    class Passing(InteractiveMechanism[None]):
        def init(self, dataset: Any, coins: Any) -> Any:
            return None, "started"

        def step(self, state: None, query: Any, coins: Any) -> Any:
            return None, query

        def loss(self, d_in: int = 1) -> PureDP:
            return PureDP(0)

    root = Queryable(FiltCon(PureDP(1)), [1])
    assert root.launch(Passing())("hello") == "hello"
    assert held([Passing(), 3]) != []
    gone = weakref.ref(Passing)
    del Passing, root
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_what_is_remembered_is_what_a_walk_finds(subject: Subject) -> None:
    """For every mechanism, alone and in a message."""
    mechanism = subject.mechanism
    for each in (mechanism, Launch(mechanism), [mechanism, mechanism]):
        walked = module._held(each)
        for _ in range(3):
            found = held(each)
            assert len(found) == len(walked)
            assert all(one is other for one, other in zip(found, walked, strict=True))
            assert nesting(each) == module._levels(each)


@attrs.frozen
class Own(Measurement[int]):
    """A measurement of an analyst's own, which evaluates what is in a list."""

    parts: Any

    def loss(self, d_in: int) -> PureDP:
        return PureDP("1/10")

    def release(self, dataset: Any, coins: Any) -> int:
        return 1


def test_what_can_change_is_looked_through_again() -> None:
    """A statistic that does not fit is put into a list, or into a class that is not frozen."""

    @attrs.define
    class Holder:
        inside: Any

    q = Queryable(FiltCon(PureDP(1)), {"age": [1]})
    wrong = Laplace(Count(column("height") > 3), epsilon="1/9")
    for held_in, put in (
        (listed := list[Any](), lambda: listed.append(wrong)),
        (holder := Holder(()), lambda: setattr(holder, "inside", wrong)),
    ):
        mine = Own((held_in,))
        assert [q.launch(mine), q.launch(mine)] == [1, 1]
        put()
        with pytest.raises(QueryError, match="height"):
            q.launch(mine)


def test_what_is_remembered_keeps_no_value() -> None:
    """A frozen class of an analyst's own may end as well, and its values."""

    @attrs.frozen
    class Mine(Own):
        pass

    mine = Mine((Laplace(Count(), epsilon="1/9"),))
    assert nesting(Launch(mine)) == 5
    assert len(held(mine)) == 3
    assert module._known(mine) is not None
    gone = weakref.ref(Mine), weakref.ref(mine), weakref.ref(mine.parts[0])
    del Mine, mine
    gc.collect()
    assert [each() for each in gone] == [None] * 3


def test_a_launch_that_is_nested_too_deep_is_refused_again() -> None:
    """Its mechanism has as many levels as a message may have, and is remembered."""
    nested: Any = ()
    for _ in range(MOST_NESTED - 2):
        nested = (nested,)
    q, mine, refusals = Queryable(FiltCon(PureDP(1)), [1]), Own(nested), set[str]()
    for _ in range(2):
        with pytest.raises(QueryError, match="nested too deep") as refused:
            q.launch(mine)
        refusals.add(str(refused.value))
        assert module._known(mine) is not None
    assert len(refusals) == 1
    assert nesting(mine) == MOST_NESTED
    assert q.privacy_loss() == PureDP(0)
    less = Own(nested[0])
    assert [q.launch(less), q.launch(less)] == [1, 1]
