"""Rehearsals: a mechanism runs on public sample data, and every error is shown.

Responsible for finding an analyst's bugs before a launch is charged. A rehearsal is not private: it
has no budget, hides no error and shows the exact values of statistics. The sample must be public,
made up or published, and never a part of the private data.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import attrs

from queryable.answers.half_widths import half_width
from queryable.answers.released import Released
from queryable.checks.datasets import is_private, protected
from queryable.checks.fit import require_answerable
from queryable.checks.scales import accuracy
from queryable.conversation.stepping import advance, begin
from queryable.display.ledger import LedgerRow, LedgerRows
from queryable.errors import PrivacyClaimError
from queryable.faults import collecting
from queryable.handle import Queryable
from queryable.losses import Loss
from queryable.losses.numbers import several
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Query
from queryable.optional import added_noise, public_name
from queryable.randomness.coins import SYSTEM
from queryable.statistics import Bit, IntegerStatistic
from queryable.view import Exchange, View
from queryable.wording.quoting import quoted


@attrs.frozen
class Rehearsal:
    """The run of a mechanism on a public sample. It is not private: it holds exact values.

    Attributes:
        mechanism: the public name.
        claim: the charge at d_in=1 in the mechanism's own measure; None for an odometer.
        values: the exact values of the mechanism's statistics, by field, before noise.
        opening: the opening answer; for a measurement its answer.
        answers: the answers to the queries.
        within: the half-width of the 95% confidence interval of the answer, where it is known, in
            the units of the answer.
    """

    mechanism: str
    claim: Loss | None
    values: dict[str, Any]
    opening: Any
    answers: tuple[Any, ...]
    within: int | float | None

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
        sample: public data. The result is not private, so never pass the real data or a part of
            them. The data of a running queryable are refused.
        queries: the queries to an interactive mechanism. An `Update` among them is a batch.

    Raises:
        TypeError: the sample is a queryable, its data, or a view or ledger of one.
        Exception: any exception of the mechanism, a statistic or a predicate, unchanged. A real
            run would hide it.
    """
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
    _require_public(sample)
    data = protected(sample)
    require_answerable(data, mechanism)
    claim = _claim(mechanism)
    values = {name: _exact_value(each, data) for name, each in _statistics(mechanism)}
    answers, asked = [], several(queries, "queries")
    with collecting() as faults:
        state, opening = begin(mechanism, data, SYSTEM)
        _raise_first(faults)
        for message, query in enumerate(asked, 1):
            state, answer = advance(mechanism, state, query, SYSTEM, message)
            _raise_first(faults)
            answers.append(answer)
    within, noise = None, added_noise(mechanism)
    if isinstance(opening, Released):
        with suppress(TypeError):
            within = accuracy(mechanism)
    elif noise is not None:
        within = half_width(noise.law, "0.95")
    return Rehearsal(public_name(mechanism), claim, values, opening, tuple(answers), within)


def _require_public(sample: Any) -> None:
    private = Queryable | View | Exchange | LedgerRows | LedgerRow
    if isinstance(sample, private):
        raise TypeError(
            f"sample is a {type(sample).__name__}; a rehearsal takes public data, made up or "
            "published, never a queryable"
        )
    if is_private(sample):
        raise TypeError(
            "make up a few records: the sample is the data of a queryable, or a part of them, and "
            "a rehearsal would show their exact values"
        )


def _claim(mechanism: InteractiveMechanism[Any]) -> Loss | None:
    """The mechanism's own loss, None for an odometer. Errors of a privacy map are raised."""
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


def _exact_value(statistic: Any, data: Any) -> Any:
    """The exact value of a statistic; exceptions are raised and not hidden."""
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
