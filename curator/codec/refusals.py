"""What has no text, and what to write instead.

Texts name classes and fields only, and no value: an answer is not told by an error.
"""

from typing import Any

from mechanisms import RandomizedResponse, Table
from mechanisms.opendp.measurement import OpenDPMeasurement
from mechanisms.tables.expressions.operands import ExpressionNode
from mechanisms.tables.expressions.predicates import Predicate
from queryable import (
    Bit,
    InteractiveMechanism,
    Loss,
    PersonInTheMiddle,
    Queryable,
    SeededCoins,
    Statistic,
    SystemCoins,
    Update,
)
from queryable.messages import CloseBlock
from queryable.statistics import Releasable
from queryable.streams.levels import Growth

_OWN = (
    "a site adds a class of its own by an entry point of the group queryable.mechanisms, which the "
    "curator's configuration names"
)
_OWNERS = "ask the owner to feed the data: an analyst sends no batches"
REFUSALS: dict[type, str] = {
    Bit: "count the rows that satisfy a predicate: a Bit holds a Python function",
    CloseBlock: _OWNERS,
    Growth: "leave it to the class of the mechanism, which states its growth",
    OpenDPMeasurement: (
        "use a mechanism of the packages: an OpenDPMeasurement stays in its owner's process, and "
        "its noise is not from the curator's coins"
    ),
    Queryable: "send the mechanism: a Queryable is a handle, and stays in its process",
    RandomizedResponse: (
        "count the rows that satisfy a predicate with Laplace or Gaussian noise: "
        "RandomizedResponse holds a Python function"
    ),
    SeededCoins: "leave coins to the curator: they are secret",
    Statistic: (
        "use Count, Sum, Histogram or another statistic of a table: a Statistic holds a Python "
        "function"
    ),
    SystemCoins: "leave coins to the curator: they are secret",
    Table: "leave the data to the curator: a Table holds them",
    Update: _OWNERS,
}
"""Classes of the packages that have no tag, each with the reason."""

_FAMILIES = (InteractiveMechanism, PersonInTheMiddle, Releasable, Predicate, ExpressionNode, Loss)
_FUNCTIONS = {
    "analyst": "give a list of queries",
    "where": "write a predicate, such as column('age') >= 30",
    "condition": "write RelativeError('1/10') or AbsoluteError(5)",
    "encode": "give the data one universe index per record, and leave encode out",
    "key": "name a column",
    "score": 'write "largest" or "smallest"; of= names a part of the answers',
}


def why_not(value: Any) -> str:
    """Why a value has no text; empty for a Python function, see `told`."""
    kind = type(value)
    for base in kind.__mro__:
        if base in REFUSALS:
            return REFUSALS[base]
    if isinstance(value, _FAMILIES):
        return f"use a class of the packages: {kind.__name__} has no tag; {_OWN}"
    if callable(value) and not isinstance(value, type):
        return ""
    return f"use values of the packages, numbers, texts and dates: {kind.__name__} has no tag"


def refusal_text(reason: str, place: list[str]) -> str:
    """The text of a refusal.

    Args:
        reason: as of `why_not`.
        place: the names of the fields around the value, the innermost first.
    """
    if not reason:
        field = next((name for name in place if not name.isdigit()), "")
        instead = _FUNCTIONS.get(field, "use mechanisms and statistics of the packages")
        reason = f"{instead}: a Python function has no tag"
    return f"{reason}; it is in {'.'.join(reversed(place))}" if place else reason
