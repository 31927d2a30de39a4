"""How well a model of the rows answers all pairs of columns, beside four other ways.

`python -m benchmarks.synthetic [fits] [rounds]` prints the average error over the marginals of all
pairs of columns of the demo's table of mothers: the L1 distance from the true marginal, divided by
the number of rows, so 2 is the worst. It prints the mean over some fits with seeded coins, for
several zCDP budgets, and the seconds and the number of rounds of a fit.

- uniform: every cell the same; what multiplicative weights start from. The true number of rows.
- independent: the columns measured alone, with the whole budget; rows with independent columns.
- independent, exact: the same without noise. No method that ignores how columns depend is better.
- each: every pair measured on its own, with equal shares of the budget. Nothing else can be asked,
  and answers contradict each other.
- clipped: the same, with negative counts set to 0.
- model: `Synthetic`.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.frugal import mothers
from benchmarks.measure import Row
from composition import FiltCon
from mechanisms import Count, Fit, FromModel, Keys, Synthetic
from mechanisms.synthetic.domain import Domain, domain_of
from mechanisms.tables.requests.keys import groups_of
from queryable import ZCDP, Queryable
from queryable.randomness.coins import SeededCoins

BUDGETS = ("1/1000", "1/100", "1/10")
EDGES = {
    "age": list(range(21, 37, 3)),
    "educ": [0, 9, 11, 12, 13, 14, 16, 21],
    "hours": list(range(0, 81, 10)),
}
VALUES = {"kids": [2, 3, 4, 5, 6], "black": [0, 1], "worked": [0, 1]}
Marginals = dict[tuple[int, ...], Any]


def keys() -> list[Any]:
    """The public groups of the columns."""
    return [*(Keys.bins(name, edges) for name, edges in EDGES.items()), VALUES]


def exact(domain: Domain, table: Any, size: int) -> Marginals:
    """The true marginals of all sets of so many columns."""
    sets = combinations(range(len(domain.sizes)), size)
    return {each: domain.counts(each, None).value(table) for each in sets}


def error(found: Marginals, truth: Marginals) -> float:
    """The average L1 distance, divided by the number of rows."""
    rows = next(iter(truth.values())).sum()
    return float(np.mean([abs(found[each] - truth[each]).sum() / rows for each in truth]))


def noisy(marginals: Marginals, loss: str, chance: np.random.Generator) -> Marginals:
    """All marginals with equal shares of a loss. Rounded normal noise is good enough here."""
    scale = float(len(marginals) / (2 * Fraction(loss))) ** 0.5
    return {each: m + np.rint(chance.normal(0, scale, m.shape)) for each, m in marginals.items()}


def independent(alone: Marginals) -> Marginals:
    """Pairs of columns with these marginals, as if columns were independent."""
    counts = {each: np.maximum(m, 0) for (each,), m in alone.items()}
    rows = float(np.mean([m.sum() for m in counts.values()]))
    shares = {each: m / m.sum() for each, m in counts.items()}
    return {
        (one, other): rows * np.multiply.outer(shares[one], shares[other])
        for one, other in combinations(counts, 2)
    }


def uniform(truth: Marginals, rows: int) -> Marginals:
    """Every cell the same; the cell of all other rows is left empty."""
    found = {}
    for each, marginal in truth.items():
        found[each] = np.zeros(marginal.shape)
        inner = found[each][tuple(slice(0, -1) for _ in each)]
        inner[:] = rows / inner.size
    return found


def modelled(
    table: Any, domain: Domain, loss: str, seed: int, rounds: int | None
) -> tuple[Marginals, float, int]:
    """The model's pairs, the seconds of the fit, and how many marginals it chose."""
    person = Synthetic(keys(), rounds=rounds)
    mechanism = person @ FiltCon(ZCDP(loss))
    root = Queryable(mechanism, table, coins=SeededCoins(seed), allow_seeded=True)
    start = time.perf_counter()
    fit = root.ask(Fit(loss))
    root.ask(FromModel(Count()))  # the model of all measurements
    seconds = time.perf_counter() - start
    state = root._root.state  # type: ignore[attr-defined]
    pairs = combinations(range(len(domain.sizes)), 2)
    found = {each: state.person.model.marginal(each) for each in pairs}
    return found, seconds, len(fit.measured) - len(domain.sizes)


def rows() -> Iterator[Row]:
    """For `make bench ONLY=synthetic`: one fit."""
    table, _, _ = mothers()
    domain, loss = domain_of(groups_of(keys())), "1/100"
    truth, alone = exact(domain, table, 2), exact(domain, table, 1)
    chance = np.random.default_rng(1)
    peers = {
        "each pair": error(noisy(truth, loss, chance), truth),
        "independent": error(independent(noisy(alone, loss, chance)), truth),
    }
    with warnings.catch_warnings(action="ignore"):  # rows are protected, which are public here
        model, seconds, _ = modelled(table, domain, loss, 1, None)
    work = f"error over pairs at rho = {loss}"
    yield Row("synthetic", work, error(model, truth), unit="", peers=peers)
    yield Row("synthetic", "a fit of 31,857 rows", seconds, unit="seconds")


def main(fits: int = 3, rounds: int | None = None) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")  # of several queryables on one table, which is public here
    table, _, _ = mothers()
    domain = domain_of(groups_of(keys()))
    truth, alone = exact(domain, table, 2), exact(domain, table, 1)
    rows = len(table)
    print(f"{rows} rows, {len(truth)} pairs, {sum(m.size for m in truth.values())} cells")
    print(f"uniform {error(uniform(truth, rows), truth):.3f}")
    print(f"independent, exact {error(independent(alone), truth):.3f}")
    print("budget | independent | each | clipped | model | seconds | rounds")
    for loss in BUDGETS:
        chance = np.random.default_rng(1)
        lines = []
        for seed in range(fits):
            each = noisy(truth, loss, chance)
            clipped = {place: np.maximum(m, 0) for place, m in each.items()}
            model, seconds, chosen = modelled(table, domain, loss, seed, rounds)
            lines.append(
                [
                    error(independent(noisy(alone, loss, chance)), truth),
                    error(each, truth),
                    error(clipped, truth),
                    error(model, truth),
                    seconds,
                    chosen,
                ]
            )
        means = " | ".join(f"{each:.3f}" for each in np.mean(lines, axis=0))
        print(f"{loss} | {means}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
