"""How long a filter with an account for each record lasts, and what a launch costs in time.

    python -m benchmarks.individual [--rows 1000000] [--rare]

First, counts of windows of a column, at random places, with the same noise: how many a `FiltCon`
admits, and how many an `Individual` answers before a count is more than 1% too small. No noise is
drawn for this. Then the processor time of a launch on many rows, as medians of pairs.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from statistics import median
from time import process_time
from typing import Any
from warnings import catch_warnings

import numpy as np

from benchmarks.measure import Row, seconds
from composition import FiltCon, Individual, admitted
from composition.compositors.individual.accounts import Accounts
from composition.rules import Basic
from mechanisms import Count, Gaussian, GroupBy, Histogram, Sum, Table, column
from queryable import ZCDP, Queryable

RHO = Fraction(1, 10)
SCALE = 20
PLACES = 10_000
ROWS = FEW_ROWS = 100_000
MOST = 20_000
TIMES = 15


def windows(share: float) -> Iterator[Count]:
    """Counts of a share of the places, each at a random start."""
    random, width = np.random.default_rng(1), int(share * PLACES)
    while True:
        start = int(random.integers(0, PLACES - width + 1))
        where = (column("place") >= start) & (column("place") < start + width)
        yield Count(where)


def lasting(share: float, data: Any) -> int:
    """How many windows are counted before one is more than 1% too small."""
    accounts = Accounts.of(ROWS)
    cost = Gaussian(Count(), scale=SCALE).per_record.loss_per_square
    assert cost is not None
    for launches, statistic in zip(range(MOST), windows(share), strict=False):
        counted = statistic.contributions(data).squares
        active, accounts = accounts.charged(cost / RHO, counted)
        if np.count_nonzero(counted & active) < 0.99 * np.count_nonzero(counted):
            return launches
    return MOST


def milliseconds(data: Any, launched: list[Any]) -> tuple[float, float, float]:
    """The median processor times of a launch in both, and of their ratios; the first one left out.

    The two take turns, so that other programs slow both down.
    """
    both = [Queryable(each, data) for each in (FiltCon(ZCDP(10**6)), Individual(10**6))]
    pairs = []
    for each in launched:
        times = []
        for queryable in both:
            start = process_time()
            queryable.launch(each)
            times.append(1000 * (process_time() - start))
        pairs.append(times)
    plain, own = zip(*pairs[1:], strict=True)
    ratios = (mine / theirs for theirs, mine in zip(plain, own, strict=True))
    return median(plain), median(own), median(ratios)


def placed() -> tuple[dict[str, Any], int]:
    """The rows that windows count, and how many counts a `FiltCon` admits."""
    data = {"place": np.random.default_rng(0).integers(0, PLACES, ROWS)}
    return data, admitted(ZCDP(RHO), Basic(), Gaussian(Count(), scale=SCALE).privacy_map(1))


def rows() -> Iterator[Row]:
    """For `make bench`: how many counts are answered; and a launch on few rows."""
    data, plain = placed()
    for share in (0.5, 0.1):
        work = f"counts of {share:.0%} of the rows, until one is 1% too small"
        found = lasting(share, data)
        yield Row("individual", work, found, unit="counts", peers={"FiltCon": plain})
    columns = {"place": np.arange(FEW_ROWS), "who": np.arange(FEW_ROWS) // 5}
    persons = Table(columns, privacy_unit="who", max_rows=4)
    with persons, Table(columns) as table, catch_warnings(action="ignore"):
        for name, source in (("rows", table), ("persons", persons)):
            kinds = {"ours": Individual(10**6), "FiltCon": FiltCon(ZCDP(10**6))}
            times = seconds({way: (new_counts(kind, source), 2) for way, kind in kinds.items()})
            work = f"a count in a Table of {FEW_ROWS:,} rows, {name} protected"
            yield Row("individual", work, times.pop("ours"), peers=times)


def new_counts(mechanism: Any, source: Table) -> Callable[[], object]:
    """Launch another count at each call, since a table remembers what was counted."""
    queryable, places = Queryable(mechanism, source), count()
    per = source.unit
    return lambda: queryable.launch(
        Gaussian(Count(column("place") >= next(places), per=per), rho="1/1000000")
    )


def main() -> None:
    """Print both tables."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rare", action="store_true", help="count few of the rows")
    arguments = parser.parse_args()
    rows = arguments.rows
    random = np.random.default_rng(0)
    data, admits = placed()
    print(f"counts with noise of scale {SCALE} within rho = {RHO}; FiltCon admits {admits}")
    for share in (0.5, 0.1, 0.01):
        print(f"  windows of {share:.0%} of the rows: {lasting(share, data)}")
    wide = {
        "age": random.integers(0, 100, rows),
        "cost": 100 * random.random(rows),
        "city": random.integers(0, 50, rows),
        "who": random.integers(0, rows // 5, rows),
    }
    cities = list(range(50))
    sources: dict[str, Any] = {
        "arrays": wide,
        "table": Table(wide),
        "persons": Table(wide, privacy_unit="who", max_rows=4),
    }
    print(f"processor milliseconds of a launch on {rows} rows: FiltCon, Individual, median ratio")
    for name, source in sources.items():
        per = getattr(source, "unit", None)
        least = 99 - TIMES if arguments.rare else 20
        older = [column("age") >= age for age in range(least, least + TIMES)]
        asked = {
            "count": [Count(where, per=per) for where in older],
            "sum": [Sum("cost", 0, 100, where, per=per) for where in older],
            "histogram": [Histogram("city", cities, where, per=per) for where in older],
            "sums by city": [
                GroupBy({"city": cities}, Sum("cost", 0, 100, where, per=per)) for where in older
            ],
        }
        for kind, statistics in asked.items():
            launched = [Gaussian(each, rho=1) for each in statistics]
            with catch_warnings(action="ignore"):
                plain, own, ratio = milliseconds(source, launched)
            print(f"  {name}, {kind}: {plain:.1f}, {own:.1f}, {ratio:.2f}")


if __name__ == "__main__":
    main()
