"""Notes on answers: each follows from released numbers and public facts, and has its place."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from curator.codec import CODEC
from mechanisms import Gaussian, GroupBy, Keys, Mean, Table, column
from mechanisms.tables.quantiles.choices import Enclosed
from mechanisms.tables.statistics.releases import Noisy, Release
from queryable import ZCDP, Queryable, SeededCoins
from queryable.answers.noisy import noisy_array
from queryable.answers.notes import all_within_noise, at_bounds, on_grid

ROWS = {
    "p": np.arange(4000) % 2000,
    "age": np.arange(4000) % 60 + 18,
    "state": np.array(["CA", "NY"])[np.arange(4000) // 2 % 2],
}
PEOPLE = Table(ROWS, privacy_unit="p", max_rows=2)
PLAIN = Table(ROWS)
RIGHT, WRONG = {"state": ["CA", "NY"]}, {"state": ["ca", "ny"]}
SOME = "it is of at most 2 rows of each p: no interval says what further rows would change"
NOISE = "all 2 groups are within noise of 0: check the spelling and the type of the keys"
COARSE = "the interval ends at neighbouring values of the grid"
GRID = range(0, 101, 5)


def notes_of(statistic: Any, **named: Any) -> tuple[str, ...]:
    """The notes on a released statistic, which are also the last lines of its text."""
    table = PEOPLE if statistic.request.per else PLAIN
    queryable = Queryable(FiltCon(ZCDP(9)), table, coins=SeededCoins(1), allow_seeded=True)
    answer = queryable.release(statistic, loss=ZCDP("1/10"), **named)
    lines = [f"note: {each}" for each in answer.notes]
    assert str(answer).splitlines()[len(str(answer).splitlines()) - len(lines) :] == lines
    assert answer._repr_html_().count("note: ") == len(lines)
    again = CODEC.decode(CODEC.encode(answer))
    assert again.notes == answer.notes
    return tuple(answer.notes)


@pytest.mark.parametrize(
    ("statistic", "named", "begins"),
    [
        (PLAIN.mean("age", 0, 100), {}, ()),
        (PEOPLE.mean("age", 0, 100), {}, (SOME,)),
        (PEOPLE.std("age", 0, 100), {}, (SOME,)),
        (PEOPLE.count(), {}, ()),
        (PEOPLE.per_unit("count", upper=50).std(), {}, ()),
        (PEOPLE.per_unit("sum", "age", 0, 200).median(range(0, 200, 5)), {}, ()),
        (PEOPLE.sum("age", 0, 30), {}, ()),
        (PLAIN.mean("age", 0, 30), {}, ("it is near the upper bound, 30: larger numbers",)),
        (PLAIN.mean("age", 70, 130), {}, ("it is near the lower bound, 70: smaller numbers",)),
        (PLAIN.variance("age", 0, 30), {}, ()),
        (PLAIN.share(column("age") >= 18), {}, ()),
        (PLAIN.group_by(RIGHT).mean("age", 0, 30), {}, ("2 of 2 are near the upper bound, 30",)),
        (PLAIN.group_by(RIGHT).count(), {}, ()),
        (PLAIN.group_by(WRONG).count(), {}, (NOISE,)),
        (PLAIN.group_by(WRONG).sum("age", 0, 9), {}, (NOISE,)),
        (PLAIN.histogram("state", ["ca", "ny"]), {}, (NOISE,)),
        (PLAIN.histogram("state", ["ca", "NY"]), {}, ()),
        (PLAIN.group_by(Keys.bins("p", [0, 1980])).mean("age", 0, 95), {}, ()),  # sum near 0
        (PEOPLE.group_by(WRONG).share(column("age") > 30), {}, (NOISE, SOME)),
        (PLAIN.group_by(RIGHT, {"age": [18]}).count(), {}, ()),
        (PLAIN.median("age", GRID), {}, ()),
        (PEOPLE.median("age", GRID), {}, (SOME,)),
        (PLAIN.median("age", [0, 100]), {}, ("the grid has 2 values",)),
        (PLAIN.median("age", [47]), {}, ("the grid has 1 value:",)),
        (PLAIN.median("age", range(60, 90)), {}, ("it is the first value of the grid: .* below",)),
        (PLAIN.median("age", range(30)), {}, ("it is the last value of the grid: .* above",)),
        (PLAIN.median("age", GRID), {"confidence": "0.95"}, (COARSE,)),
        (PLAIN.median("p", range(2000)), {"confidence": "0.95"}, ()),
        (
            PLAIN.group_by(RIGHT).quantiles("age", ["0.1", "0.5"], range(40, 60)),
            {"confidence": "0.95"},
            ("2 of 4 are the first value",),
        ),
        (PLAIN.group_by(Keys.bins("age", [0, 50, 90])).median("age", GRID), {}, ()),
    ],
    ids=str,
)
def test_what_is_noted(statistic: Any, named: dict[str, Any], begins: tuple[str, ...]) -> None:
    found = notes_of(statistic, **named)
    assert len(found) == len(begins)
    for note, beginning in zip(found, begins, strict=True):
        assert re.match(beginning, note), note


def test_notes_are_those_of_what_an_answer_is_computed_from() -> None:
    """Of a part, a margin, a sum and a quotient: once, with whose it is if not of all."""
    queryable = Queryable(FiltCon(ZCDP(9)), PEOPLE, coins=SeededCoins(1), allow_seeded=True)
    low, high = (
        queryable.release(PEOPLE.group_by(RIGHT).mean("age", 0, upper), loss=ZCDP("1/10"))
        for upper in (30, 100)
    )
    near = "2 of 2 are near the upper bound, 30"
    assert (len(low.notes), high.notes) == (2, (SOME,))
    assert low["CA"].notes[0] == SOME
    assert low["CA"].notes[1].startswith("it is near the upper bound, 30")
    assert (high["CA"] - high["NY"]).notes == (2 * high).notes == (SOME,)
    for computed in (low - high, low / high):
        both, one = computed.notes
        assert both == SOME
        assert one.startswith(f"{low.title}: {near}")
    assert (high["CA"] - queryable.release(PEOPLE.count(), loss=ZCDP("1/10"))).notes == (
        f"{high['CA'].title}: {SOME}",
    )
    nobody = queryable.release(PEOPLE.group_by(WRONG).count(), loss=ZCDP("1/10"))
    assert nobody.total().notes == nobody.notes
    assert nobody.notes[0].startswith(NOISE)


def test_an_edge_is_a_twentieth_of_the_range() -> None:
    """An estimate that is not a number is at no edge, and equal bounds have none."""
    inside = [*at_bounds(95.1 - 0.2, 0, 100), *at_bounds(5.1, 0, 100), *at_bounds(3.0, 3, 3)]
    assert inside == []
    assert len([*at_bounds(95.0, 0, 100), *at_bounds(-5.0, -10, 90)]) == 2
    [note] = at_bounds(np.array([99.0, np.nan, 50.0]), 0, 100)
    assert note.startswith("1 of 3 are near the upper bound, 100")


def test_groups_are_within_noise_together() -> None:
    """One group beyond the noise is enough; so is a count far below 0."""
    assert [*all_within_noise(np.array([3, -3, 0], dtype=object), 3)]
    assert not [*all_within_noise(np.array([3, -4, 0], dtype=object), 3)]
    assert not [*all_within_noise(np.zeros(0, dtype=object), 3)]
    [note] = all_within_noise(np.zeros(1, dtype=object), 3)
    assert note.startswith("the one group is within noise of 0")


@pytest.mark.parametrize(
    ("ends", "coarse"),
    [((4, 6), True), ((5, 5), True), ((4, 7), False), ((-1, 1), False), ((19, 21), False)],
)
def test_an_interval_is_coarse_between_neighbours(ends: tuple[int, int], coarse: bool) -> None:
    """Not where an end lies beyond the grid; of several, if all of them are."""
    found = [*on_grid(tuple(GRID), 5, ends)]
    assert [each[: len(COARSE)] for each in found] == [COARSE] * coarse
    both = (np.array([4, ends[0]]), np.array([6, ends[1]]))
    assert bool([*on_grid(tuple(GRID), np.array([5, 5]), both)]) == coarse


def test_notes_follow_from_what_was_released() -> None:
    """The same released numbers have the same notes, whatever the data were."""
    mean = Mean("age", 0, 30)
    mechanism = Gaussian(mean, rho=1)
    noise = mechanism.added_noise().law
    for vector, notes in (((15 * 100, 1400), 1), ((15 * 100, 0), 0), ((0, 1400), 0)):
        evidence = Noisy(mean, noisy_array(np.array(vector), noise))
        assert len(evidence.notes(mean.estimate(np.array(vector)))) == notes
    groups = GroupBy(RIGHT, mean)
    vector = np.array([[15 * 100, 1400], [15, 15]])  # 100 numbers near 30; 15 is within noise of 0
    found = Noisy(groups, noisy_array(vector, noise)).notes(groups.estimate(vector))
    assert [each[:31] for each in found] == ["1 of 2 are near the upper bound"]
    released = [
        Release(mechanism).release({"age": [29] * many}, SeededCoins(2)).notes for many in (50, 51)
    ]
    assert released[0] == released[1]
    assert Enclosed(1, 2, Fraction(1, 2)).notes(1) == ()
    old = CODEC.decode(b'{"@":"enclosed/1","high":2,"low":1,"most":"19/20"}')
    assert old.notes(1) == ()
