"""Noise: vectors and single draws, beside numpy's insecure floats and OpenDP's integers."""

from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

import numpy as np
import opendp.prelude as dp
from scipy.stats import ks_2samp

from benchmarks.measure import Goal, Row, at_most, faster, seconds
from mechanisms import Gaussian, Laplace
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import SYSTEM, Statistic

N = 1_000_000
FEWER = 20_000  # length of OpenDP's vectors; its time per number does not depend on the length
SCALES = (1, 10, 1_000, 1_000_000)


def opendp_vector(kind: str, scale: float) -> Any:
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "Laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)


def vectors() -> Iterator[Row]:
    """A million draws. numpy's functions return floats; OpenDP adds noise to integers."""
    generator = np.random.default_rng()
    zeros = np.zeros(FEWER, dtype=np.int64)
    for kind in ("Laplace", "Gaussian"):
        for scale in SCALES:
            law: Any = DiscreteLaplace(scale) if kind == "Laplace" else DiscreteGaussian(scale**2)
            float_noise = generator.laplace if kind == "Laplace" else generator.normal
            measured = seconds(
                {
                    "ours": (lambda law=law: SYSTEM.draw(law, N), 1),
                    "numpy": (lambda draw=float_noise, s=scale: draw(0, s, N), 1),
                }
            )
            peer = opendp_vector(kind, scale)
            (taken,) = seconds({"OpenDP": (lambda peer=peer: peer(zeros), 1)}, 3).values()
            ours, theirs = measured["ours"] / N, taken / FEWER
            yield Row(
                "noise",
                f"{kind} vector, scale {scale:,}: a draw",
                ours,
                peers={"numpy": measured["numpy"] / N, "OpenDP": theirs},
                goals=(
                    faster(ours, measured["numpy"] / N, "numpy", 0.5),
                    faster(ours, theirs, "OpenDP", 100),
                ),
            )


def mechanisms() -> Iterator[Row]:
    """The same complete work as OpenDP's: an integer vector in, a noisy one out."""
    values, fewer = np.zeros(N, dtype=np.int64), np.zeros(FEWER, dtype=np.int64)
    statistic = Statistic(lambda data: data, l1=1, l2=1, shape=N)
    for kind, mechanism in (
        ("Laplace", Laplace(statistic, scale=1000)),
        ("Gaussian", Gaussian(statistic, scale=1000)),
    ):
        peer = opendp_vector(kind, 1000)
        ours = seconds({"": (lambda m=mechanism: m.release(values, SYSTEM), 1)})[""] / N
        theirs = seconds({"": (lambda peer=peer: peer(fewer), 1)}, 3)[""] / FEWER
        yield Row(
            "noise",
            f"{kind} mechanism on a vector: an entry",
            ours,
            peers={"OpenDP": theirs},
            goals=(faster(ours, theirs, "OpenDP", 100),),
        )


def scalars() -> Iterator[Row]:
    for kind, law in (
        ("Laplace", DiscreteLaplace(1000)),
        ("Gaussian", DiscreteGaussian(1_000_000)),
    ):
        space = (
            dp.atom_domain(T="i64"),
            dp.absolute_distance(T="i64" if kind == "Laplace" else float),
        )
        peer = (dp.m.make_laplace if kind == "Laplace" else dp.m.make_gaussian)(
            *space, scale=1000.0
        )
        for _ in range(1000):
            SYSTEM.draw(law)
        measured = seconds(
            {
                "cold": (lambda law=law: law.sample(SYSTEM), 500),
                "warm": (lambda law=law: SYSTEM.draw(law), 5000),
                "OpenDP": (lambda peer=peer: peer(0), 100),
            }
        )
        peers = {"OpenDP": measured["OpenDP"]}
        for how, limit in (("cold", 10), ("warm", 2)):
            ours = measured[how]
            goals = (at_most(ours, limit * 1e-6, f"{limit} us"),)
            yield Row("noise", f"one {kind} draw, {how}", ours, peers=peers, goals=goals)


def independence() -> Iterator[Row]:
    """Compare the times of small and large pooled draws (Kolmogorov-Smirnov distance)."""
    law = DiscreteLaplace(1000)
    taken = []
    for _ in range(90_000):
        began = perf_counter_ns()
        value = SYSTEM.draw(law)
        taken.append((perf_counter_ns() - began, abs(value)))
    times, sizes = np.array(taken).T
    low, high = np.quantile(sizes, [1 / 3, 2 / 3])
    distance = ks_2samp(times[sizes <= low], times[sizes >= high]).statistic
    goal = Goal("<= 0.05", bool(distance <= 0.05))
    yield Row("noise", "KS of pooled draws' times, small and large", distance, "", goals=(goal,))


def rows() -> Iterator[Row]:
    yield from vectors()
    yield from mechanisms()
    yield from scalars()
    yield from independence()
