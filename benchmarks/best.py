"""Private selection beside all candidates with a share of the budget each.

`python -m benchmarks.best` prints, for several numbers of candidates, how far the histogram that
was chosen is from the distribution that the values were drawn from (half the sum of differences,
the mean of runs). The candidates are widths of bins. Coins are seeded, so all runs print the same.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.measure import Row
from mechanisms import Best, Laplace, TruncatedNegativeBinomial
from queryable import PureDP, SeededCoins, Statistic

EPSILON, RECORDS, SPAN, RUNS, FEW_RUNS = 1, 500, 720, 300, 50
FROM_2, FROM_12 = (2, 3, 4, 5, 6, 8, 9, 10), (12, 18, 24, 36, 48, 72, 120, 180)
WIDTHS = {2: (24, 72), 4: (12, 24, 48, 72), 8: FROM_12, 16: FROM_2 + FROM_12}
PLACES = np.arange(SPAN)
DENSITY = np.exp(-(((PLACES - 180) / 60) ** 2) / 2) + np.exp(-(((PLACES - 500) / 100) ** 2) / 2) / 3
DENSITY /= DENSITY.sum()


def histogram(width: int) -> Statistic:
    """The counts of bins of this width."""
    bins = SPAN // width
    return Statistic(
        lambda values: np.bincount(values // width, minlength=bins), l1=1, l2=1, shape=bins
    )


def score_of(epsilon: float) -> Callable[[Any], float]:
    """Less the squared error of a histogram as a density, up to a constant; from it alone."""
    variance = 2 / epsilon**2

    def score(counts: Any) -> float:
        values = np.asarray(counts, float)
        return float(((values**2).sum() - 2 * len(values) * variance) * len(values))

    return score


def distance(counts: Any) -> float:
    """Half the sum of the differences between a histogram and the distribution."""
    values = np.maximum(np.asarray(counts, float), 0)
    shares = np.repeat(values / max(values.sum(), 1), SPAN // len(values)) / (SPAN // len(values))
    return float(np.abs(shares - DENSITY).sum() / 2)


def chosen(widths: tuple[int, ...], eta: Fraction, values: Any, coins: Any) -> Any:
    """The answer of `Best`, with three runs for each candidate on average."""
    share, gamma = EPSILON / (2 + eta), Fraction(1, 3 * len(widths))
    if eta == 0:  # the same mean, nearly
        gamma /= 5
    law = TruncatedNegativeBinomial(eta, gamma)
    candidates = [Laplace(histogram(width), epsilon=share) for width in widths]
    best = Best(candidates, score_of(float(share)), law)
    assert best.privacy_map(1) == PureDP(EPSILON)
    return best.release(values, coins).answer


def split(widths: tuple[int, ...], values: Any, coins: Any) -> Any:
    """The best of all candidates, each with a share of the budget."""
    share = Fraction(EPSILON, len(widths))
    runs = (Laplace(histogram(width), epsilon=share) for width in widths)
    answers = [run.release(values, coins.spawn(place, 0)) for place, run in enumerate(runs)]
    return max(answers, key=score_of(float(share)))


def distances(widths: tuple[int, ...], runs: int) -> list[float]:
    """The mean distances: of candidates with a share each, and of `Best` with eta 0 and 1."""
    found: list[list[float]] = [[], [], []]
    for run in range(runs):
        values = np.random.default_rng(run).choice(SPAN, RECORDS, p=DENSITY)
        coins = SeededCoins(run)
        answers = (
            split(widths, values, coins.spawn("split", 0)),
            chosen(widths, Fraction(0), values, coins.spawn("eta 0", 0)),
            chosen(widths, Fraction(1), values, coins.spawn("eta 1", 0)),
        )
        for kept, answer in zip(found, answers, strict=True):
            kept.append(distance(answer))
    return [fmean(each) for each in found]


def rows() -> Iterator[Row]:
    """For `make bench`: fewer runs than `main`."""
    for count, widths in WIDTHS.items():
        shared, _, best = distances(widths, FEW_RUNS)
        work = f"the best of {count} histograms, distance from the truth"
        yield Row("best", work, best, unit="", peers={"budget shared": shared})


def main() -> None:
    print("candidates, split, best with eta=0, best with eta=1")
    for count, widths in WIDTHS.items():
        print(count, *(f"{each:.4f}" for each in distances(widths, RUNS)))


if __name__ == "__main__":
    main()
