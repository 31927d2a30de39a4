"""What messages of analysts cost a served curator: `python -m tests.guard.efforts` searches.

Every tag that an analyst may send is put into messages with its sizes at the limits, to roots and
to what runs in them. No message, admitted or not, may take 2 s of processor time, 200 MB, or 100
times its bytes of the ledger.
"""

import os
import sys

from mechanisms.multiplicative_weights import SyntheticHistogram
from mechanisms.refinement.refine_queries import Latest
from mechanisms.tables.spans.ranges import Ranges
from queryable.messages import AskMany, LaunchMany
from queryable.streams.blocks import BlockLossQuery, BlocksQuery

# Before numpy is loaded, as the workers of a curator have it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import composition as c
import mechanisms as m
import queryable as q
from curator.codec import CODEC, encode
from curator.codec.analysts import ANALYST_TAGS
from curator.service.answering.lengths import MessageLimits, expected, require_short
from queryable.errors import CodecError, QueryError
from tests.encoded import values
from tests.guard.costs import AGE, CITY, Cost, Sent, costs_of

LAW = m.TruncatedNegativeBinomial(1, "1/1000")
OFTEN = m.TruncatedNegativeBinomial(1, "1/400")
SIZES = (1, 900, 10_000, 160_000, 1_000_000)
NUMBERS = [Fraction(each) for each in ("1/7", 100, 10**9, 10**15, 10**30, 10**60, 10**150, 10**300)]
NUMBERS += [1 / each for each in NUMBERS[2:]] + [Fraction(10**200, 7**150)]
LARGE = 10**9


def grouped(cells: int, of: Any = None) -> Any:
    """Counts of so many groups, of two columns."""
    side = round(cells**0.5)
    return m.GroupBy([{"age": range(side)}, {"b": range(side)}], of or m.Count())


def launches() -> Iterator[Any]:
    """Measurements with sizes at the limits."""
    for cells in SIZES:
        for statistic in (
            grouped(cells),
            m.Histogram("age", range(min(cells, 900))),
            Ranges({"age": range(min(cells, 900))}),
            m.GroupBy({"age": range(900)}, m.Mean("b", 0, 10**9)),
        ):
            for number in NUMBERS:
                yield lambda s=statistic, n=number: m.Gaussian(s, variance=n)
                yield lambda s=statistic, n=number: m.Laplace(s, scale=n)
                yield lambda s=statistic, n=number: m.ExponentialMechanism(s, n)
                yield lambda s=statistic, n=number: m.PermuteAndFlip(s, n)
                for k in (3, 100, 900):
                    yield lambda s=statistic, n=number, k=k: m.TopK(s, n, k=k)
    for cells in SIZES:
        for rho in (1, Fraction(1, 10**60)):
            for statistic in (grouped(cells), grouped(cells, m.Mean("b", 0, 9))):
                yield lambda s=statistic, r=rho: s.measurement(q.ZCDP, 1, loss=q.ZCDP(r))
    for number in NUMBERS:
        for keys in (10, 900):
            yield lambda n=number, k=keys: m.Quantiles("age", ["1/2"] * 1, range(k)).measurement(
                q.PureDP, 1, loss=q.PureDP(n), confidence="0.95"
            )
            yield lambda n=number, k=keys: m.Top("age", k, range(k)).measurement(
                q.PureDP, 1, loss=q.PureDP(n)
            )
        yield lambda n=number: m.SparseVector(3, epsilon=n, cutoff=10**6)
        yield (
            lambda n=number: (
                m.RandomizedResponse("b", 2, n) if hasattr(m, "RandomizedResponse") else None
            )
        )
    for each in values():
        if isinstance(each, q.InteractiveMechanism) and CODEC.tag_of(type(each)) in ANALYST_TAGS:
            yield lambda e=each: e


def launched() -> Iterator[tuple[str, Any]]:
    """The launches, each with the name of what it launches; also the best of many runs of each."""
    for make in launches():
        with suppress(Exception):
            each = make()
            name = type(each).__name__
            yield name, q.Launch(each)
            if isinstance(each, q.Measurement) and not isinstance(each, m.Best):
                with suppress(Exception):
                    of = 0 if isinstance(each, m.TopK | m.Laplace) and each.has_number(0) else None
                    yield f"Best of {name}", q.Launch(m.Best([each], "largest", LAW, of=of))


def nearest(count: int, seed: int = 1) -> tuple[list[Sent], int]:
    """The launches that are admitted and nearest to a limit, as many others, and how many are not.

    Args:
        count: how many for each limit, and of the others.
    """
    found, refused, allowed = list[tuple[Fraction, Fraction, str, str]](), 0, MessageLimits()
    for name, query in launched():
        try:
            text = str(encode(query), "ascii")
            require_short(len(text), query, allowed)
        except (CodecError, QueryError):
            refused += 1
            continue
        takes = expected(query)
        growth = Fraction(takes.characters, allowed.growth * len(text))
        found.append((takes.steps / allowed.steps, growth, name, text))
    chosen = dict[str, Sent]()
    others = Random(seed).sample(found, min(count, len(found)))
    for limit in (0, 1):
        for _, _, name, text in [*sorted(found, key=lambda e: -e[limit])[:count], *others]:
            for place in ("zCDP", "pure", "approximate"):
                chosen[place + text] = Sent(name, text, place)
    return [*chosen.values()], refused


def _filter(loss: Any = q.ZCDP, most: Any = LARGE) -> Any:
    return c.FiltCon(loss(most))


def _gaussian(of: Any = None) -> Any:
    return q.Launch(m.Gaussian(of or m.Count(AGE >= 30), variance=10**6))


def _ranges(keys: int) -> Any:
    return _gaussian(Ranges({"age": range(keys)}))


def _laplace() -> Any:
    return q.Launch(m.Laplace(m.Count(), scale=10**6))


def _estimates(count: int) -> list[Any]:
    return [m.Estimate(m.Count(each <= AGE), 9) for each in range(count)]


def _ruled(rule: Any, queries: list[Any]) -> Any:
    return q.Launch(m.Scripted(c.FiltCon(q.ApproxDP(10, "1e-3"), rule=rule), queries))


def _pure(count: int) -> list[Any]:
    return [q.Launch(m.Laplace(m.Count(), epsilon=Fraction(n, 7919))) for n in range(1, count)]


def _of_odd_noise(count: int) -> list[Any]:
    """Launches whose losses add up to a number of many digits."""
    scales = (Fraction(10**8 + 7919 * n, 2 * n + 7) for n in range(count))
    return [q.Launch(m.Gaussian(m.Count(), variance=each)) for each in scales]


def _wide(count: int) -> Any:
    found: Any = AGE
    for each in range(count):
        found = found + AGE * each
    return found


def _weights(side: int) -> Any:
    statistic = m.GroupBy([{"age": range(side)}, {"b": range(side)}], m.Count())
    return m.PrivateMultiplicativeWeights(
        statistic, records=40, epsilon=1, threshold=3, updates=10
    ) @ _filter(q.PureDP)


KNOWN: dict[str, tuple[str, Callable[[], Any]]] = {
    # Frugal
    "estimate of few": ("frugal", lambda: m.Estimate(grouped(4), 20)),
    "estimate of many": ("frugal", lambda: m.Estimate(grouped(256), 20)),
    "estimate of many, wide": ("busy frugal", lambda: m.Estimate(m.Histogram("age", range(99)), 9)),
    "weights of many constants": (
        "wide weights",
        lambda: m.LinearQuery.where(AGE.is_in([*range(250)])),
    ),
    "a fit of large tables": ("wide synthetic", lambda: m.Fit(q.ZCDP(10**6), rounds=1)),
    "losses of many digits": ("renyi", lambda: LaunchMany(_of_odd_noise(20))),
    "a refusal that states them": ("renyi", lambda: q.Launch(c.Universal(q.PureDP(1)))),
    "estimates of a grid": (
        "frugal",
        lambda: m.Estimate(m.GroupBy([{"b": [0, 1]}, {"age": range(30)}], m.Count()), 20),
    ),
    "another estimate": ("busy frugal", lambda: m.Estimate(m.Count((AGE >= 7) & (CITY == "a")), 3)),
    "many constants": ("frugal", lambda: m.Estimate(m.Count(AGE.is_in([*range(3000)])), 3)),
    "a large plan": (
        "zCDP",
        lambda: q.Launch(m.Frugal([grouped(256)] * 40, axes=[{"age": range(99)}]) @ _filter()),
    ),
    # lists
    "a list of estimates": (
        "zCDP",
        lambda: q.Launch(m.Scripted(m.Frugal() @ _filter(), _estimates(40))),
    ),
    "a short list of estimates": (
        "zCDP",
        lambda: q.Launch(m.Scripted(m.Frugal() @ _filter(), _estimates(9))),
    ),
    "the best list of estimates": (
        "rdp",
        lambda: q.Launch(
            m.Best(
                [m.Scripted(m.Frugal() @ c.FiltCon(q.RDP(8, 9)), [*_estimates(4), _laplace()])],
                "largest",
                OFTEN,
            )
        ),
    ),
    "the best list": (
        "pure",
        lambda: q.Launch(
            m.Best([m.Scripted(_filter(q.PureDP), [_laplace()] * 10)], "largest", OFTEN)
        ),
    ),
    "lists in a list": (
        "zCDP",
        lambda: q.Launch(
            m.Scripted(_filter(), [q.Launch(m.Scripted(_filter(), [_gaussian()] * 12))] * 12)
        ),
    ),
    "many orders": ("approximate", lambda: _ruled(c.ViaRenyi(range(2, 900)), _pure(60))),
    "some orders": ("approximate", lambda: _ruled(c.ViaRenyi(range(2, 60)), _pure(150))),
    "a residue": ("approximate", lambda: _ruled(c.GDPResidue("1e-9"), _pure(150))),
    "menus": (
        "approximate",
        lambda: LaunchMany(
            [
                q.Launch(
                    c.FiltCon(q.ApproxDP(1, "1e-3"), rule=c.Menu(f"1/{n}", [1, 2, 3], slack="1e-9"))
                )
                for n in range(100, 160)
            ]
        ),
    ),
    "reports": (
        "approximate",
        lambda: _ruled(c.ViaRenyi(range(2, 60)), [q.PrivacyLossQuery(n) for n in range(1, 200)]),
    ),
    "a list with weights": (
        "pure",
        lambda: q.Launch(
            m.Scripted(_weights(900), [m.LinearQuery.where(n <= AGE) for n in range(20)])
        ),
    ),
    # Synthetic
    "many columns": (
        "zCDP",
        lambda: q.Launch(m.Synthetic([{f"c{n}": range(9)} for n in range(100)]) @ _filter()),
    ),
    "a fit": ("wide synthetic", lambda: m.Fit("1/10", rounds=1)),
    "a list with a fit": (
        "zCDP",
        lambda: q.Launch(m.Scripted(m.Synthetic([{"b": [0, 1]}]) @ _filter(), [m.Fit(1, 1)])),
    ),
    "some rows": ("synthetic", lambda: m.SampleRows(1000)),
    "many rows": ("synthetic", lambda: m.SampleRows(300_000)),
    "measurements": ("synthetic", m.Measurements),
    "from the model": ("synthetic", lambda: m.FromModel(m.GroupBy({"age": range(40)}, m.Count()))),
    # refinement
    "many scales": (
        "pure",
        lambda: q.Launch(
            m.LaplaceNoiseReduction(m.Histogram("age", range(40)), scales=range(3000, 0, -1))
        ),
    ),
    "scales of many groups": (
        "pure",
        lambda: q.Launch(m.LaplaceNoiseReduction(grouped(40_000), scales=range(4000, 1, -1))),
    ),
    "until it is exact": ("laplace reduction", lambda: m.Until(m.RelativeError("1/1000000"))),
    "the last release": ("laplace reduction", Latest),
    "an estimate of groups": ("brownian", lambda: m.Open(grouped(1_000_000), (900, 100, 9))),
    "until it is fine": (
        "brownian",
        lambda: q.Ask("estimate 0", m.Until(m.RelativeError("1/1000000"))),
    ),
    "doubled": ("doubling", lambda: q.Ask("estimate 0", m.Until(m.RelativeError("1/1000000")))),
    "refined groups": ("wide brownian", lambda: q.Ask("estimate 0", m.Refine(10**40))),
    "groups until fine": (
        "wide brownian",
        lambda: q.Ask("estimate 0", m.Until(m.RelativeError("1/1000000"))),
    ),
    # weights
    "a linear query": ("weights", lambda: m.LinearQuery([0.3] * 40)),
    "a predicate": ("wide weights", lambda: m.LinearQuery.where(AGE >= 3)),
    "a histogram": ("wide weights", SyntheticHistogram),
    "many elements": ("pure", lambda: q.Launch(_weights(3000))),
    # compositors
    "ranges of one length": ("zCDP", lambda: LaunchMany([_ranges(900)] * 3)),
    "ranges of several lengths": (
        "zCDP",
        lambda: LaunchMany([_ranges(each) for each in range(700, 703)]),
    ),
    "many launches": ("zCDP", lambda: LaunchMany([_gaussian()] * 150)),
    "many filters": ("zCDP", lambda: LaunchMany([q.Launch(_filter())] * 150)),
    "a launch with orders": ("renyi", _gaussian),
    "many together": (
        "zCDP",
        lambda: q.Launch(c.ConComp([m.Gaussian(m.Count(), variance=n + 1) for n in range(150)])),
    ),
    "many parts": (
        "zCDP",
        lambda: q.Launch(
            c.Parallel(
                c.Partition("age", range(7000)),
                {n: m.Gaussian(m.Count(), variance=n + 1) for n in range(120)},
            )
        ),
    ),
    "many questions": (
        "sparse vector",
        lambda: AskMany([m.Count(each <= AGE) for each in range(250)]),
    ),
    "all days": ("a year", BlocksQuery),
    "one day": ("a year", lambda: BlockLossQuery(3)),
    "whether a year pays": (
        "a year",
        lambda: q.CanAfford(q.LaunchOver(m.Gaussian(m.Count(), variance=9), q.Last(365))),
    ),
    # counters, statistics, expressions
    "a wide tree": (
        "zCDP",
        lambda: q.Launch(m.TreeCounter(grouped(90_000), rho="1/10", horizon=2**20)),
    ),
    "a long matrix": (
        "zCDP",
        lambda: q.Launch(m.ToeplitzCounter(m.Count(), rho="1/10", horizon=10**6)),
    ),
    "a wide expression": ("zCDP", lambda: _gaussian(m.Sum(_wide(80), 0, 10))),
    **{
        f"{type(statistic).__name__} at {rho}": (
            "zCDP",
            lambda s=statistic, r=rho: q.Launch(
                s.measurement(q.ZCDP, 1, loss=q.ZCDP(r), confidence="0.95")
            ),
        )
        for rho in ("1", "1/10000000000000")
        for statistic in (
            m.Quantiles("age", [Fraction(n, 900) for n in range(1, 900)], range(900)),
            m.Top("age", 900, range(6000)),
            m.Regression("age", ["b"], {"age": (0, 9), "b": (0, 9)}),
            grouped(90_000, m.Variance("b", 0, 9)),
        )
    },
}
"""What is known to be much, with the place where it is sent."""


def known() -> Iterator[Sent]:
    """`KNOWN`, as text."""
    for name, (place, make) in KNOWN.items():
        yield Sent(name, str(encode(make()), "ascii"), place)


def too_much(costs: list[Cost], slower: float = 1) -> list[Cost]:
    """The costs that are above a limit, or that failed after the charge.

    Args:
        slower: how many times slower than a quiet one the machine may be.
    """
    return [
        each
        for each in costs
        if each.seconds > 2 * slower
        or each.megabytes > 200
        or each.growth > 100
        or "fault" in each.kind
        or each.kind in ("too long", "failed")
    ]


def main() -> None:
    """Print the worst of so many cases, with a seed."""
    from tests.guard.climbing import climbed
    from tests.guard.large import cases
    from tests.guard.wire import analysts

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    near, refused = nearest(count)
    found = [*costs_of([*near, *cases(analysts(), 10 * count, seed)])]
    found += climbed(analysts(), seed, rounds=count // 20)[0]  # with what is known
    lines = [f"{len(found)} measured, {refused} refused by their expected effort"]
    for key in ("seconds", "megabytes", "growth"):
        lines.append(f"by {key}")
        lines += [one.line for one in sorted(found, key=lambda one: -getattr(one, key))[:12]]
    lines += ["too much", *(each.line for each in too_much(found))]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
