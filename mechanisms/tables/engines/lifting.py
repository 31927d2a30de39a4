"""Computed operands of groups and sums as columns that an engine adds first.

An operand is then written once in a statement, however often the statement uses it.
"""

from collections.abc import Iterable

import attrs

from mechanisms.tables.expressions.operands import ExpressionNode, Operand
from mechanisms.tables.requests.request import Request


def lifted(request: Request, taken: Iterable[str]) -> tuple[Request, dict[str, ExpressionNode]]:
    """The request with its computed operands replaced by names of columns, and these operands.

    An engine adds the columns first, so that each operand is written once.
    """
    factors = (factor for term in request.terms for factor in term.factors)
    if not any(isinstance(each.column, ExpressionNode) for each in (*factors, *request.parts)):
        return request, {}
    nodes: dict[str, ExpressionNode] = {}
    names: dict[str, str] = {}
    known = {name.lower() for name in taken}

    def name_of(operand: Operand | None) -> Operand | None:
        if not isinstance(operand, ExpressionNode):
            return operand
        key = repr(operand)  # equal operands may differ in type: 1 is True
        if key not in names:
            name = f"computed_{len(names)}"
            while any(each.startswith(name) for each in known):
                name += "_"
            names[key] = name
            nodes[name] = operand
        return names[key]

    terms = tuple(term.reading(name_of) for term in request.terms)
    by = tuple(each.reading(name_of) for each in request.by)
    return attrs.evolve(request, terms=terms, by=by), nodes
