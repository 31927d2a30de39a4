"""Operands evaluated on arrays and frames in memory, each record on its own."""

from typing import Any

import numpy as np

from mechanisms.tables.expressions import Arithmetic, Literal, Operand, operand_name
from queryable.data.cells import Array, Cells, cells, count_records

LARGEST, LEAST = 1e150, 1e-150
"""Floats beyond these bounds are missing in arithmetic, or count as zero."""


def operand_cells(dataset: Any, operand: Operand) -> Cells:
    """The cells of a column, or the cells that are computed from others of the same record.

    Raises:
        KeyError, ValueError, TypeError: there is no such column, or its type does not fit.
    """
    if isinstance(operand, str):
        return cells(dataset, operand)
    match operand:
        case Literal(value):
            return Cells(
                np.ones(count_records(dataset), bool), np.full(count_records(dataset), value)
            )
        case Arithmetic(operator, left, right):
            return _arithmetic(
                operator, operand_cells(dataset, left), operand_cells(dataset, right)
            )
    raise TypeError(f"cannot compute {operand_name(operand)} yet")


def _arithmetic(operator: str, left: Cells, right: Cells) -> Cells:
    both = left.present & right.present
    a = _tamed(left.values[both[left.present]].astype(np.float64))
    b = _tamed(right.values[both[right.present]].astype(np.float64))
    with np.errstate(all="ignore"):
        result = _tamed(
            {"+": a + b, "-": a - b, "*": a * b, "/": a / np.where(b == 0, np.nan, b)}[operator]
        )
    there = ~np.isnan(result)
    both[both] = there
    return Cells(both, result[there])


def _tamed(values: Array) -> Array:
    size = np.abs(values)
    return np.where(size <= LARGEST, np.where(size >= LEAST, values, 0.0), np.nan)
