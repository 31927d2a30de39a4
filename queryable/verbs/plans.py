"""Plans of releases: questions with the accuracy and the cost of each, before any is asked.

Responsible for the value that `composition.advice.plan` makes and `release_many` runs, and for how
it is shown. It computes no costs and reads no data.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs

from queryable.answers.released import Released
from queryable.checks.affordable import in_digits
from queryable.losses import Loss
from queryable.mechanism import Measurement
from queryable.optional import END_OF_NAME, LONGEST_NAME, one_line, public_name
from queryable.statistics import IntegerStatistic, Releasable

_HEADER = ("question", "±", "share", "cost")


@attrs.frozen
class PlannedRelease:
    """One question of a plan.

    Attributes:
        question: the statistic.
        name: the name of its launch; None if it has none.
        measurement: what is launched.
        within: the half-width of its interval, in its own units; None if that depends on the data,
            and is known with the answer.
        share: its part of the budget, or of what all questions need if accuracies were given; None
            where that is no number.
        cost: its charge.
    """

    question: Releasable
    name: str | None
    measurement: Measurement[Released] = attrs.field(repr=False)
    within: Fraction | None
    share: Fraction | None
    cost: Loss

    @property
    def asked(self) -> str:
        """The whole question, on one line."""
        asked = self.question
        text = asked.asked if isinstance(asked, IntegerStatistic) else public_name(asked)
        return one_line(text, LONGEST_NAME, END_OF_NAME)

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The question, its half-width, its share and its cost, as text."""
        asked = self.asked
        within = "not known yet" if self.within is None else f"±{in_digits(self.within)}"
        share = "" if self.share is None else f"{float(100 * self.share):.3g}%"
        return f"{self.name}: {asked}" if self.name else asked, within, share, str(self.cost)


@attrs.frozen
class ReleasePlan:
    """Questions that share a budget; `table.release_many(plan)` asks them.

    Attributes:
        budget: the budget that it is planned for.
        rows: the questions.
        confidence: that of each half-width.
        needs: the least budget that pays for all of them.
        fits: whether `budget` does.
    """

    budget: Loss
    rows: tuple[PlannedRelease, ...]
    confidence: Fraction
    needs: Loss
    fits: bool

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PlannedRelease]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> PlannedRelease:
        return self.rows[place]

    @property
    def summary(self) -> str:
        """What all questions need, and whether that fits."""
        verdict = "within" if self.fits else "more than"
        return (
            f"together {self.needs}, {verdict} the budget {self.budget}; "
            f"± at {float(100 * self.confidence):g}%"
        )

    def __str__(self) -> str:
        lines = [_HEADER, *(row.cells for row in self.rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(_HEADER))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*table, self.summary])

    def _repr_html_(self) -> str:
        from html import escape

        from queryable.display.spreadsheet import as_html

        table = as_html(_HEADER, [row.cells for row in self.rows])
        return f"{table}<small>{escape(self.summary)}</small>"

    def to_pandas(self) -> Any:
        """Return a data frame with a row for each question; pandas must be installed."""
        import pandas as pd

        numbers = {
            "within": [None if row.within is None else float(row.within) for row in self.rows],
            "share": [None if row.share is None else float(row.share) for row in self.rows],
        }
        texts = {
            "question": [row.asked for row in self.rows],
            "name": [row.name for row in self.rows],
        }
        cost = [str(row.cost) for row in self.rows]
        return pd.DataFrame({**texts, **numbers, "cost": cost})
