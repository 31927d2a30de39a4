"""The report of a check on neighbours, and its page for the owner of the data."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import attrs

from queryable.audit.neighbours.findings import Findings, Worst

_LINES = 40


@attrs.frozen
class NeighbourReport:
    """What a check of an analysis on neighbours of its data has found. Print it to read it.

    It was made with the data and without a charge, and quotes records: it is for their owner.

    Attributes:
        neighbours: how many neighbours the analysis was held on.
        messages: how many messages the analysis has, its start included.
        steps, leaves, readings: how many messages, steps that read the data, and functions of the
            data were compared, over all neighbours.
        worst: for each statistic, mechanism and account the worst that was found.
        broken: what is beyond a claim, the smallest examples first.
        unchecked: what could not be checked, with the reason.
        renewed: how many messages were held with new noise, because the noise of their answers is
            not known.
    """

    neighbours: int
    messages: int
    steps: int
    leaves: int
    readings: int
    worst: tuple[Worst, ...]
    broken: tuple[Worst, ...]
    unchecked: Mapping[str, str]
    renewed: int

    @classmethod
    def of(
        cls, findings: Findings, *, neighbours: int, messages: int, renewed: int
    ) -> "NeighbourReport":
        """The report of what was found."""
        worst = sorted(findings.worst.values(), key=lambda each: (-each.ratio, each.what))
        broken = sorted(findings.beyond.values(), key=lambda each: each.rank)
        counted = findings.steps, findings.leaves, findings.readings
        return cls(
            neighbours,
            messages,
            *counted,
            tuple(worst),
            tuple(broken),
            dict(findings.unchecked),
            renewed,
        )

    @property
    def holds(self) -> bool:
        """Whether nothing is beyond a claim. It is no proof: other neighbours were not tried."""
        return not self.broken

    @property
    def smallest(self) -> Worst | None:
        """The smallest example of something that is beyond a claim; None if there is none."""
        return self.broken[0] if self.broken else None

    @property
    def ratio(self) -> float:
        """The largest change over what is claimed: at most 1 if everything holds."""
        return max((each.ratio for each in self.worst), default=0.0)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        tried = _count(self.neighbours, "neighbour")
        if not (self.worst or self.broken):
            yield f"Nothing was asked that reads the data: no claim was compared on {tried}."
        elif self.holds:
            yield f"No claim is exceeded on {tried} of the data."
        else:
            yield f"CLAIMS ARE EXCEEDED, on {tried} of the data."
            yield "Smallest example:"
            yield f"  {self.smallest}"
            others = {(each.what, each.measure): each for each in reversed(self.broken)}
            others.pop((self.broken[0].what, self.broken[0].measure))
            if others:
                yield "Also beyond a claim:"
                yield from (f"  {each}" for each in [*others.values()][:_LINES])
        yield ""
        yield (
            f"{_count(self.messages, 'message')} of the analysis were held again on each of them: "
            f"{self.steps:,} in all, with {_count(self.leaves, 'step')} that read the data and "
            f"{self.readings:,} evaluations that were compared."
        )
        if self.renewed:
            one = self.renewed == 1
            yield (
                f"{_count(self.renewed, 'message')} {'was' if one else 'were'} held with new "
                "noise: the noise of the first answer is not kept."
            )
        yield from self._table()
        yield from self._left_out()
        yield ""
        yield "This page was made with the data, free of charge, and quotes records: keep it to "
        yield "those who may see the data. It tried these neighbours and is no proof for others."

    def _table(self) -> Iterator[str]:
        shown: dict[str, Worst] = {}
        for each in self.worst:  # the worst measure of each
            shown.setdefault(each.what, each)
        if not shown:
            return
        yield ""
        yield "Worst change over what is claimed (1 is tight, more is a violation):"
        rows = [*shown.values()]
        for each in rows[:_LINES]:
            ratio = f"{each.ratio:.3f}" if isfinite(each.ratio) else "inf"
            yield f"  {ratio:>7}  {each.measure:<8} {_short(each.what)}"
        if len(rows) > _LINES:
            yield f"  and {len(rows) - _LINES} more, none of them worse"

    def _left_out(self) -> Iterator[str]:
        if not self.unchecked:
            return
        yield ""
        yield "Not checked:"
        yield from (f"  {_short(what)}: {why}" for what, why in self.unchecked.items())


def _short(text: Any) -> str:
    text = str(text)
    return text if len(text) <= 90 else f"{text[:87]}..."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
