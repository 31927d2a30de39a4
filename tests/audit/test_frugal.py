"""What a frugal person launches loses exactly what is charged, or less, for every row.

The divergence of order 2 of two discrete Gaussians of variance v whose means differ by an integer s
is s^2 / v exactly (Canonne, Kamath, Steinke 2020, Proposition 5), and adds up over independent
noise. So the loss of all launches of a stream is computed as a fraction.
"""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import FiltCon
from mechanisms import Count, Estimate, Frugal, Gaussian, GroupBy, Keys, column
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.together import GaussiansTogether
from queryable import ZCDP, Launch, Queryable, SeededCoins, ToAnalyst, ToMechanism

A, B = column("a"), column("b")
TABLE = {"a": [3, 3, 7, 12, 15, 2], "b": ["x", "y", "x", "x", "z", "y"]}
QUESTIONS = [
    Estimate(Count((A >= 2) & (A < 8)), 10, fixed_in_advance=True),
    Estimate(Count((A >= 4) & (B == "x")), 9, fixed_in_advance=True),
    Estimate(GroupBy({"b": ["x", "y"]}, Count()), 8, fixed_in_advance=True),
    Estimate(Count(B == "z"), 9, fixed_in_advance=True),
    Estimate(Count((A >= 2) & (A < 12)), 7),
    Estimate(Count((A >= 2) & (A < 8)), 5),
]
ROWS = [(a, b) for a in (1, 2, 3, 5, 7, 9, 13, 40) for b in ("x", "y", "z", "w")]


@attrs.frozen
class Watched(Frugal):
    """A frugal person that shows what it launches."""

    seen: list[Any] = attrs.field(factory=list, eq=False, kw_only=True)

    def step(self, state: Any, message: Any, coins: Any) -> tuple[Any, ToMechanism | ToAnalyst]:
        after, reply = super().step(state, message, coins)
        if isinstance(reply, ToMechanism) and isinstance(reply.query, Launch):
            self.seen.append(reply.query.mechanism)
        return after, reply


def divergence(measurement: GaussiansTogether, with_row: Any, without: Any) -> Fraction:
    """Of order 2, between the answers on two tables."""
    found = Fraction(0)
    for part in measurement.parts:
        statistic: Any = part.statistic
        moved = (statistic(with_row) - statistic(without)).reshape(-1).tolist()
        found += sum(int(each) ** 2 for each in moved) / part.variance
    return found


def the_worst_row_loses_what_is_charged(person: Watched) -> None:
    """At most twice rho, and nearly that for some row."""
    root = Queryable(person @ FiltCon(ZCDP(100)), TABLE, coins=SeededCoins(1), allow_seeded=True)
    for query in QUESTIONS:
        root.ask(query)
    charged = root.privacy_loss().rho
    lost = []
    for a, b in ROWS:
        more = {"a": [*TABLE["a"], a], "b": [*TABLE["b"], b]}
        lost.append(sum(divergence(each, more, TABLE) for each in person.seen))
    assert max(lost) <= 2 * charged
    assert max(lost) >= charged
    assert len(person.seen) >= 4


def combinations_lose_what_they_claim() -> None:
    """A matrix whose columns are longer than its rows, and one of the other kind."""
    statistic = GroupBy({"b": ["x", "y"]}, Count())
    for factor in ([[6, 0], [8, 1]], [[6, 8], [0, 1]]):
        measurement = Gaussian(Combined(statistic, [factor]), variance=100)
        for row in "xyz":
            table = {"b": [*TABLE["b"], row]}
            together = GaussiansTogether([measurement])
            assert divergence(together, table, {"b": TABLE["b"]}) <= 2 * measurement.loss(1).rho


AXES = (Keys.bins("a", range(0, 17, 4)), {"b": ["x", "y", "z"]})


@pytest.mark.parametrize("axes", [(), AXES], ids=["untold", "told"])
def test_a_stream_loses_what_is_charged(axes: Any) -> None:
    the_worst_row_loses_what_is_charged(Watched(axes=axes))


def test_combinations_lose_what_they_claim() -> None:
    combinations_lose_what_they_claim()
