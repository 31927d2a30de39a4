"""Messages are plain values that validate nothing when they are made."""

import attrs
import pytest

from queryable import (
    Ask,
    CanAfford,
    Failed,
    Halted,
    Launch,
    Launched,
    PrivacyLossQuery,
    QueryError,
    Refused,
)
from queryable.messages import MeasureQuery, Stated, d_in_of

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
    Stated(None, 1),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_are_frozen_values(message: object) -> None:
    """Messages compare by value and cannot be changed."""
    assert message == attrs.evolve(message)  # type: ignore[misc]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        message.anything = 1  # type: ignore[attr-defined]


def test_wrong_queries_can_be_constructed() -> None:
    """The step that receives a query validates it."""
    assert Ask(True, None).child is True
    assert PrivacyLossQuery("x").d_in == "x"


def test_failed_has_no_cause() -> None:
    """`Failed` has no field that could hold a cause: the receipt says what was charged before."""
    (receipt,) = attrs.fields(Failed)
    assert (receipt.name, receipt.eq, receipt.repr) == ("receipt", False, False)


def test_d_in_of_reads_a_count_or_the_default() -> None:
    """A d_in is a count of records, with the budget's unit for none."""
    assert d_in_of(None, 3) == 3
    assert d_in_of(0, 3) == 0
    for wrong in ("2", True, -1, 1.5):
        with pytest.raises(QueryError, match="d_in"):
            d_in_of(wrong, 3)
