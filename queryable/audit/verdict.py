"""The verdict of an audit: its findings, and their text. `methods` computes them."""

from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from itertools import islice
from math import inf
from typing import Any

import attrs

from queryable.audit.claims import Check
from queryable.audit.divergences import Bound
from queryable.audit.statistical import Separation
from queryable.audit.views.strategies import Strategy
from queryable.losses import Loss
from queryable.losses.numbers import shown
from queryable.mechanism import InteractiveMechanism
from queryable.view import Adversary

_LINES = 40
_FEW = 6


class Outcome(Enum):
    """The possible results of an audit or of one check."""

    HOLDS = "holds"
    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"


@attrs.frozen
class Finding:
    """One check of one ordered pair: bounds on the divergence of the view under x from x'."""

    x: Any
    x_prime: Any
    check: Check
    below: Bound
    above: Bound | None
    """None for samples, which give a lower bound only."""
    outcome: Outcome
    missed: Fraction = Fraction(0)
    """The mass of tails that `above` leaves out; it counts as delta."""
    adversary: Adversary | None = None
    event: Separation | None = None
    views: tuple[Any, ...] = ()
    """For exact laws: the views in the event that best distinguishes x from x'."""
    epsilon: Bound | None = None
    """For exact laws: the least epsilon at the claimed delta. For a search that refutes pure DP:
    the least epsilon that holds for all adversaries."""

    @property
    def strain(self) -> Bound:
        """The proven excess of the divergence over its bound; negative if it is not exceeded."""
        return self.below - self.check.bound

    def __str__(self) -> str:
        sides = f"x={short(self.x)}, x'={short(self.x_prime)}"
        if self.above is None or self.above < self.below:  # the tails hold the rest
            measured = f"is at least {_value(self.below)}"
        elif self.above == self.below or _close(self.below, self.above):
            measured = f"is {_value(self.above)}"
        else:
            measured = f"is between {_value(self.below)} and {_value(self.above)}"
        tails = f", excluding tails of mass {_value(self.missed)}" if self.missed else ""
        claimed = f"claimed at most {_value(self.check.bound)}"
        if self.epsilon is not None:
            tails += f"; the least epsilon at that delta is {_value(self.epsilon)}"
        return f"{self.outcome.value}: {self.check}, {sides}: {claimed}, {measured}{tails}"


@attrs.frozen
class Verdict:
    """The result of an audit. Print it to read the worst finding of each check and the witness.

    `holds` and `refuted` are proved, except that a refutation by samples is wrong with probability
    at most 1 - confidence. `holds` covers the given pairs, queries and horizon only.
    """

    mechanism: InteractiveMechanism[Any]
    claim: Loss
    d_in: int
    method: str
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """REFUTED if any check is refuted; HOLDS if all checks hold; otherwise NOT_REFUTED."""
        found = {finding.outcome for finding in self.findings}
        if Outcome.REFUTED in found:
            return Outcome.REFUTED
        return Outcome.HOLDS if found == {Outcome.HOLDS} else Outcome.NOT_REFUTED

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return self.outcome is Outcome.HOLDS

    @property
    def refuted(self) -> bool:
        """Whether some check is refuted, so that the claim is false."""
        return self.outcome is Outcome.REFUTED

    @property
    def witness(self) -> Finding | None:
        """The refuted finding with the largest excess over its bound, or None."""
        refuted = [each for each in self.findings if each.outcome is Outcome.REFUTED]
        return max(refuted, key=lambda each: each.strain, default=None)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.outcome.value}: {short(self.mechanism)} is {self.claim} at d_in={self.d_in}"
        yield f"  by {self.method}"
        worst: dict[Check, Finding] = {}
        for finding in self.findings:
            known = worst.get(finding.check)
            if known is None or finding.strain > known.strain:
                worst[finding.check] = finding
        yield from (f"  {finding}" for finding in worst.values())
        witness = self.witness
        if witness is None:
            return
        if witness.event is not None:
            event, found = witness.event.event, witness.event
            below, above = _value(found.at_least), _value(found.at_most)
            epsilon, delta = _value(found.epsilon), shown(found.point[1])
            yield f"  witness: the event [{event}], with probability at least {below}"
            yield f"  under x and at most {above} under x'; so epsilon is at least"
            yield f"  {epsilon} at delta={delta}"
        if witness.views:
            few = ", ".join(short(view) for view in witness.views[:_FEW])
            more = f", and {len(witness.views) - _FEW} more" if len(witness.views) > _FEW else ""
            yield f"  witness: the event that the answers are {few}{more}"
        if isinstance(witness.adversary, Strategy):
            yield "  witness: the adversary with these queries after each answer"
            lines = list(islice(witness.adversary.lines(), _LINES + 1))
            yield from (f"    {line}" for line in lines[:_LINES])
            if len(lines) > _LINES:
                yield "    ... and more"


def short(value: Any) -> str:
    """Return the repr of a value, shortened to at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _close(below: Bound, above: Bound) -> bool:
    return above < inf and above - below <= Fraction(1, 10**6) * above


def _value(bound: Bound) -> str:
    return shown(bound) if isinstance(bound, Fraction) else str(bound)
