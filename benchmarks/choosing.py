"""The figures of `docs/choosing.md`: what each mechanism saves, and from when on.

`python -m benchmarks.choosing [group ..]` prints them, in some seconds. Each is a phrase that the
page has word for word; `tests/test_choosing.py` compares them. What is drawn comes from seeded
coins, so every run gives the same figures.
"""

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import erf, sqrt
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.counters import variance
from benchmarks.frugal import mothers, questions
from composition import Basic, Blocks, FiltCon, Individual, admitted, recommend
from mechanisms import (
    Best,
    BrownianNoiseReduction,
    Count,
    DiscoveredKeys,
    Doubling,
    Estimate,
    ExponentialMechanism,
    Fit,
    FromModel,
    Frugal,
    Gaussian,
    Histogram,
    Keys,
    Laplace,
    Open,
    PrivacyUnit,
    PrivateKeys,
    RelativeError,
    SparseVector,
    Synthetic,
    Table,
    Threshold,
    ToeplitzCounter,
    Total,
    TreeCounter,
    TruncatedNegativeBinomial,
    Until,
    column,
    even_schedule,
    geometric_schedule,
)
from mechanisms.sampling.laws import DiscreteLaplace
from mechanisms.tables.expressions.predicates import Predicate
from queryable import (
    ZCDP,
    ApproxDP,
    InteractiveMechanism,
    Last,
    PureDP,
    Queryable,
    Update,
)
from queryable.randomness.coins import SYSTEM, SeededCoins

WITHIN = 50
ALONE = float(Count().measurement(ZCDP, 1, within=WITHIN).loss(1).rho)
"""The rho of one count within 50 at 95%."""

BUDGET = ApproxDP(1, "1e-6")
STREAMS, QUESTIONS = 3, 40
RIGHT = 0.95
RUNS = 40
RUN = Laplace(Count(), epsilon="1/10")


def times(ratio: float | Fraction) -> str:
    """A ratio to two digits."""
    return f"{float(f'{float(ratio):.2g}'):g} times"


def first(fits: Callable[[int], bool], most: int) -> int:
    """The least number from 1 on from which on everything up to `most` fits."""
    found = most + 1
    while found > 1 and fits(found - 1):
        found -= 1
    return found


def rho_of(mechanism: InteractiveMechanism[Any]) -> float:
    """What it costs in zCDP."""
    loss = mechanism.privacy_map(1, ZCDP)
    assert isinstance(loss, ZCDP)
    return float(loss.rho)


# Counts


def spent(person: Frugal, asked: Iterable[Count]) -> list[float]:
    """The rho after each question, in counts on their own. It does not depend on the data."""
    root = Queryable(
        person @ FiltCon(ZCDP(1000)),
        {"age": [31], "kind": ["a"]},
        coins=SeededCoins(1),
        allow_seeded=True,
    )
    found = []
    for statistic in asked:
        root.ask(Estimate(statistic, WITHIN, fixed_in_advance=True))
        found.append(float(root.privacy_loss().rho) / ALONE)
    return found


def ranges(edges: list[int], kinds: list[str], seed: int) -> list[Count]:
    """Counts of random ranges of one column, each among the rows of one value if there are any."""
    chance = random.Random(seed)

    def drawn() -> Predicate:
        low, high = sorted(chance.sample(edges, 2))
        found = (column("age") >= low) & (column("age") < high)
        return found & (column("kind") == chance.choice(kinds)) if kinds else found

    return [Count(drawn()) for _ in range(QUESTIONS)]


def of_streams(person: Frugal, edges: list[int], kinds: list[str]) -> tuple[int, float]:
    """From which question on each stream costs less than single counts; by how much at its end."""
    streams = [spent(person, ranges(edges, kinds, seed)) for seed in range(STREAMS)]
    crossed = first(lambda n: all(costs[n - 1] < n for costs in streams), QUESTIONS)
    return crossed, fmean(QUESTIONS / costs[-1] for costs in streams)


def frugal() -> Iterator[str]:
    """Counts that overlap."""
    edges, fine, kinds = list(range(0, 101, 10)), list(range(101)), ["a", "b", "c", "d", "e"]
    tens, ones = Keys.bins("age", edges), Keys.bins("age", fine)
    streams: tuple[tuple[str, Frugal, list[int], list[str]], ...] = (
        ("ranges of 10 groups", Frugal(axes=tens), edges, []),
        ("ranges of 10 by 5 groups", Frugal(axes=(tens, {"kind": kinds})), edges, kinds),
        ("ranges of 100 groups", Frugal(axes=ones), fine, []),
        ("ranges of 10 groups, without `axes=`", Frugal(), edges, []),
    )
    for what, person, cuts, values in streams:
        crossed, saved = of_streams(person, cuts, values)
        yield f"| {what} | from {crossed} questions on | 40 questions cost {times(saved)} less |"
        if person is streams[0][1]:
            yield f"40 counts over 10 groups: {times(saved)} less"
            yield f"you have fewer than {crossed} questions"
    single = Count((column("age") >= 40) & (column("age") < 70))
    told, untold = (spent(person, [single])[0] for person in (Frugal(axes=tens), Frugal()))
    yield (
        f"one count costs {told:.1f} times as much as on its own, and without `axes=` "
        f"{untold:.2f} times"
    )
    planned = ranges(edges, [], 0)
    few, every = (spent(Frugal(each), planned)[-1] for each in (planned[:5], planned))
    yield f"a plan of all 40 costs {times(QUESTIONS / every)} less"
    yield f"a plan of the first 5 costs {few / QUESTIONS:.1f} times as much as 40 single counts"


def groups() -> Iterator[str]:
    """Counts that do not overlap."""
    bins = Histogram("age", bins=list(range(0, 121, 10)))
    rho = float(bins.measurement(ZCDP, 1, within=WITHIN).loss(1).rho)
    yield f"counts of 12 groups cost {times(12 * ALONE / rho)} less than 12 counts"
    yield f"12 groups: {times(12 * ALONE / rho)} less"


def keys() -> Iterator[str]:
    """Keys that nobody has named, at epsilon 1 and delta 10^-6."""
    unit = PrivacyUnit("patient", max_rows=4)
    cases = {"1": DiscoveredKeys("city"), "4": DiscoveredKeys("city", 4, per=unit)}
    for most, found in cases.items():
        private = PrivateKeys(found, epsilon=1, delta=BUDGET.delta)
        assert isinstance(private.noise, DiscreteLaplace)
        below = tails(float(private.noise.scale), 400)

        def seen(count: int, below: Any = below, from_: int = private.threshold) -> float:
            return 1 - float(below[from_ - 1 - count + 400])

        yield f"| {most} | {private.threshold} | {nearest(seen)} |"


# A model


def synthetic() -> Iterator[str]:
    """300 counts of the demo's mothers, from a model and from `Frugal`, for the same rho."""
    source, cuts, values = mothers()
    asked = [Count(each) for each in questions(cuts, values, 1)]
    bins = [Keys.bins(name, edges) for name, edges in cuts.items()]
    with Table(source[[*cuts, *values]]) as table:
        exact = Queryable(FiltCon(ZCDP(10**9)), table)
        true = [float(exact(Gaussian(each, rho=10**5))) for each in asked]

        def opened(person: Any) -> Queryable:
            below = FiltCon(ZCDP(1))
            return Queryable(person @ below, table, coins=SeededCoins(1), allow_seeded=True)

        def error(found: list[Any]) -> float:
            pairs = zip(found, true, strict=True)
            return fmean(abs(float(answer.value) - value) for answer, value in pairs)

        bought = opened(Frugal(axes=(values, *bins)))
        estimates = [bought.ask(Estimate(each, WITHIN, fixed_in_advance=True)) for each in asked]
        loss = bought.privacy_loss()
        model = opened(Synthetic([*bins, values]))
        model.ask(Fit(loss))
        modelled = [model.ask(FromModel(each)) for each in asked]
    ratio = error(modelled) / error(estimates)  # what a fit chooses may differ between machines
    size = "between one and two times" if 1 < ratio < 2 else times(ratio)
    yield f"300 counts have {size} the error that they have with `Frugal` for the same rho"
    yield f"{sum(answer.measured for answer in modelled) // 25 * 25} or more of the 300"


# Thresholds and choices


def tails(scale: float, size: int) -> np.ndarray[Any, Any]:
    """The probabilities that integer Laplace noise is at most -size .. size."""
    decay = np.exp(-1 / scale)
    steps = np.arange(-size, size + 1)
    return np.cumsum((1 - decay) / (1 + decay) * decay ** np.abs(steps))


def nearest(right: Callable[[int], float]) -> int:
    """The least distance from the threshold at which all answers are right with 95%."""
    low, high = 0, 1
    while right(high) < RIGHT:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if right(middle) >= RIGHT else (middle, high)
    return high


def by_vector(mechanism: SparseVector, counts: int) -> int:
    """All but the last count are as far below the threshold as the last one is above it."""
    noises = [float(law.scale) for law in mechanism.noises]
    size = int(60 * max(noises)) + 400
    threshold = np.diff(tails(noises[0], size), prepend=0.0)
    counted, steps = tails(noises[1], 2 * size), np.arange(-size, size + 1)

    def right(margin: int) -> float:
        margin = min(margin, size)
        below = counted[steps + margin - 1 + 2 * size]
        above = 1 - counted[steps - margin - 1 + 2 * size]
        return float((threshold * below ** (counts - 1) * above).sum())

    return nearest(right)


def by_gaussians(rho: float, counts: int) -> int:
    """The same of counts that are released for the same rho together."""
    deviation = sqrt(counts / (2 * rho))
    return nearest(lambda m: (0.5 * (1 + erf(m / deviation / sqrt(2)))) ** counts)


def by_laplace(epsilon: float, counts: int) -> int:
    """The same for the same epsilon together."""
    return nearest(lambda m: (1 - 0.5 * np.exp(-m * epsilon / counts)) ** counts)


def thresholds() -> Iterator[str]:
    """Whether any of several counts is above a threshold; one of them is."""
    vector = SparseVector(0, 1)
    rho = rho_of(vector)
    since = [
        first(lambda n: by_vector(vector, n) < by_gaussians(rho, n), 30),
        first(lambda n: by_vector(vector, n) < by_laplace(1, n), 30),
    ]
    yield f"from {since[0]} counts on in zCDP, and from {since[1]} counts on if epsilons add up"
    yield f"you have fewer than {since[0]} counts"
    near, far = by_vector(vector, 300), by_gaussians(rho, 300)
    yield (
        f"among 300 counts, one that is {near} above and 299 that are {near} below are all told "
        f"right with 95%; 300 counts for the same rho need {far}"
    )
    yield f"300 counts: {near} from the threshold in place of {far}"
    one_way, both_ways = vector.noises[1], SparseVector(0, 1, monotone=False).noises[2]
    ratio = both_ways.scale / one_way.scale
    yield f"get {times(ratio)} less noise than statistics that move both ways"
    plain, fresh = (SparseVector(0, 1, cutoff=10, refresh=each) for each in (False, True))
    scales = plain.noises[1].scale / fresh.noises[1].scale
    gained = sqrt(rho_of(plain) / rho_of(fresh)) * float(scales)
    yield f"at cutoff 10 there is {times(gained)} less noise on counts for the same rho"


def choices() -> Iterator[str]:
    """Which of several counts is the largest."""
    chosen = ExponentialMechanism(Histogram("age", bins=[0, 30, 60]), epsilon=1, monotone=True)
    rho = rho_of(chosen)

    def by_exponential(counts: int) -> int:
        return nearest(lambda m: 1 / (1 + (counts - 1) * float(np.exp(-m))))

    def by_counts(counts: int, share: int) -> int:
        deviation = sqrt(share / (2 * rho))
        points, weights = np.polynomial.hermite_e.hermegauss(80)

        def right(margin: int) -> float:
            below = np.array([0.5 * (1 + erf((x + margin / deviation) / sqrt(2))) for x in points])
            return float((weights * below ** (counts - 1)).sum() / sqrt(2 * np.pi))

        return nearest(right)

    lead, each, together = by_exponential(10), by_counts(10, 10), by_counts(10, 1)
    yield f"the largest of 10 counts is found with 95% if it leads by {lead}"
    yield f"it has to lead by {each}"
    yield f"one histogram finds it with a lead of {together}"
    yield f"10 counts that overlap: a lead of {lead} in place of {each}"


# Records with few contributions


def individual() -> Iterator[str]:
    """Counts of random ranges of ages, at a tenth of the budget each, with almost no noise."""
    chance = random.Random(1)
    ages = [chance.randrange(100) for _ in range(2000)]
    complete = []
    for width in (5, 10, 25, 50):
        root = Queryable(Individual(1000), {"age": ages})
        count = 0
        while count < 100:
            low = chance.randrange(100 - width + 1)
            where = (column("age") >= low) & (column("age") < low + width)
            true = sum(low <= age < low + width for age in ages)
            if root(Gaussian(Count(where), rho=100)) < 0.99 * true:
                break
            count += 1
        complete.append(count)
    answered = admitted(ZCDP(1000), Basic(), ZCDP(100))
    yield f"| one row in 20 | {complete[0]} of 100 | {answered}, then refusals |"
    for rows, counts in zip((10, 4, 2), complete[1:], strict=True):
        yield f"| one in {rows} | the first {counts} | {answered} |"
    yield f"{complete[0]} questions in place of {answered}"


# Many configurations


def repeated(candidates: int, eta: int = 1) -> TruncatedNegativeBinomial:
    """A number of runs with which each candidate runs at least once with 90%."""
    missed, gamma = 1 - 1 / candidates, Fraction(9, 10)

    def seen(law: TruncatedNegativeBinomial) -> float:
        each = float(law.gamma)
        return 1 - each * missed / (1 - (1 - each) * missed)

    while seen(TruncatedNegativeBinomial(eta, gamma)) < 0.9:
        gamma = Fraction(round(10**6 * gamma * Fraction(9, 10)), 10**6)
    return TruncatedNegativeBinomial(eta, gamma)


def configurations() -> Iterator[str]:
    """The best of several analyses, beside all of them."""
    rho = Fraction(1, 200)

    def shown(loss: Any) -> float:
        return float(loss.to(ApproxDP, delta=BUDGET.delta).epsilon)

    def best(candidates: int) -> float:
        run = Gaussian(Count(), rho=rho)
        return shown(Best(run, "largest", repeated(candidates)).loss(1))

    pure = Best(RUN, "largest", repeated(10)).loss(1)
    assert isinstance(pure, PureDP)
    ratio = pure.epsilon / RUN.loss(1).epsilon
    yield f"it costs {times(ratio)} the epsilon of one run"
    yield f"it pays from {int(ratio) + 1} candidates on"
    good = Best(RUN, "largest", Threshold(0, "1/10")).loss(1)
    assert isinstance(good, PureDP)
    yield f"`Threshold` costs {times(good.epsilon / RUN.loss(1).epsilon)} the epsilon of one run"
    since = first(lambda n: n > 1 and best(n) < shown(ZCDP(rho * n)), 12)
    yield f"from {since} candidates on (rho = 1/200 each and delta = 10⁻⁶"
    yield f"fewer than {since} candidates"
    yield f"20 candidates: epsilon {best(20):.2f} in place of {shown(ZCDP(rho * 20)):.2f}"
    yield f"on average {float(repeated(20).mean):.0f} runs for 20 candidates"


# Unknown accuracy


def until(person: Any, opened: Open, count: int, seed: int) -> float:
    """The rho at which a count is known to within a tenth."""
    rows = {"age": [1] * count}
    coins = SeededCoins(seed)
    root = Queryable(person @ FiltCon(ZCDP(10)), rows, coins=coins, allow_seeded=True)
    root(opened)(Until(RelativeError("1/10")))
    return float(root.privacy_loss().rho)


def unknown() -> Iterator[str]:
    """An estimate to within a tenth of a count whose size is not known."""
    coarse, fine = 10**6, 4
    ways = {
        "geometric": (
            BrownianNoiseReduction(),
            Open(Count(), geometric_schedule(coarse, fine, "10/9")),
        ),
        "doubling": (Doubling(coarse), Open(Count())),
        "even": (BrownianNoiseReduction(), Open(Count(), even_schedule(coarse, fine, 200))),
    }
    found: dict[str, list[float]] = {}
    for count in (300, 3000):
        enough = 1 / (2 * (count / 21) ** 2)  # 2.1 deviations are a tenth, as RelativeError has it
        for name, way in ways.items():
            costs = fmean(until(*way, count, seed) for seed in range(RUNS))
            found.setdefault(name, []).append(costs / enough)
    known, doubled, evenly = found["geometric"], found["doubling"], found["even"]
    yield (
        f"counts of 300 and 3,000 cost {known[0]:.2f} and {known[1]:.2f} times what they would if "
        f"the accuracy were known; with `Doubling` {doubled[0]:.1f} and {doubled[1]:.1f} times"
    )
    yield f"with 200 even steps {evenly[0]:.1f} and {evenly[1]:.0f} times"
    yield f"{max(known):.2f} times the price of knowing, in place of {max(doubled):.1f}"


# Data that grow


def worst(mechanism: Any, batches: int) -> float:
    """The largest variance of a total, times 2 rho."""
    state, _ = mechanism.init(None)
    found = Fraction(0)
    for _ in range(batches):
        state, _ = mechanism.step(state, Update([]), SYSTEM)
        found = max(found, variance(mechanism.step(state, Total(), SYSTEM)[1].noise))
    return float(found * 2 * mechanism.rho)


def growing() -> Iterator[str]:
    """A total each day, and questions about each day."""

    def counted(days: int, kind: Any = ToeplitzCounter) -> float:
        return worst(kind(Count(), rho="1/2", horizon=days), days)

    since = first(lambda n: n > 1 and counted(n) < n, 10)
    yield f"from {since} totals on"
    yield f"365 totals of the same accuracy cost {times(365 / counted(365))} less"
    yield f"365 totals: {times(365 / counted(365))} less"
    ratio = counted(365, TreeCounter) / counted(365)
    yield f"`TreeCounter` has {times(ratio)} the variance of a `ToeplitzCounter`"

    blocks = Queryable(Blocks(FiltCon(ZCDP("1/10"))), [])
    whole = Queryable(FiltCon(ZCDP("1/10")), [])
    daily, answered, before = Gaussian(Count(), rho="1/10"), 0, 0
    for day in range(30):
        blocks.feed([1], block=day)
        blocks.feed.close(day)
        whole.feed([1])
        blocks.launch_over(daily, Last(1))
        answered += 1
        if whole.can_afford(daily):
            whole.launch(daily)
            before += 1
    yield (
        f"of 30 daily counts at rho = 1/10 in budgets of 1/10, {answered} are answered, and with "
        f"one `FiltCon` {before}"
    )


# Rules


def rules() -> Iterator[str]:
    """Many small launches with a budget of epsilon and delta."""
    loss = PureDP("1/100")
    most = recommend(BUDGET, [loss] * 600)
    plain = admitted(BUDGET, Basic(), loss)
    yield (
        "of launches at epsilon = 1/100, a budget of epsilon = 1 and delta = 10⁻⁶ admits "
        f"{most.admitted}, and {plain} if epsilons are added up"
    )
    yield f"{most.admitted} launches in place of {plain}"


GROUPS: dict[str, Callable[[], Iterator[str]]] = {
    each.__name__: each
    for each in (
        groups,
        keys,
        frugal,
        thresholds,
        choices,
        individual,
        configurations,
        unknown,
        growing,
        rules,
    )
}


LONG: dict[str, Callable[[], Iterator[str]]] = {"synthetic": synthetic}
"""These take a minute or so, and run only if named."""


def main(only: list[str]) -> None:
    for name in only or GROUPS:
        for phrase in (GROUPS | LONG)[name]():
            print(f"{name}: {phrase}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
