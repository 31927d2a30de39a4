"""Errors, faults and messages."""

from contextlib import suppress
from typing import Any

import attrs
import pytest

from composition import FiltCon, OdomCon, OneSidedMixtureOdometer
from mechanisms import Count, RandomizedResponse, SparseVector
from queryable import (
    SYSTEM,
    ApproxZCDP,
    Ask,
    CanAfford,
    Coins,
    Failed,
    Halted,
    Launch,
    Launched,
    MechanismFault,
    PrivacyLossQuery,
    Queryable,
    QueryError,
    Refused,
    errors,
)
from queryable.conversation import LOST, Pass, Start
from queryable.conversation.leaves import read
from queryable.conversation.stepping import DEAD, begin
from queryable.faults import collecting, raise_interrupt, touching_data
from queryable.losses import PureDP
from queryable.messages import MeasureQuery, RemainingQuery, Stated, d_in_of
from tests.strategies import SECRET, Faulty, Toy, raising


@pytest.mark.parametrize(
    "error",
    [
        errors.UnknownQueryError,
        errors.UnknownChildError,
        errors.RetiredChildError,
        errors.ReentrantQueryError,
        errors.PrivacyClaimError,
        errors.UnprovenCompositionError,
    ],
)
def test_the_analysts_faults_are_query_errors(error: type[Exception]) -> None:
    """One `except QueryError` catches everything that left the state unchanged."""
    assert issubclass(error, errors.QueryError)


def test_a_refusal_has_the_amounts_as_attributes_and_in_its_text() -> None:
    error = errors.QueryRefusedError("no", PureDP("0.3"), PureDP("0.8"), PureDP("0.2"))
    assert (error.requested, error.spent, error.remaining) == (
        PureDP("0.3"),
        PureDP("0.8"),
        PureDP("0.2"),
    )
    for part in ("no", "requested", "0.3", "spent", "0.8", "remaining", "0.2"):
        assert part in str(error)
    # A refusal that is not about a budget does not print `None`.
    assert str(errors.QueryRefusedError("cutoff reached")) == "cutoff reached"
    error = errors.QueryRefusedError("no", PureDP("1/3"), PureDP("2/3"), PureDP("0.333333333"))
    assert "1/3" in str(error)
    assert "333333333/1000000000" in str(error)


def refusal_of(q: Queryable, query: object) -> str:
    with pytest.raises(errors.QueryRefusedError) as caught:
        q(query)
    assert caught.value.instead
    assert caught.value.instead in str(caught.value)
    return str(caught.value)


def test_refusals_give_advice() -> None:
    q = Queryable(FiltCon(PureDP("0.15")), [1, 2, 3])
    q.launch(Toy())
    text = refusal_of(q, Toy())
    for part in ("requested", "spent", "remaining PureDP(epsilon=0.05)", "more noise"):
        assert part in text
    q.launch(Toy(PureDP("0.05")))
    assert "used up" in refusal_of(q, Toy())
    full = Queryable(FiltCon(PureDP(1), max_mechanisms=0), None)
    assert "max_mechanisms" in refusal_of(full, Toy())
    sparse = Queryable(SparseVector(-(10**6), 1), [1, 2, 3])
    assert sparse.ask(Count()) is True
    assert "launch another" in refusal_of(sparse, Count())
    uniform = OneSidedMixtureOdometer("1e-6", 1, deltas="1e-7", margin="0.1")
    odometer = Queryable(OdomCon(ApproxZCDP, uniform), None)
    loud = RandomizedResponse(bool, epsilon="0.1", delta="1e-3")
    assert "a smaller delta, or none" in refusal_of(odometer, loud)
    halting = Queryable(FiltCon(PureDP("0.05"), on_exceed="halt"), None)
    assert "halted for good" in refusal_of(halting, Toy())


def test_advice_is_not_compared() -> None:
    """Two refusals with equal reasons and amounts are one outcome in laws of views."""
    assert Refused("no", instead="go home") == Refused("no")


def test_faults_and_refusals_are_no_query_errors_and_have_one_text() -> None:
    """A fault takes no argument, so nothing about the data can be put in it."""
    assert str(errors.MechanismFault()) == str(errors.MechanismFault())
    with pytest.raises(TypeError):
        errors.MechanismFault("the patient is 47")  # type: ignore[call-arg]
    # An `except QueryError` does not catch failures that were charged, or refusals.
    for error in (errors.MechanismFault, errors.QueryRefusedError, errors.HandleError):
        assert issubclass(error, errors.InteractiveError)
        assert not issubclass(error, errors.QueryError)
    # `Failed` has no field that could hold a cause: the receipt says what was charged before.
    (receipt,) = attrs.fields(Failed)
    assert (receipt.name, receipt.eq, receipt.repr) == ("receipt", False, False)


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


def test_nested_boundaries_report_once() -> None:
    with collecting() as faults, pytest.raises(MechanismFault):
        touching_data(lambda: touching_data(lambda: raising(FAULTS[0])(None)))
    assert faults == [FAULTS[0]]
    # A queryable used inside another's statistic reports to its own curator.
    with collecting() as outer:
        with collecting() as inner, suppress(MechanismFault):
            touching_data(lambda: raising(ValueError("inner"))(None))
        with suppress(MechanismFault):
            touching_data(lambda: raising(ValueError("outer"))(None))
    assert [str(fault) for fault in inner] == ["inner"]
    assert [str(fault) for fault in outer] == ["outer"]
    # A step outside any handle contains faults as well.
    state, answer = begin(Faulty(raising(ValueError(SECRET)), at_launch=True), None, SYSTEM)
    assert (state, answer) == (DEAD, Failed())


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


MESSAGES = [
    Ask(0, "q"),
    CanAfford(Launch(None)),
    Failed(),
    Halted("why"),
    Launch(None),
    Launched(None, 3),
    MeasureQuery(),
    PrivacyLossQuery(),
    Refused("why"),
    RemainingQuery(),
    Stated(None, 1),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_are_frozen_values(message: object) -> None:
    """Messages compare by value and cannot be changed."""
    assert message == attrs.evolve(message)  # type: ignore[misc]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        message.anything = 1  # type: ignore[attr-defined]


def test_d_in_of_reads_a_count_or_the_default() -> None:
    """A d_in is a count of records, with the budget's unit for none."""
    assert d_in_of(None, 3) == 3
    assert d_in_of(0, 3) == 0
    for wrong in ("2", True, -1, 1.5):
        with pytest.raises(QueryError, match="d_in"):
            d_in_of(wrong, 3)
