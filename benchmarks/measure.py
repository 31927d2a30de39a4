"""Medians of timed batches, and rows of a table with their goals.

Times are processor times, not wall-clock times, so other programs on the machine do not count. All
measured work runs in one thread. The batches of the parties of a row alternate, so that a slow
minute affects all of them. A *party* is this library or a peer, such as OpenDP.
"""

import gc
from collections.abc import Callable
from statistics import median
from time import process_time

import attrs

Work = Callable[[], object]
ROUNDS = 15


def seconds(parties: dict[str, tuple[Work, int]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median over rounds of the seconds per call.

    `parties` maps a name to its work and to the number of calls in a round.
    """
    times: dict[str, list[float]] = {name: [] for name in parties}
    gc.collect()
    gc.disable()
    try:
        for work, _ in parties.values():
            work()
        for _ in range(rounds):
            for name, (work, count) in parties.items():
                began = process_time()
                for _ in range(count):
                    work()
                times[name].append((process_time() - began) / count)
    finally:
        gc.enable()
    return {name: median(taken) for name, taken in times.items()}


@attrs.frozen
class Goal:
    """The goal of a row, and whether it was met."""

    text: str
    met: bool


def at_most(value: float, limit: float, shown: str) -> Goal:
    return Goal(f"<= {shown}", value <= limit)


def faster(ours: float, theirs: float, than: str, times: float) -> Goal:
    ratio = theirs / ours
    return Goal(f">= {times:g}x {than} ({ratio:.3g}x)", ratio >= times)


@attrs.frozen
class Row:
    """One line of the table: our value, the values of peers, and the goals."""

    group: str
    work: str
    ours: float
    unit: str = "s"
    peers: dict[str, float] = attrs.field(factory=dict)
    goals: tuple[Goal, ...] = ()

    def shown(self, value: float) -> str:
        if self.unit != "s":
            return f"{value:.3g} {self.unit}".strip()
        for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
            if value >= size:
                return f"{value / size:.3g} {unit}"
        return f"{value * 1e9:.3g} ns"


def line(row: Row) -> str:
    peers = ", ".join(f"{name} {row.shown(value)}" for name, value in row.peers.items())
    goals = "; ".join(f"{'ok' if goal.met else 'MISSED'} {goal.text}" for goal in row.goals)
    return f"{row.work:56} {row.shown(row.ours):>10}   {peers:32} {goals}"
