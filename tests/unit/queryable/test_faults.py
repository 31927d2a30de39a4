"""The boundary: what is raised inside is told to the curator and to nobody else."""

from contextlib import suppress
from typing import Any

import pytest

from queryable import SYSTEM, Coins, Failed, MechanismFault, QueryError
from queryable.conversation import LOST, Pass, Start
from queryable.conversation.leaves import read
from queryable.conversation.stepping import DEAD, begin
from queryable.faults import (
    collecting,
    raise_interrupt,
    touching_data,
)
from tests.strategies import SECRET, Faulty, Toy, raising

FAULTS = [
    ValueError(SECRET),
    QueryError(SECRET),
    KeyboardInterrupt(SECRET),
    SystemExit(SECRET),
    MemoryError(SECRET),
    RecursionError(SECRET),
    StopIteration(SECRET),
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_touching_data_hides_everything(fault: BaseException) -> None:
    """Whatever is raised becomes a fault without cause, context or text; the curator gets it."""
    with collecting() as faults, pytest.raises(MechanismFault) as caught:
        touching_data(lambda: raising(fault)(None))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    assert faults == [fault]


def test_touching_data_passes_values() -> None:
    """A result is returned unchanged."""
    assert touching_data(lambda: 3) == 3


def test_nested_boundaries_report_once() -> None:
    """A fault that crosses two boundaries is one fault."""
    with collecting() as faults, pytest.raises(MechanismFault):
        touching_data(lambda: touching_data(lambda: raising(FAULTS[0])(None)))
    assert faults == [FAULTS[0]]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_a_start_returns_what_is_raised(fault: BaseException) -> None:
    """Also a `QueryError`: data may have been touched, so nothing passes."""
    faulty = Faulty(raising(fault), at_launch=True, guarded=False)
    assert read(Start(0, faulty), faulty, None, SYSTEM) == (LOST, fault)


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_a_step_returns_what_is_raised(fault: BaseException) -> None:
    """The runner decides what a `QueryError` is about."""
    faulty = Faulty(raising(fault), guarded=False)
    assert read(Pass(0, "bits"), faulty, (0, None), SYSTEM) == (LOST, fault)


@pytest.mark.parametrize("returned", [None, 5, (1,), (1, 2, 3)])
def test_a_result_that_is_no_pair_is_a_failure(returned: Any) -> None:
    """A mechanism that does not return (state, answer) fails inside the boundary."""

    class Odd(Toy):
        def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
            return returned

        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
            return returned

    for step in (Start(0, Odd()), Pass(0, "bits")):
        moved, fault = read(step, Odd(), None, SYSTEM)
        assert moved is LOST
        assert isinstance(fault, TypeError | ValueError)


def test_lists_of_faults_nest() -> None:
    """A queryable used inside another's statistic reports to its own curator."""
    with collecting() as outer:
        with collecting() as inner, suppress(MechanismFault):
            touching_data(lambda: raising(ValueError("inner"))(None))
        with suppress(MechanismFault):
            touching_data(lambda: raising(ValueError("outer"))(None))
    assert [str(fault) for fault in inner] == ["inner"]
    assert [str(fault) for fault in outer] == ["outer"]


def test_without_a_list_faults_are_dropped() -> None:
    """A step outside any handle contains faults as well."""
    state, answer = begin(Faulty(raising(ValueError(SECRET)), at_launch=True), None, SYSTEM)
    assert (state, answer) == (DEAD, Failed())


class _Loaded(KeyboardInterrupt):
    """An interrupt class that a statistic could define to carry data out."""

    text = SECRET


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (KeyboardInterrupt(SECRET), KeyboardInterrupt),
        (SystemExit(3), SystemExit),
        (_Loaded(), KeyboardInterrupt),
    ],
)
def test_interrupts_are_raised_bare(fault: BaseException, raised: type[BaseException]) -> None:
    """An interrupt is raised as a new instance of the builtin class, without arguments."""
    faults = [ValueError(SECRET), fault]
    with pytest.raises(raised) as caught:
        raise_interrupt(faults)
    assert type(caught.value) is raised
    assert caught.value.args == ()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert faults == []


class _Odd(BaseException):
    """A class derived from `BaseException` that is no known interrupt."""


@pytest.mark.parametrize("fault", [ValueError(SECRET), _Odd(SECRET)])
def test_no_interrupt_no_raise(fault: BaseException) -> None:
    """Ordinary faults, and unknown classes of `BaseException`, stop at the boundary."""
    faults = [fault]
    raise_interrupt(faults)
    assert faults == []
