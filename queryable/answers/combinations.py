"""Sums of multiples of answers, and quotients, with their intervals.

Responsible for which intervals hold where the same noise enters several times, or where a question
may have depended on an earlier answer. Reads no data.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf, prod
from typing import Any, NamedTuple, TypeAlias

import attrs
import numpy as np

from queryable.answers.estimates import Axis, LabelledEstimate
from queryable.answers.evidence import Evidence
from queryable.answers.near import FOR_RANGES, Near, quotient_interval
from queryable.answers.notes import of_terms
from queryable.answers.values import Value, total
from queryable.losses.numbers import shown
from queryable.wording.quoting import quoted


class Computed(NamedTuple):
    """What is computed from answers: an estimate, its keys, its title and its evidence."""

    estimate: Value
    axes: tuple[Axis, ...]
    title: str
    evidence: Evidence


Term: TypeAlias = tuple[Fraction, LabelledEstimate]
Terms: TypeAlias = tuple[Term, ...]


@attrs.frozen
class Combination(Evidence):
    """A sum of multiples of answers.

    Terms that are computed from the noise of one release have the interval of their sum. Otherwise,
    by the union bound, intervals that hold with probability 1 - p / n each, of n such groups, hold
    at once with probability 1 - p, whether or not the errors are independent: what was asked
    later, and how accurately, may depend on earlier answers.

    Attributes:
        terms: a factor, which is not 0, and an answer.
    """

    terms: Terms = attrs.field()

    @terms.validator
    def _some(self, attribute: object, terms: Terms) -> None:
        if not terms or not all(factor for factor, _ in terms):
            raise ValueError("a combination has terms with factors that are not 0")

    @property
    def most(self) -> Fraction | None:  # type: ignore[override]
        """The confidence at which all of the groups have an interval."""
        each = [answer.evidence.most for _, answer in self.terms]
        if any(most is None for most in each):
            return None
        most = 1 - len(self.terms) * (1 - min(most for most in each if most is not None))
        return most if most > 0 else None

    @property
    def sources(self) -> tuple[Any, ...]:
        """Those of the terms, if all of them have some."""
        each = [answer.evidence.sources for _, answer in self.terms]
        return sum(each, ()) if all(each) else ()

    def notes(self, estimate: Any) -> tuple[str, ...]:
        """Those of the answers."""
        return of_terms([(answer.title, answer.notes) for _, answer in self.terms])

    def near(self, missed: Fraction) -> Near | None:
        """The sum, if all terms are known."""
        return _near(self.terms, missed)

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The sum of the intervals of groups of terms with the same noise, rounded outward."""
        return self._ends(_groups(self.terms), confidence, simultaneous, joint=False)

    def fixed_in_advance(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The interval if all terms and their noise were fixed before the first was answered."""
        known = [term for term in self.terms if term[1].evidence.sources]
        others = [[term] for term in self.terms if not term[1].evidence.sources]
        groups = [known, *others] if known else others
        return self._ends(groups, confidence, simultaneous, joint=True)

    def _ends(
        self,
        groups: Sequence[Sequence[Term]],
        confidence: Fraction,
        simultaneous: bool,
        *,
        joint: bool,
    ) -> tuple[Value, Value]:
        each = 1 - (1 - confidence) / len(groups)
        found = [_ends_of(group, each, simultaneous, joint=joint) for group in groups]
        low = total([(factor, ends[0 if factor > 0 else 1]) for factor, ends in found], -inf)
        high = total([(factor, ends[1 if factor > 0 else 0]) for factor, ends in found], inf)
        return low, high


def _groups(terms: Terms) -> list[list[Term]]:
    """The terms by what they are computed from: those of one release are together."""
    groups: list[tuple[set[int], list[Term]]] = []
    for term in terms:
        names = {id(each) for each in term[1].evidence.sources}
        together = [group for group in groups if group[0] & names]
        merged = names.union(*(group[0] for group in together))
        of = [each for group in together for each in group[1]]
        groups = [group for group in groups if not group[0] & names]
        groups.append((merged, [*of, term]))
    return [of for _, of in groups]


def _near(terms: Sequence[Term], missed: Fraction) -> Near | None:
    found: Near | None = None
    for factor, answer in terms:
        near = answer.evidence.near(missed / len(terms))
        if near is None:
            return None
        near = near.times(factor)
        found = near if found is None else found.plus(near)
    return found


def _ends_of(
    terms: Sequence[Term], confidence: Fraction, simultaneous: bool, *, joint: bool
) -> tuple[Fraction, tuple[Value, Value]]:
    """A factor, and the interval that it is for."""
    if len(terms) == 1:
        [(factor, answer)] = terms
        return factor, answer.interval(confidence, simultaneous=simultaneous)
    missed = 1 - confidence
    near = _near(terms, missed * FOR_RANGES)
    assert near is not None
    many = max(np.size(near.low), 1) if simultaneous else 1
    if many > 1:
        near = _near(terms, missed * FOR_RANGES / many)
        assert near is not None
    low, high = near.interval(missed * (1 - FOR_RANGES) / many, joint=joint)
    return Fraction(1), (low, high) if np.ndim(low) else (float(low), float(high))


def combined(terms: Sequence[Term]) -> Computed:
    """A sum of multiples of answers with equal keys, or of answers and single numbers.

    Raises:
        ValueError: the keys differ.
    """
    flat: list[Term] = []
    for factor, answer in terms:
        inner = answer.evidence
        parts = inner.terms if isinstance(inner, Combination) else ((Fraction(1), answer),)
        flat += [(factor * each, one) for each, one in parts]
    flat = _merged(flat)
    axes = [answer.axes for _, answer in flat if answer.axes]
    if any(each != axes[0] for each in axes):
        raise ValueError(
            f"give answers with equal keys: these have {quoted(axes[0])} and {quoted(axes[-1])}; "
            "or compute with .estimate"
        )
    estimate = total([(factor, answer.estimate) for factor, answer in flat])
    evidence = Combination(tuple(flat))
    return Computed(estimate, axes[0] if axes else (), _title(flat), evidence)


def _merged(terms: list[Term]) -> list[Term]:
    """The terms with each answer once, unless nothing would be left."""
    factors: dict[int, Fraction] = {}
    for factor, answer in terms:
        factors[id(answer)] = factors.get(id(answer), Fraction(0)) + factor
    answers = {id(answer): answer for _, answer in terms}
    return [(factor, answers[key]) for key, factor in factors.items() if factor] or terms


def _title(terms: Sequence[Term]) -> str:
    parts: list[str] = []
    for factor, answer in terms:
        sign = ("minus" if factor < 0 else "plus") if parts else ("-" if factor < 0 else "")
        size = "" if abs(factor) == 1 else f"{shown(abs(factor))} * "
        parts.append(f"{sign} {size}{answer.title}" if parts else f"{sign}{size}{answer.title}")
    return " ".join(parts)


@attrs.frozen
class Quotient(Evidence):
    """The quotient of two answers, which has the interval of Fieller (1954)."""

    top: LabelledEstimate
    bottom: LabelledEstimate

    @property
    def most(self) -> Fraction | None:  # type: ignore[override]
        """1, or None if one of the answers does not say how noise moves it."""
        known = all(each.evidence.sources for each in (self.top, self.bottom))
        return Fraction(1) if known else None

    def notes(self, estimate: Any) -> tuple[str, ...]:
        """Those of the answers."""
        return of_terms([(each.title, each.notes) for each in (self.top, self.bottom)])

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """All quotients that the answers do not refute; infinite where the bottom may be 0.

        Raises:
            ValueError: an answer does not say how noise moves it.
        """
        return self._ends(confidence, simultaneous=simultaneous, joint=False)

    def fixed_in_advance(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The interval if both and their noise were fixed before the first was answered."""
        return self._ends(confidence, simultaneous=simultaneous, joint=True)

    def _ends(
        self, confidence: Fraction, *, simultaneous: bool, joint: bool
    ) -> tuple[Value, Value]:
        shape = np.broadcast_shapes(np.shape(self.top.estimate), np.shape(self.bottom.estimate))
        missed = (1 - confidence) / (max(prod(shape), 1) if simultaneous else 1)
        for_ranges = missed * FOR_RANGES / 2
        top, bottom = (each.evidence.near(for_ranges) for each in (self.top, self.bottom))
        if top is None or bottom is None:
            raise ValueError("read .estimate: nothing is known about the error of this quotient")
        rest = missed * (1 - FOR_RANGES)
        low, high = quotient_interval(top, bottom, rest, joint=joint)
        return (low, high) if np.ndim(low) else (float(low), float(high))


def divided(top: LabelledEstimate, bottom: LabelledEstimate) -> Computed:
    """The quotient of two answers.

    Raises:
        ValueError: the keys differ.
    """
    if top.axes and bottom.axes and top.axes != bottom.axes:
        raise ValueError(
            f"give answers with equal keys: these have {quoted(top.axes)} and "
            f"{quoted(bottom.axes)}; or compute with .estimate"
        )
    with np.errstate(all="ignore"):
        estimate = np.divide(
            np.asarray(top.estimate, dtype=float), np.asarray(bottom.estimate, dtype=float)
        )
    return Computed(
        estimate if estimate.ndim else float(estimate),
        top.axes or bottom.axes,
        f"{top.title} divided by {bottom.title}",
        Quotient(top, bottom),
    )
