"""What is public about a table, as values of JSON, and an outline of the table from them.

A privacy unit and its bounds are fields of a data set's description. `columns` has the name of each
column's kind, and `kinds` what else distinguishes it, such as the step of decimals.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import attrs

from curator.wire.errors import WireError
from mechanisms.tables.declared import Declared
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.front_door import FromTable
from mechanisms.tables.named_joins import NamedJoin
from mechanisms.tables.outline import Outline
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from queryable.losses.numbers import exact

_BOUNDS = ("max_rows", "max_groups", "max_rows_per_group")


def about_of(
    columns: Mapping[str, Kind],
    unit: PrivacyUnit | None,
    declared: Mapping[str, Declared] = MappingProxyType({}),
    joins: Sequence[NamedJoin] = (),
) -> dict[str, Any]:
    """The description of a table with these columns."""
    return {
        **(
            {"declared": {name: _stated(each) for name, each in declared.items()}}
            if declared
            else {}
        ),
        "columns": {name: kind.name for name, kind in columns.items()},
        "kinds": {name: row for name, kind in columns.items() if (row := _row(kind))},
        "privacy_unit": None if unit is None else unit.column,
        **({"joins": [attrs.asdict(each) for each in joins]} if joins else {}),
        **({} if unit is None else {name: getattr(unit, name) for name in _BOUNDS}),
    }


def outline_of(about: Mapping[str, Any], name: str | None = None) -> FromTable:
    """The statistics of a table that was described.

    Args:
        name: what a query in SQL calls it; None if any name will do.

    Raises:
        WireError: the description is not of this protocol, or of another table than `Table`.
    """
    try:
        rows = {**about["kinds"]}
        columns = {
            str(name): _kind(kind, rows.get(name, {})) for name, kind in about["columns"].items()
        }
        whom = about["privacy_unit"]
        bounds = {name: about[name] for name in _BOUNDS if name in about}
        unit = None if whom is None else PrivacyUnit(whom, **bounds)
        stated = {
            str(each): _declared(row, str(each)) for each, row in about.get("declared", {}).items()
        }
        joins = tuple(NamedJoin(**each) for each in about.get("joins", ()))
        return Outline(columns, unit, declared=stated, name=name, joins=joins)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WireError(
            "the curator's description of this data set has no columns that this library can read; "
            "write statistics by hand, such as Count(per=PrivacyUnit('patient', max_rows=4))"
        ) from error


def _stated(declared: Declared) -> dict[str, Any]:
    """What is stated about a column; dates by ISO 8601, and fractions as text, under their type."""
    found: dict[str, Any] = {}
    if declared.lower is not None:
        found |= {"lower": _written(declared.lower), "upper": _written(declared.upper)}
    if declared.keys:
        found["keys"] = [_written(each) for each in declared.keys]
    return found


def _declared(row: Mapping[str, Any], name: str) -> Declared:
    found = {each: _read(row[each]) for each in ("lower", "upper") if each in row}
    if "keys" in row:
        found["keys"] = [_read(each) for each in row["keys"]]
    return Declared.of(found, name)


def _written(value: Any) -> Any:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return {"number": str(Fraction(value))}


def _read(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    [(kind, text)] = value.items()
    if kind == "number":
        number = exact(text)
        return int(number) if number.denominator == 1 else float(number)
    return {"timestamp": datetime, "date": date}[kind].fromisoformat(text)


def layout_in(about: Mapping[str, Any]) -> str:
    """The columns of a description with their types, in words; empty if it has none."""
    columns = about.get("columns")
    if not isinstance(columns, Mapping):
        return ""
    return ", ".join(f"{name}: {kind}" for name, kind in columns.items())


def _row(kind: Kind) -> dict[str, Any]:
    """What a kind has beside its name, if that differs from other kinds; numbers as text."""
    usual = Kind(kind.name)
    found = {
        "step": None if kind.step is None else str(kind.step),
        "low": None if kind.low == usual.low else str(kind.low),
        "high": None if kind.high == usual.high else str(kind.high),
        "single": kind.single or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _kind(name: Any, row: Mapping[str, Any]) -> Kind:
    usual = Kind(str(name))
    return Kind(
        usual.name,
        exact(row["step"]) if "step" in row else None,
        int(row.get("low", usual.low)),
        int(row.get("high", usual.high)),
        single=bool(row.get("single", False)),
    )
