"""How accurate each statistic of a query is to be, or what it may cost."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mechanisms.sql.outputs import Answered
from mechanisms.sql.planning import SqlQuery
from mechanisms.sql.refusals import SqlError, listed
from queryable.losses import GDP, AdditiveLoss, ApproxDP, ApproxZCDP, Loss
from queryable.losses.numbers import sqrt_down
from queryable.wording.quoting import quoted


def shares(query: SqlQuery, finds: bool, within: Any, loss: Any) -> list[dict[str, Any]]:
    """What `release` is told for each release of a query: first for keys, if they are found.

    Raises:
        SqlError: an argument does not fit.
    """
    if (within is None) == (loss is None):
        raise SqlError(
            "give exactly one of within, how accurate the number should be, and loss, what the "
            "query may cost"
        )
    if loss is not None:
        return _of_loss(query, finds, loss)
    if finds:
        raise SqlError(
            "keys are found for a loss with a delta: give loss=ApproxDP(..), or public keys, "
            "WHERE state IN ('CA', 'NY')"
        )
    return _of_widths(query, within)


def _of_widths(query: SqlQuery, within: Any) -> list[dict[str, Any]]:
    named = {
        each.name: each.tree.place for each in query.outputs if isinstance(each.tree, Answered)
    }
    known = set(named.values())
    if len(known) < len(query.aggregates):
        raise SqlError(
            "give loss, what the query may cost: a number that is computed from several answers, "
            "or is not selected, has no width of its own"
        )
    if not isinstance(within, Mapping):
        if len(query.aggregates) != 1:
            raise SqlError(
                f"give the width of each number, within={{'{listed(named)}': ..}}, or loss"
            )
        return [{"within": within}]
    if set(within) != set(named):
        raise SqlError(
            f"within names {quoted(sorted(map(str, within)))}; it should name "
            f"{quoted(sorted(named))}"
        )
    widths = {named[name]: width for name, width in within.items()}
    return [{"within": widths[place]} for place in range(len(query.aggregates))]


def _of_loss(query: SqlQuery, finds: bool, loss: Loss) -> list[dict[str, Any]]:
    count = len(query.aggregates) + finds
    if not finds:
        return [{"loss": _share(loss, count)}] * count
    if not isinstance(loss, ApproxDP | ApproxZCDP) or not loss.parts[1]:
        raise SqlError(
            f"loss is {loss}; keys are found for a delta: give ApproxDP(epsilon, delta) or "
            "ApproxZCDP(rho, delta), or public keys, WHERE state IN ('CA', 'NY')"
        )
    each, delta = loss.parts[0] / count, loss.parts[1]
    keys, others = loss.of_parts((each, delta)), loss.of_parts((each, Fraction(0)))
    return [{"loss": keys}, *[{"loss": others}] * (count - 1)]


def _share(loss: Any, count: int) -> Loss:
    if count == 1:
        return loss
    if isinstance(loss, GDP):
        return GDP(sqrt_down(loss.parts[0] ** 2 / count))
    if isinstance(loss, AdditiveLoss):
        return loss.of_parts(tuple(part / count for part in loss.parts))
    raise SqlError(f"loss is {quoted(loss)}; ask each number in a query of its own")
