"""Losses and events as plain values for JSON, with every number as exact text, and back.

A loss is an object of its measure and parameters, such as `{"measure": "ZCDP", "rho": "1/50"}`. An
event of `laws` is an object of its law and parameters.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from queryable import losses
from queryable.events.laws import LAWS, Event, GaussianEvent, LaplaceEvent, Sensitivity
from queryable.losses import Report
from queryable.wording.quoting import quoted

_MEASURES: Mapping[str, type] = {
    name: kind
    for name, kind in vars(losses).items()
    if isinstance(kind, type) and attrs.has(kind) and issubclass(kind, Report)
}


def exactly(value: Any) -> Any:
    """Return a loss as its measure and parameters, with every number as an exact string."""
    match value:
        case Fraction():
            return str(value)
        case tuple() | list():
            return [exactly(each) for each in value]
        case Mapping():
            return {str(key): exactly(each) for key, each in value.items()}
        case None | bool() | int() | str():
            return value
    if attrs.has(type(value)):
        return {"measure": type(value).__name__} | _fields(value)
    return str(value)


def stated(event: Event) -> dict[str, Any]:
    """Return an event as its law and parameters."""
    fields = _fields(event)
    if isinstance(event, GaussianEvent | LaplaceEvent):
        fields["sensitivity"] = _fields(event.sensitivity)
    return {"law": event.law} | fields


def _fields(value: Any) -> dict[str, Any]:
    fields = attrs.asdict(value, recurse=False, filter=lambda field, _: bool(field.repr))
    return {name: exactly(each) for name, each in fields.items()}


def read_loss(record: Any) -> Report | None:
    """Return the loss that `exactly` has written; None for what is no loss of this package.

    Raises:
        ValueError: a number in it is none, or is missing.
    """
    kind = _MEASURES.get(record.get("measure", "")) if isinstance(record, dict) else None
    if kind is None:
        return None
    loss: Report = _made(kind, {n: _number(v) for n, v in record.items() if n != "measure"})
    return loss


def read_event(record: Mapping[str, Any]) -> Event:
    """Return the event that `stated` has written.

    Raises:
        ValueError: it is none.
    """
    kind = LAWS.get(record.get("law", ""))
    if kind is None:
        raise ValueError(f"law is {quoted(record.get('law'))}; it should be one of {list(LAWS)}")
    fields = {name: _number(each) for name, each in record.items() if name != "law"}
    if isinstance(norms := fields.get("sensitivity"), dict):
        fields["sensitivity"] = _made(Sensitivity, norms)
    event: Event = _made(kind, fields)
    return event


def _made(kind: type, fields: dict[str, Any]) -> Any:
    try:
        return kind(**fields)
    except TypeError as error:
        raise ValueError(f"{quoted(fields)} are not the fields of {kind.__name__}") from error


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _number(each) for name, each in value.items()}
    if isinstance(value, list):
        return tuple(_number(each) for each in value)
    return Fraction(value) if isinstance(value, str) else value
