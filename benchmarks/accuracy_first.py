"""The time of noise reduction (a thousand refinements) and of choosing by scores."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import opendp.prelude as dp

from benchmarks.measure import Row, at_most, faster, seconds
from composition import FiltCon
from mechanisms import (
    BrownianNoiseReduction,
    ExponentialMechanism,
    Open,
    PermuteAndFlip,
    Refine,
    Until,
    even_schedule,
    geometric_schedule,
)
from queryable import SYSTEM, ZCDP, Queryable, Statistic

REFINEMENTS = 1000
CELLS = 10_000
CANDIDATES = 300


def refining(statistic: Statistic, schedule: Any, *, one_query: bool) -> Callable[[], object]:
    table = Queryable(BrownianNoiseReduction() @ FiltCon(ZCDP(10**9)), np.zeros(CELLS, np.int64))

    def work() -> None:
        estimate = table(Open(statistic, schedule))
        if one_query:
            estimate(Until(never))
            return
        for _ in schedule:
            estimate(Refine())

    return work


def never(_estimate: object) -> bool:
    return False


def refinements() -> Iterator[Row]:
    scalar = Statistic(lambda _data: 5000, l1=1, l2=1)
    for name, schedule in (
        ("even steps", even_schedule(10**4, 1, REFINEMENTS)),
        ("each of another variance", geometric_schedule(10**9, 1, "1.021")[:REFINEMENTS]),
    ):
        assert len(schedule) > 0.98 * REFINEMENTS
        for how, one_query in (("one by one", False), ("until a condition", True)):
            work = refining(scalar, schedule, one_query=one_query)
            (taken,) = seconds({"": (work, 1)}, 9).values()
            text = f"{REFINEMENTS:,} refinements, {how}, {name}"
            yield Row("accuracy first", text, taken, goals=(at_most(taken, 50e-3, "50 ms"),))
    vector = Statistic(lambda data: data, l1=1, l2=1, shape=CELLS)
    for name, schedule in (
        ("even steps", even_schedule(10**6, 1, 100)),
        ("each of another variance", geometric_schedule(10**6, 1, "1.15")[:100]),
    ):
        work = refining(vector, schedule, one_query=False)
        (taken,) = seconds({"": (work, 1)}, 5).values()
        text = f"{len(schedule)} refinements of {CELLS:,} cells, {name}"
        yield Row("accuracy first", text, taken, goals=(at_most(taken, 1, "1 s"),))


def choices() -> Iterator[Row]:
    """Choices by Zipf scores, beside OpenDP's noisy maxima, which have the same distributions."""
    scores = (128_000 * np.arange(1, CANDIDATES + 1) ** -0.75 / 75).astype(np.int64)
    statistic = Statistic(lambda data: data, l1=1, l2=1, shape=CANDIDATES, monotone="up")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    for name, mechanism, measure in (
        ("exponential mechanism", ExponentialMechanism, dp.zero_concentrated_divergence()),
        ("permute and flip", PermuteAndFlip, dp.max_divergence()),
    ):
        ours = mechanism(statistic, "1/10", monotone=True)
        peer = dp.m.make_noisy_max(*space, measure, scale=10.0)
        measured = seconds(
            {
                "ours": (partial(ours.release, scores, SYSTEM), 50),
                "OpenDP": (partial(peer, scores), 10),
            }
        )
        taken, theirs = measured["ours"], measured["OpenDP"]
        yield Row(
            "accuracy first",
            f"{name}, {CANDIDATES} candidates",
            taken,
            peers={"OpenDP": theirs},
            goals=(faster(taken, theirs, "OpenDP", 1),),
        )


def rows() -> Iterator[Row]:
    yield from refinements()
    yield from choices()
