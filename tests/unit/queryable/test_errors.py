"""The hierarchy of errors: what is whose fault, and what they say."""

import pytest

from composition import FiltCon, OdomCon, OneSidedMixtureOdometer
from mechanisms import Count, RandomizedResponse, SparseVector
from queryable import ApproxZCDP, Queryable, Refused, errors
from queryable.losses import PureDP
from tests.strategies import Toy


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


def test_faults_and_refusals_are_no_query_errors() -> None:
    """An `except QueryError` does not catch failures that were charged, or refusals."""
    for error in (errors.MechanismFault, errors.QueryRefusedError, errors.HandleError):
        assert issubclass(error, errors.InteractiveError)
        assert not issubclass(error, errors.QueryError)


def test_a_refusal_has_the_amounts_as_attributes_and_in_its_text() -> None:
    """A refusal's attributes and text name what was requested, spent and remaining."""
    error = errors.QueryRefusedError("no", PureDP("0.3"), PureDP("0.8"), PureDP("0.2"))
    assert (error.requested, error.spent, error.remaining) == (
        PureDP("0.3"),
        PureDP("0.8"),
        PureDP("0.2"),
    )
    for part in ("no", "requested", "0.3", "spent", "0.8", "remaining", "0.2"):
        assert part in str(error)


def test_a_refusal_without_amounts_is_its_reason() -> None:
    """A refusal that is not about a budget does not print `None`."""
    assert str(errors.QueryRefusedError("cutoff reached")) == "cutoff reached"


def test_amounts_that_round_to_the_same_text_are_shown_exactly() -> None:
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
    """Each refusal advises what to launch or ask instead."""
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


def test_every_fault_has_the_same_text() -> None:
    """A fault takes no argument, so nothing about the data can be put in it."""
    assert str(errors.MechanismFault()) == str(errors.MechanismFault())
    with pytest.raises(TypeError):
        errors.MechanismFault("the patient is 47")  # type: ignore[call-arg]
