"""The sums of requests over a relation, as Ibis expressions.

Requests of equal groups are added up together: each sum is over the rows that its own request
selects.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any

import attrs

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.ibis.keys import UploadedKeys
from mechanisms.tables.engines.ibis.rows import Rows, caps, fresh
from mechanisms.tables.engines.lifting import lifted
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.requests.request import Request, Term

_LIMB = 22
"""Bits of the parts that numbers are added up in: sums of 2**41 parts fit in 64 bits."""


@attrs.frozen
class Totals:
    """Sums in parts: first the indices of groups, then for each request the parts of its terms."""

    expression: Any
    groups: int
    parts: tuple[tuple[int, ...], ...]

    def read(self, row: Sequence[Any]) -> list[tuple[int, ...]]:
        """The indices and sums of a group, for each request."""
        numbers = list(map(int, row))
        keys, rest = numbers[: self.groups], iter(numbers[self.groups :])
        return [
            (*keys, *(sum(next(rest) << (_LIMB * i) for i in range(n)) for n in parts))
            for parts in self.parts
        ]


def joint(requests: Sequence[Request], most: int) -> list[list[int]]:
    """Positions of requests that are added up together: of the same rows and the same groups.

    Args:
        most: how many sums a statement has at most.
    """
    parts: list[list[int]] = []
    last: dict[str, tuple[int, int]] = {}  # by rows and groups: the last part, and its sums
    for position, request in enumerate(requests):
        own = request.sizes or caps(request)
        per = request.per and (request.per.column, request.per.max_rows)
        key = repr((position if own else None, per, request.by))
        size = sum(term.largest.bit_length() // _LIMB + 1 for term in request.terms)
        part, sums = last.get(key, (-1, most))
        if sums + size > most:
            part, sums = len(parts), 0
            parts.append([])
        parts[part].append(position)
        last[key] = part, sums + size
    return parts


def totals_of(
    rows: Any, requests: Sequence[Request], choice: Choice, table: Rows, keys: UploadedKeys
) -> Totals:
    """The sums of requests that have the same groups.

    Args:
        rows: the counted rows of each unit, or the source's if the requests choose none.
    """
    first, kinds, computed, nodes = requests[0], dict(table.kinds), [], {}
    for request in requests:
        one, found = lifted(request, kinds)
        for name, node in found.items():
            nodes[name] = table.compiler(rows).operand(node)
            kinds[name] = nodes[name].kind
        computed.append(one)
    if nodes:
        rows = rows.mutate(**{name: each.cell for name, each in nodes.items()})
    alone = len(requests) == 1
    if alone and first.where is not None:
        rows = rows.filter(table.compiler(rows, kinds).selected(first.where))
    names = [fresh(f"key_{i}", table.kinds) for i in range(len(first.parts))]
    rows = keys.grouped(rows, computed[0], names, kinds, table)
    groups = names
    if first.sizes:
        rows, size = table.sized(rows, first, choice, names)
        groups = [*names, size]
    elif caps(first):
        rows = table.capped(rows, first, choice, [names[i] for i in first.bounded])
    compiler, number = table.compiler(rows, kinds), count()
    sums: dict[str, Expression] = {}
    parts = []
    for request, one in zip(requests, computed, strict=True):
        there = None if alone or request.where is None else compiler.selected(request.where)
        limbs = [_limbs(term, compiler.term(term)) for term in one.terms]
        for term, each in zip(one.terms, limbs, strict=True):
            for limb in each:
                name = fresh(f"total_{next(number)}", table.kinds)
                if term.column is None:
                    sums[name] = rows.count(where=there)
                else:
                    sums[name] = limb.sum(where=there).coalesce(0)
        parts.append(tuple(map(len, limbs)))
    totals = rows.group_by(groups).aggregate(**sums) if groups else rows.aggregate(**sums)
    return Totals(totals.select(*groups, *sums), len(groups), tuple(parts))


def _limbs(term: Term, value: Expression) -> list[Expression]:
    """A number in parts of 22 bits, the last one signed, so that no sum of parts overflows."""
    limbs, largest = [], term.largest
    while largest >= 1 << _LIMB:
        low = value & ((1 << _LIMB) - 1)
        limbs.append(low)
        value = ((value - low) / (1 << _LIMB)).cast("int64")  # exact: at most 41 bits are set
        largest >>= _LIMB
    return [*limbs, value]
