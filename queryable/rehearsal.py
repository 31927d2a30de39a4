"""Rehearsals: a mechanism run on public sample data, with everything said that goes wrong.

Responsible for finding an analyst's own bugs before they cost anything. What a rehearsal shows is
not private: it has no budget, hides no error and gives the exact values of statistics. It is for
data that anybody may see, made up or published, and never for a part of the real ones.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import attrs

from queryable.accuracy import accuracy
from queryable.datasets import is_private, protected
from queryable.display.ledger import Ledger, LedgerRow
from queryable.errors import PrivacyClaimError
from queryable.faults import advance, begin, collecting
from queryable.handle import Queryable
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Query
from queryable.optional import public_name
from queryable.quoting import quoted
from queryable.randomness.coins import SYSTEM
from queryable.statistics import Bit, IntegerStatistic
from queryable.view import Exchange, View


@attrs.frozen
class Rehearsal:
    """What a mechanism did with a public sample. Not private: exact values are in it.

    Attributes:
        mechanism: its public name.
        claim: what it would be charged at d_in=1, in its own measure; None for an odometer.
        values: of the statistics it holds, by field, exact: what noise would be added to.
        opening: its first answer; a measurement's answer.
        answers: to the queries.
        within: how far the answer is from the value with 95% confidence, where that is known.
    """

    mechanism: str
    claim: Loss | None
    values: dict[str, Any]
    opening: Any
    answers: tuple[Any, ...]
    within: int | None

    def __str__(self) -> str:
        lines = [
            f"Rehearsal of {self.mechanism} on a public sample; not private, nothing was charged",
            f"  would be charged: {self.claim or 'no loss of its own'}",
            *(f"  {name}, exact on the sample: {value}" for name, value in self.values.items()),
            f"  opening answer: {self.opening}",
            *(f"  answer {place}: {each}" for place, each in enumerate(self.answers, 1)),
        ]
        if self.within is not None:
            lines.append(f"  within {self.within:,} of the exact value with 95% confidence")
        return "\n".join(lines)


def rehearse(
    mechanism: InteractiveMechanism[Any], sample: Any, queries: Iterable[Query] = ()
) -> Rehearsal:
    """Run a mechanism, its statistics and some queries on public sample data; charges nothing.

    Args:
        sample: data that are public. What this function shows is not private, so it must never be
            given the real data or a part of them; the data of a running queryable are refused.
        queries: what to ask it, for an interactive mechanism.

    Raises:
        TypeError: the sample is a queryable, what one has told, or its very data.
        Exception: whatever the mechanism, a statistic or a predicate raises, as it was raised:
            the error that a real run would hide.
    """
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
    _require_public(sample)
    data = protected(sample)
    claim = _claim(mechanism)
    values = {name: _heard(each, data) for name, each in _statistics(mechanism)}
    answers = []
    with collecting() as faults:
        state, opening = begin(mechanism, data, SYSTEM)
        _raise_first(faults)
        for message, query in enumerate(queries, 1):
            state, answer = advance(mechanism, state, query, SYSTEM, message)
            _raise_first(faults)
            answers.append(answer)
    within = None
    with suppress(TypeError):
        within = accuracy(mechanism)
    return Rehearsal(public_name(mechanism), claim, values, opening, tuple(answers), within)


def _require_public(sample: Any) -> None:
    told = Queryable | View | Exchange | Ledger | LedgerRow
    if isinstance(sample, told):
        raise TypeError(
            f"sample is a {type(sample).__name__}; a rehearsal takes public data, made up or "
            "published, never a queryable"
        )
    if is_private(sample):
        raise TypeError(
            "sample is the data of a queryable, or a part of them: a rehearsal shows exact values "
            "and would give them away; make up a few records instead"
        )


def _claim(mechanism: InteractiveMechanism[Any]) -> Loss | None:
    """Its own loss; a map that is wrong raises as it is, but an odometer has none."""
    try:
        return mechanism.privacy_map(1)
    except PrivacyClaimError:
        if mechanism.reports_loss:
            return None
        raise


def _statistics(mechanism: InteractiveMechanism[Any]) -> list[tuple[str, Any]]:
    kind: type = type(mechanism)
    if not attrs.has(kind):
        return []
    fields = [(each.name, getattr(mechanism, each.name)) for each in attrs.fields(kind)]
    return [pair for pair in fields if isinstance(pair[1], IntegerStatistic | Bit)]


def _heard(statistic: Any, data: Any) -> Any:
    """The exact value; what goes wrong is raised and not hidden."""
    with collecting() as faults:
        try:
            return statistic(data)
        except Exception:
            _raise_first(faults)
            raise


def _raise_first(faults: list[BaseException]) -> None:
    if faults:
        faults[0].add_note("raised in a rehearsal, on the sample; a real run would not say so")
        raise faults[0] from None
