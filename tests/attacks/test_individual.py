"""Attacks on accounts of single records: cascades of charges, and streams of real launches."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest

from composition import FiltCon, Individual
from mechanisms import (
    Count,
    CountUnits,
    Gaussian,
    GroupBy,
    Histogram,
    Mean,
    Quantiles,
    Sum,
    Table,
    UnitSizes,
    column,
)
from queryable import ZCDP, Ask, Coins, Launch, Launched, Statistic, Update

# A record that decides what others pay starts a cascade (w3c/attribution, issue 75).
#
# A conversion is counted for the last impression that has budget left. If only that impression
# pays, one impression more or less shifts everything that comes later.


VARIANCE = 10
ONE = Fraction(1, 2 * VARIANCE)
"""What a conversion costs the impression that it is counted for."""


def last_touch(records: Any, impressions: int) -> Any:
    """One conversion, counted for the last of the records."""
    counts = np.zeros(impressions, dtype=np.int64)
    counts[list(records)[-1:]] = 1
    return counts


def naive(records: tuple[int, ...], impressions: int) -> list[Any]:
    """The noiseless answers to as many conversions, if only the counted impression pays."""
    left, answers = list(records), []
    for _ in range(impressions):
        answers.append(last_touch(left, impressions))
        left = left[:-1]  # it has paid all that it has
    return answers


@attrs.frozen
class Silent(Coins):
    """Coins whose noise is 0."""

    def draw(self, law: Any, size: Any = None) -> Any:
        return 0 if size is None else np.zeros(size, dtype=np.int64)

    def spawn(self, child: Any, message: int) -> Coins:
        return self


def ours(records: tuple[int, ...], impressions: int, budget: Fraction) -> list[Any]:
    """The same from `Individual`."""

    def counted(data: Any) -> Any:
        return last_touch(data, impressions)

    statistic = Statistic(counted, l1=2, l2="1.4142135624", shape=impressions)
    launch = Launch(Gaussian(statistic, variance=VARIANCE))
    mechanism = Individual(budget)
    state, _ = mechanism.init(records, Silent())
    answers = []
    for _ in range(impressions):
        state, launched = mechanism.step(state, launch, Silent())
        answers.append(np.asarray(launched.answer))
    return answers


def lost(answers: list[Any], others: list[Any]) -> Fraction:
    """The zCDP loss between two lists of answers with Gaussian noise: squares add up."""
    squares = (int(((a - b) ** 2).sum()) for a, b in zip(answers, others, strict=True))
    return sum(squares) * ONE


@pytest.mark.parametrize("impressions", [3, 10])
def test_the_cascade_breaks_the_naive_filter(impressions: int) -> None:
    """Each impression pays for one conversion, and one of them changes all answers."""
    everyone = tuple(range(impressions))
    assert lost(naive(everyone, impressions), naive(everyone[:-1], impressions)) == ONE * (
        2 * impressions - 1
    )


@pytest.mark.parametrize("impressions", [3, 10])
@pytest.mark.parametrize("conversions", [1, 2, 3])
def test_everybody_pays_for_a_statistic_of_all_records(impressions: int, conversions: int) -> None:
    """No impression, added or removed, costs more than the budget; at least one costs as much."""
    paid = 2 * conversions * ONE
    budget = paid * Fraction(1000001, 1000000)  # the declared l2 is rounded up
    everyone = tuple(range(impressions))
    whole = ours(everyone, impressions, budget)
    worst = max(
        lost(whole, ours((*everyone[:i], *everyone[i + 1 :]), impressions, budget))
        for i in everyone
    )
    assert worst == paid <= budget


# Streams of real launches on neighbouring data: no record costs more than its budget.
#
# Without noise, what is active is the same in every run of a fixed stream. So the loss of the view
# is the sum of the squares of the differences of exact answers, each over twice the variance.


RHO = Fraction(1)
PEOPLE = 7
SOURCES = {
    "arrays": None,
    "table": {},
    "units": {"privacy_unit": "who", "max_rows": 3},
    "units in groups": {
        "privacy_unit": "who",
        "max_rows": 4,
        "max_groups": 2,
        "max_rows_per_group": 2,
    },
}


STRICT = (("arrays", 8), ("table", 8), ("units in groups", 1))
"""Streams in which a record that paid less would lose more than its budget."""
STRICT_IF_FED = (("arrays", 1), ("units", 1))
"""The same if half of the rows arrive later."""
SLOW = [
    pytest.param(name, seed, marks=pytest.mark.slow) for name in SOURCES for seed in range(2, 8)
]
SLOW_IF_WHOLE = [pytest.param("units", 1, marks=pytest.mark.slow)]
"""Strict too; quick tests have units without groups if the data grow."""

SLOW_IF_FED = [
    pytest.param(name, 1, marks=pytest.mark.slow) for name in ("table", "units in groups")
]


def frame_of(random: Random) -> pd.DataFrame:
    rows = 25
    return pd.DataFrame(
        {
            "who": [random.randrange(PEOPLE) for _ in range(rows)],
            "age": [random.randrange(10) for _ in range(rows)],
            "city": [random.choice("abc") for _ in range(rows)],
        }
    )


def statistic(random: Random, unit: Any) -> Any:
    """A statistic, some of which every record pays for in full."""
    low = random.randrange(5)
    where = (column("age") >= low) & (column("age") < low + random.randrange(3, 10))
    kinds: list[Callable[[], Any]] = [
        lambda: Count(where, per=unit),
        lambda: Sum("age", 0, random.choice([1, 3, 9]), where, per=unit),
        lambda: Histogram("age", where=where, bins=[0, 3, 6, 10], per=unit),
        lambda: GroupBy({"city": ["a", "b"]}, Count(where, per=unit)),
        lambda: Mean("age", 0, 9, where, per=unit),
        lambda: Quantiles("age", ["1/2"], [2, 5, 8], where, per=unit),
    ]
    if unit is not None:
        kinds += [lambda: CountUnits(where, per=unit), lambda: UnitSizes([1, 2], where, per=unit)]
    return random.choice(kinds)()


def stream(random: Random, unit: Any) -> Iterator[tuple[Any, Fraction]]:
    """Messages, each with the variance of its answer; a filter is launched on the way.

    A few statistics are asked again and again, for several times the budget.
    """
    asked = [statistic(random, unit) for _ in range(3)]
    for launched in range(16):
        each = random.choice(asked)
        if launched == 4:
            yield Launch(FiltCon(ZCDP(Fraction(1, 4)))), Fraction(1)
            for again in (each, random.choice(asked)):
                noisy = Gaussian(again, rho=Fraction(1, 8))
                yield Ask(launched, Launch(noisy)), noisy.variance
            continue
        noisy = Gaussian(each, rho=Fraction(1, random.choice([2, 3, 5, 10])))
        yield Launch(noisy), noisy.variance


def answers(source: Any, messages: list[Any], batches: Any) -> list[Any]:
    """The exact answers.

    Args:
        batches: the batch that arrives before a message, by the number of the message.
    """
    mechanism, told = Individual(RHO), []
    state, _ = mechanism.init(source, Silent())
    for number, message in enumerate(messages):
        if number in batches:
            state, _ = mechanism.step(state, Update(batches[number]), Silent())
        state, answer = mechanism.step(state, message, Silent())
        assert isinstance(answer, Launched)
        told.append(0 if answer.child is not None else np.asarray(answer.answer, dtype=object))
    return told


def columns(frame: pd.DataFrame) -> Any:
    return {name: frame[name].to_numpy() for name in frame}


def opened(frame: pd.DataFrame, options: Any) -> Any:
    return columns(frame) if options is None else Table(frame, seed=3, threads=1, **options)


@pytest.mark.parametrize(("name", "seed"), [*STRICT, *SLOW, *SLOW_IF_WHOLE])
def test_no_record_costs_more_than_its_budget(name: str, seed: int) -> None:
    losses = losses_of(name, seed)
    assert 0 < max(losses) <= RHO


@pytest.mark.parametrize(("name", "seed"), [*STRICT_IF_FED, *SLOW, *SLOW_IF_FED])
def test_no_record_costs_more_if_the_data_grow(name: str, seed: int) -> None:
    """Two batches arrive on the way. Of a person, rows are in several."""
    losses = losses_of(name, seed, fed=True)
    assert 0 < max(losses) <= RHO


ARRIVAL = {3: slice(12, 19), 8: slice(19, 25)}
"""Which rows arrive before a message."""


def losses_of(name: str, seed: int, *, fed: bool = False) -> list[Fraction]:
    """The loss of a stream for each record that is removed.

    Args:
        fed: whether half of the rows arrive in two batches.
    """
    random, options = Random(seed), SOURCES[name]
    frame = frame_of(random)
    source = opened(frame, options)
    unit = getattr(source, "unit", None)
    messages, variances = zip(*stream(random, unit), strict=True)
    whole = replayed(frame, options, messages, fed=fed)
    losses: list[Fraction] = []
    removed = frame["who"].unique() if unit is not None else random.sample(range(len(frame)), 8)
    for record in removed:
        rest = frame[frame["who"] != record] if unit is not None else frame.drop(record)
        without = replayed(rest, options, messages, fed=fed)
        pairs = zip(whole, without, variances, strict=True)
        squares = ((np.sum((a - b) ** 2), each) for a, b, each in pairs)
        losses.append(sum(Fraction(int(square)) / (2 * each) for square, each in squares))
    return losses


def replayed(frame: pd.DataFrame, options: Any, messages: Any, *, fed: bool) -> list[Any]:
    """The exact answers about some of the rows, which keep their indices."""

    def between(start: int, stop: int) -> pd.DataFrame:
        return frame[(frame.index >= start) & (frame.index < stop)]

    spans = ARRIVAL if fed else {}
    form = columns if options is None else pd.DataFrame
    batches = {number: form(between(at.start, at.stop)) for number, at in spans.items()}
    source = opened(between(0, 12 if fed else len(frame) + 25), options)
    found = answers(source, list(messages), batches)
    if options is not None:
        source.close()
    return found
