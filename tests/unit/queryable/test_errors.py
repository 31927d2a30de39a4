"""The hierarchy of errors: what is whose fault, and what they say."""

import pytest

from queryable import errors
from queryable.losses import PureDP


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
    """What was charged, or declined by the accounting, is not mistaken for a wrong query."""
    for error in (errors.MechanismFault, errors.QueryRefusedError, errors.HandleError):
        assert issubclass(error, errors.InteractiveError)
        assert not issubclass(error, errors.QueryError)


def test_a_refusal_carries_and_tells_the_amounts() -> None:
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


def test_every_fault_reads_the_same() -> None:
    """A fault takes no argument, so nothing about the data can be put in it."""
    assert str(errors.MechanismFault()) == str(errors.MechanismFault())
    with pytest.raises(TypeError):
        errors.MechanismFault("the patient is 47")  # type: ignore[call-arg]
