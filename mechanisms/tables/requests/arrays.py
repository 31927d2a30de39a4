"""Requests evaluated on arrays and data frames in memory, exactly, with numpy."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from mechanisms.tables.expressions.column_types import are_dates, beside_decimals
from mechanisms.tables.expressions.comparisons import reached
from mechanisms.tables.expressions.computed import operand_cells
from mechanisms.tables.expressions.lattice import are_numbers
from mechanisms.tables.expressions.operands import Cast, DatePart, Literal, PerUnit, When
from mechanisms.tables.expressions.predicates import selected
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import (
    Bins,
    Combinations,
    Groups,
    Request,
    Tabular,
    Term,
)
from queryable.data.cells import Array, Mask, count_records, python_values
from queryable.data.keys import key_of, keys_of


def needs_table(per: PrivacyUnit) -> str:
    """What to write where a statistic is about privacy units and the data have none."""
    return (
        f"put the data in a Table(.., privacy_unit={per.column!r}): the statistic is declared per "
        f"{per.column}, and arrays and frames have no privacy unit"
    )


def totals_of_arrays(dataset: Any, request: Request) -> Array:
    """The exact sums: Python integers of the request's shape.

    Raises:
        TypeError: the request bounds the contribution of a privacy unit.
    """
    if request.per is not None:
        raise TypeError(needs_table(request.per))
    result = np.zeros(request.shape, dtype=object)
    if request == Request((Term(),)):
        result[0] = count_records(dataset)
        return result
    chosen, groups = rows_in_groups(dataset, request)
    flat = result.reshape(-1, len(request.terms))
    for position, term in enumerate(request.terms):
        for group, total in _sums(dataset, term, chosen, groups, len(flat)):
            flat[group, position] = total
    return result


def rows_in_groups(dataset: Any, request: Request) -> tuple[Mask, Array]:
    """Which records are counted, and the number of the group of each, over all dimensions."""
    chosen = selected(request.where, dataset)
    groups = np.zeros(len(chosen), dtype=np.int64)
    for by in request.by:
        indices = _indices(dataset, by)
        chosen = chosen & (indices >= 0)  # not in place: a function may return the data's own array
        groups = groups * by.size + indices
    return chosen, groups


_WHOLE = re.compile("u?int[0-9]+|bool(ean)?", re.IGNORECASE)


def step_of(dataset: Any, column: Any) -> Fraction | None:
    """What every number of a column is a multiple of, by its public type; None if unknown."""
    match column:
        case Literal(int()) | DatePart() | Cast(to="integer"):
            return Fraction(1)
        case PerUnit(how="count"):
            return Fraction(1)
        case PerUnit(how="sum" | "min" | "max", column=of, unit=unit):
            step = step_of(dataset, of)  # of whole units nothing is truncated
            return unit if step is not None and (step / unit).denominator == 1 else None
        case When():
            steps = {step_of(dataset, each) for each in column.values if each is not None}
            return Fraction(1) if steps == {Fraction(1)} else None
    if not isinstance(column, str):
        return None
    if isinstance(dataset, Tabular):
        return dataset.step(column)
    try:
        cells = dataset[column]
        name = str(cells.type if hasattr(cells, "type") else cells.dtype)
    except Exception:  # lists, and whatever else has no type
        return None
    return Fraction(1) if _WHOLE.fullmatch(name) else None


def _sums(
    dataset: Any, term: Term, chosen: Mask, groups: Array, size: int
) -> Iterable[tuple[int, int]]:
    """Each group that has rows, and the sum of what they add."""
    if term.column is None:
        return enumerate(np.bincount(groups[chosen], minlength=size).tolist())
    if term.times:
        return _sums_of_products(dataset, term, chosen, groups, size)
    present, values = operand_cells(dataset, term.column)
    if term.lattice is not None:
        term.lattice.units(values[:0])  # a type that cannot be added up fails even without rows
    values, groups = values[chosen[present]], groups[chosen & present]
    if term.lattice is not None and values.dtype == object:
        numbers = are_numbers(values)
        values, groups = values[numbers], groups[numbers]
    if not term.power:
        return enumerate(np.bincount(groups, minlength=size).tolist())
    if size == 1:
        return [(0, _total(values, term))]
    order = np.argsort(groups, kind="stable")
    kinds, starts = np.unique(groups[order], return_index=True)
    parts = np.split(values[order], starts[1:]) if len(kinds) else []
    return [(group, _total(part, term)) for group, part in zip(kinds.tolist(), parts, strict=True)]


def _sums_of_products(
    dataset: Any, term: Term, chosen: Mask, groups: Array, size: int
) -> Iterable[tuple[int, int]]:
    fits = term.largest * max(len(chosen), 1) < 2**63
    added = chosen.astype(np.int64 if fits else object)
    for factor in term.factors:
        added = added * added_by(dataset, factor).astype(added.dtype)
    totals = np.zeros(size, dtype=added.dtype)
    np.add.at(totals, np.where(chosen, groups, 0), added)
    return enumerate(totals.tolist())


def added_by(dataset: Any, term: Term) -> Array:
    """What each record adds: integers, 0 where the cell is missing or holds no number."""
    assert term.column is not None
    assert term.lattice is not None
    present, values = operand_cells(dataset, term.column)
    term.lattice.units(values[:0])
    there = present.copy()
    if values.dtype == object:
        numbers = are_numbers(values)
        there[present], values = numbers, values[numbers]
    units = term.lattice.units(values)
    if not term.largest < 2**63:
        units = units.astype(object)
    added = np.zeros(len(there), dtype=units.dtype)
    added[there] = (units - term.center) ** term.power
    return added


def _total(values: Array, term: Term) -> int:
    lattice = term.lattice
    assert lattice is not None
    if term.power == 1:
        return lattice.total(values) - term.center * len(values)
    return sum((unit - term.center) ** 2 for unit in lattice.units(values).tolist())


def _indices(dataset: Any, by: Groups) -> Array:
    """The group of each record, -1 if it is in none."""
    if isinstance(by, Combinations):
        return _combined(dataset, by)
    present, values = operand_cells(dataset, by.column)
    indices = np.full(len(present), -1, dtype=np.int64)
    if isinstance(by, Bins):
        count = reached(values, by.steps)
        if by.bounded:
            count = np.where(count < len(by.steps), count - 1, -1)
        indices[present] = count
    else:
        indices[present] = _positions(values, by.values)
    return indices


def _combined(dataset: Any, by: Combinations) -> Array:
    """The combination of each record, -1 if it has none."""
    found = [_indices(dataset, part) for part in by.parts]
    codes = np.array([by.code(place) for place in by.places], dtype=np.int64)
    order = np.argsort(codes)
    code = np.where(np.min(found, axis=0) < 0, -1, by.code(found))
    place = np.searchsorted(codes, code, sorter=order)
    near = order[np.minimum(place, len(codes) - 1)]
    return np.where(codes[near] == code, near, -1)


def _positions(values: Array, categories: tuple[Scalar, ...]) -> Array:
    """The index of the category whose key is that of the cell, -1 if none."""
    floats = (pair for pair in enumerate(categories) if type(pair[1]) is float)
    position = {key_of(beside_decimals(each)): index for index, each in floats}
    position |= {key: index for index, key in enumerate(keys_of(categories))}
    if values.dtype == object:
        found = (position.get(key, -1) for key in keys_of(values.tolist()))
        return np.fromiter(found, dtype=np.int64, count=len(values))
    kinds, inverse = np.unique(values, return_inverse=True)
    found = (position.get(key, -1) for key in keys_of(python_values(kinds)))
    return np.fromiter(found, dtype=np.int64, count=len(kinds))[inverse]


def as_python(values: Array) -> Iterable[Any]:
    """Python values; None for a time beyond Python's years, which numpy would turn into an integer.

    Python has no nanoseconds: parts of a microsecond are cut off.
    """
    if values.dtype.kind not in "Mm":
        return python_values(values)
    kind, unit = values.dtype.kind, np.datetime_data(values.dtype)[0]
    python = date if kind == "M" else timedelta
    whole = values.astype(
        np.dtype(f"{kind}8[{'D' if kind == 'M' and are_dates(values.dtype) else 'us'}]")
    )
    fits = (whole.astype(values.dtype) == values) | (unit in ("ns", "ps", "fs", "as"))
    cells = zip(whole.tolist(), fits.tolist(), strict=True)  # numpy wraps around
    return (cell if fit and isinstance(cell, python) else None for cell, fit in cells)
