"""The time to find the strongest adversary, and the exact distribution of a view."""

from collections.abc import Iterator
from typing import Any

import attrs

from benchmarks.measure import Row, at_most, seconds
from composition import FiltCon
from mechanisms import RandomizedResponse, SparseVector
from queryable import (
    Ask,
    Coins,
    FromAnalyst,
    FromMechanism,
    Launch,
    PersonInTheMiddle,
    PureDP,
    QueryError,
    Statistic,
    ToAnalyst,
)
from queryable.audit import HockeyStick, audit, worst_case
from queryable.randomness.laws import Bernoulli
from queryable.view import View


@attrs.frozen
class Reader(PersonInTheMiddle[bool | None]):
    """Stores the mechanism's opening answer, and answers each question with it, noisy at odds 2."""

    def init(self) -> bool | None:
        return None

    def step(
        self, state: bool | None, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[bool | None, ToAnalyst]:
        match message:
            case FromMechanism(answer):
                return answer, ToAnalyst(None)
            case FromAnalyst("read"):
                return state, ToAnalyst(coins.draw(Bernoulli("2/3")) == state)
        raise QueryError("ask to 'read'")


def interleaved(horizon: int) -> Any:
    """Launch two hidden bits, each a randomized response at odds 3, into one filter; ask both."""
    hidden = Reader() @ RandomizedResponse(bool, odds=3)
    budget = PureDP(2 * hidden.privacy_map(1).epsilon)  # type: ignore[attr-defined]
    queries = (Launch(hidden), Ask(0, "read"), Ask(1, "read"))
    return worst_case(FiltCon(budget), False, True, queries, horizon, HockeyStick(0))


def searches() -> Iterator[Row]:
    for asks, horizon in (("of 8 rounds, launches included", 8), ("of 8 asks, both launched", 10)):
        found = interleaved(horizon)
        work = f"strongest adversary {asks}: two hidden bits, one filter"
        taken = seconds({"ours": (lambda h=horizon: interleaved(h), 1)}, rounds=5)["ours"]  # type: ignore[misc]
        yield Row("audit", work, taken, goals=(at_most(taken, 5, "5 s"),))
        yield Row("audit", f"  delta at epsilon 0 is {found.value}; beliefs", found.beliefs, "")


def views() -> Iterator[Row]:
    values = [Statistic(lambda data, i=i: data[i], l1=1, l2=1) for i in (0, 1, 0)]  # type: ignore[misc]

    def asking(view: View) -> Any:
        return values[len(view)] if len(view) < len(values) else None

    def run() -> Any:
        return audit(
            SparseVector(0, epsilon=4),
            [((0, 0), (1, 1))],
            adversary=asking,
            tail="1e-9",
            slack="1e-6",
        )

    assert run().holds
    taken = seconds({"ours": (run, 1)}, rounds=5)["ours"]
    yield Row("audit", "audit of a sparse vector asked 3 times, tails of 1e-9", taken)


def rows() -> Iterator[Row]:
    yield from searches()
    yield from views()
