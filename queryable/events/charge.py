"""One charge of a ledger as an event that others can account for again.

Responsible for the value and for its JSON object. It holds what is public: no answers, no data.
"""

from typing import Any

import attrs

from queryable.events.laws import Event
from queryable.events.written import exactly, read_event, read_loss, stated
from queryable.losses import Report
from queryable.wording.quoting import quoted

_LOSSES = ("claim", "loss", "total")


@attrs.frozen
class Charge:
    """One charge of a ledger.

    Attributes:
        sequence: the number of the exchange among all with the root, from 0.
        path: the ids of the children that lead to the compositor that charged it.
        name: the name of the launch, or None.
        mechanism: the class of the mechanism that ran; empty for an answer of a person in the
            middle, whose launches are not in the view.
        asked: what was asked, in words.
        outcome: "charged" or "failed"; both are paid for.
        d_in: the number of records, or units, that the charge is for.
        draws: what the mechanism draws from, in all; None if that is not stated, so that its loss
            is all that is known.
        claim: its loss in its own measure, or the `d_out` of the launch.
        loss: what was charged, in the compositor's measure; None if it is not known. If `total` is
            an `ExPostBound`, answers may be charged later, and only `claim` bounds all of them.
        total: what the compositor reported after it.
        reads: what part of the data it was charged for, in words; empty for all. Charges for parts
            do not add up.
    """

    sequence: int
    path: tuple[int | str, ...]
    name: str | None
    mechanism: str
    asked: str
    outcome: str
    d_in: int
    draws: tuple[Event, ...] | None
    claim: Report | None
    loss: Report | None
    total: Report | None
    reads: str

    def as_record(self) -> dict[str, Any]:
        """Return the charge as plain values, as in JSON."""
        record = attrs.asdict(self, recurse=False)
        draws = None if self.draws is None else [stated(each) for each in self.draws]
        losses = {name: exactly(record[name]) for name in _LOSSES}
        return {**record, "path": list(self.path), "draws": draws, **losses}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> "Charge":
        """Read what `as_record` returns.

        Raises:
            ValueError: it is something else.
        """
        names = {each.name for each in attrs.fields(cls)}
        if not isinstance(record, dict) or not names <= set(record):
            raise ValueError(f"an event is {quoted(record)}; its fields should be {sorted(names)}")
        record = {name: record[name] for name in names}  # a later version may have more
        draws = record["draws"]
        read = None if draws is None else tuple(map(read_event, draws))
        losses = {name: read_loss(record[name]) for name in _LOSSES}
        return cls(**{**record, "path": tuple(record["path"]), "draws": read, **losses})
