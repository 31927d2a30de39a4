"""The events of one root as lines of JSON: the file of `curator ledger export`. Opens no ledger."""

import json
from collections.abc import Iterable, Iterator

import attrs

from curator.ledgers import BrokenChainError, Event
from curator.wire.texts import dumped


def exported(events: Iterable[Event]) -> Iterator[str]:
    """The events of one root, each as a line of JSON; then their number and the last hash."""
    last = None
    for event in events:
        yield dumped(attrs.asdict(event))
        last = event
    if last is not None:
        yield dumped({"events": last.seq, "head": last.hash})


def imported(lines: Iterable[str]) -> Iterator[Event]:
    """The events of an export, not checked but for their number.

    Raises:
        BrokenChainError: a part of it is missing or is no event.
    """
    last, whole = None, False
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
            if whole:
                raise ValueError("a line after the end")
            if set(value) == {"events", "head"}:
                whole = last is not None and value == {"events": last.seq, "head": last.hash}
                if not whole:
                    raise ValueError("another number of events")
                continue
            last = Event(**value)
            if attrs.asdict(last) != {**value} or line.rstrip("\n") != next(exported([last])):
                raise ValueError("another spelling")
        except (ValueError, TypeError) as error:
            raise BrokenChainError(f"line {number} is not one of an export: {error}") from error
        yield last
    if not whole:
        raise BrokenChainError("the end is missing: the last line has the number of events")
