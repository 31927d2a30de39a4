"""The events of a ledger: what each charge was for, so that others can account for it again.

Responsible for their order and their JSON, whose schema `docs/ledgers.md` describes.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, overload

import attrs

from queryable.events.charge import Charge
from queryable.events.peers import dp_event
from queryable.wording.quoting import quoted

SCHEMA = "queryable-events/1"
"""The version of the JSON. A new meaning of a field is a new version."""


def _charges(value: Iterable[Charge]) -> tuple[Charge, ...]:
    return tuple(value)


@attrs.frozen
class Events(Sequence[Charge]):
    """The charges of a ledger in order. Refused launches are no charges."""

    charges: tuple[Charge, ...] = attrs.field(converter=_charges)

    @overload
    def __getitem__(self, index: int) -> Charge: ...
    @overload
    def __getitem__(self, index: slice) -> "Events": ...
    def __getitem__(self, index: int | slice) -> "Charge | Events":
        found = self.charges[index]
        return Events(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self.charges)

    def to_json(self, indent: int | None = None) -> str:
        """Return the events as JSON; the schema is in docs/ledgers.md, and numbers are exact."""
        events = [each.as_record() for each in self.charges]
        return json.dumps({"schema": SCHEMA, "events": events}, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> "Events":
        """Read what `to_json` returns.

        Raises:
            ValueError: it is something else, or of another version.
        """
        read = json.loads(text)
        schema = read.get("schema") if isinstance(read, dict) else None
        if schema != SCHEMA:
            raise ValueError(f"schema is {quoted(schema)}; it should be {SCHEMA!r}")
        return cls([Charge.of_record(each) for each in read["events"]])

    def to_dp_events(self) -> list[Any]:
        """Return each charge as an event of `dp_accounting`, which must be installed.

        Their losses are not below those of the charge. None where there is no such event.
        `docs/ledgers.md` says which event stands for which law.
        """
        return [dp_event(each) for each in self.charges]
