"""Tickets: their tables bound the curve, and every one of them together makes the exact law."""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from mechanisms.sampling import blocks
from mechanisms.sampling.blocks import Curve, Tickets, coin
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import SeededCoins
from queryable.losses.numbers import enclosed
from queryable.randomness.laws import FairBits
from tests.strategies import Words

mp.prec = 300
CURVES: list[Any] = [
    *(DiscreteLaplace("1e-30"), DiscreteLaplace("1/3"), DiscreteLaplace(10)),
    *(DiscreteLaplace("1000/7"), DiscreteLaplace(1000), DiscreteLaplace(10**6)),
    *(DiscreteLaplace(2**50), DiscreteGaussian("1/50"), DiscreteGaussian(1)),
    *(DiscreteGaussian(127**2), DiscreteGaussian("200001/10"), DiscreteGaussian(10**6)),
    DiscreteGaussian(10**24),
]


def curve_value(law: Any, x: Any) -> mpf:
    """f at a real number, by another library than the one under test."""
    x = mpf(x)
    if isinstance(law, DiscreteLaplace):
        return mp.exp(-x * law.scale.denominator / law.scale.numerator)
    return mp.exp(-x * x * law.variance.denominator / (2 * law.variance.numerator))


def true_height(table: Tickets, magnitude: int) -> mpf:
    return table.peak * curve_value(table.curve, magnitude)


@pytest.mark.parametrize("law", CURVES, ids=str)
def test_tables_bound_the_curve_at_every_edge(law: Any) -> None:
    """In each block C f lies between the tickets that are sure and all of them, and near both."""
    table = Tickets(law)
    for entry, least, most in zip(table.block.tolist(), table.least, table.most, strict=True):
        first = abs(entry) << table.bits
        highest = true_height(table, first)
        lowest = highest if table.two_sided else true_height(table, first + table.width)
        assert lowest - 2 < least <= lowest
        assert highest <= most < highest + 2
    assert true_height(table, table.tail_start) < mpf(table.peak) / 2**20


@pytest.mark.parametrize("law", CURVES, ids=str)
def test_tail_tickets_cover_the_tail(law: Any) -> None:
    """They are worth at least a geometric envelope of C f, and little more."""
    table = Tickets(law)
    start = table.tail_start
    ratio = curve_value(law, start + 1) / curve_value(law, start)
    needed = true_height(table, start) / (1 - ratio) * (2 if table.two_sided else 1) / table.width
    assert needed <= table.tail <= needed * (1 + mpf(2) ** -40) + 2


def test_nearly_every_ticket_is_of_use() -> None:
    """Few tickets mean "again", and the table decides most: the speed rests on both."""
    for law in CURVES:
        table = Tickets(law)
        used = sum(table.most) + table.tail
        assert 2**64 - 4 * len(table.most) - 8 <= used < 2**64
        assert np.mean(table.table == np.iinfo(np.int16).min) < 0.06


def misjudged(table: Tickets, offsets: Callable[[int], list[int]]) -> int:
    """How many heights near the curve are called surely below or surely above it, wrongly.

    At each offset of each block: the true height, and the last that is called below and the first
    that is called above, with their neighbours.
    """
    wrong = 0
    unit = 1 << table.shift
    for index, entry in enumerate(table.block.tolist()):
        for offset in offsets(table.width):
            true = true_height(table, (entry << table.bits) + offset)
            finer = 20 - table.bits
            part = offset << finer if finer >= 0 else offset >> -finer
            chord = int(table.chord[index]) - (int(table.drop[index]) * part >> 20)
            margin = int(table.margin[index])
            near = {int(true) + step for step in (-unit, -1, 0, 1, unit)}
            near |= {
                (chord + side * margin + step) * unit + fine
                for side in (-1, 1)
                for step in (-2, -1, 0, 1)
                for fine in (0, unit - 1)
            }
            heights = [each for each in near if 0 <= each < 2**63]
            below, above = table._compared(
                np.full(len(heights), index),
                np.array(heights, dtype=np.uint64),
                np.full(len(heights), offset),
            )
            for height, is_below, is_above in zip(heights, below, above, strict=True):
                wrong += bool(is_below and height + 1 > true)
                wrong += bool(is_above and height < true)
    return wrong


def every(width: int) -> list[int]:
    return list(range(width))


def some(width: int) -> list[int]:
    return sorted({0, 1, width // 3, width // 2, width - 2, width - 1})


@pytest.mark.parametrize(
    ("law", "bits", "offsets"),
    [
        (DiscreteLaplace(200), None, every),
        (DiscreteGaussian("160001/4"), None, every),
        (DiscreteLaplace("1000/7"), 7, every),
        (DiscreteGaussian(64**2), 6, every),
        (DiscreteGaussian(64**2), 7, every),
        pytest.param(DiscreteLaplace(10**9), None, some, marks=pytest.mark.slow),
        pytest.param(DiscreteGaussian(10**24), None, some, marks=pytest.mark.slow),
        (DiscreteGaussian(2**100 - 1), None, some),
        (DiscreteLaplace(2**50), None, some),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_what_the_margin_decides_is_true(law: Any, bits: int | None, offsets: Any) -> None:
    """Whatever is decided without looking at the curve itself is decided rightly."""
    assert misjudged(Tickets(law, bits=bits), offsets) == 0


@pytest.mark.parametrize("law", [DiscreteLaplace(64), DiscreteGaussian(64**2)], ids=str)
@pytest.mark.parametrize("bits", [5, 6])
def test_a_smaller_margin_decides_wrongly(law: Any, bits: int) -> None:
    """The test above sees a margin half of what it should be, and not one that is just right."""
    table = Tickets(law, bits=bits)
    table.margin = table.margin // 2
    assert misjudged(table, every) > 0
    assert misjudged(tightened(Tickets(law, bits=bits)), every) == 0


def tightened(table: Tickets) -> Tickets:
    """The same with margins as small as they may be."""
    unit = 1 << table.shift
    largest = []
    for index, entry in enumerate(table.block.tolist()):
        distances = [
            abs(
                int(table.chord[index])
                - (int(table.drop[index]) * (offset << 20 - table.bits) >> 20)
                - true_height(table, (entry << table.bits) + offset) / unit
            )
            for offset in range(table.width)
        ]
        largest.append(int(mp.ceil(max(distances))))
    assert all(small <= large for small, large in zip(largest, table.margin, strict=True))
    table.margin = np.array(largest)
    return table


@pytest.mark.parametrize("law", CURVES, ids=str)
def test_bends_and_falls(law: Curve) -> None:
    """The bound on the second derivative holds everywhere; ratios of neighbours are exact."""
    spread = max(law.spread, 1)
    bend = mpf(law.bend.numerator) / law.bend.denominator
    reach = law.scale if isinstance(law, DiscreteLaplace) else law.variance  # type: ignore[attr-defined]
    unit = mpf(reach.numerator) / reach.denominator
    unit = unit if isinstance(law, DiscreteLaplace) else mp.sqrt(unit)
    for step in range(80):
        x = unit * step / 8
        f = curve_value(law, x)
        second = f / unit**2
        if isinstance(law, DiscreteGaussian):
            second *= (x / unit) ** 2 - 1
        assert abs(second) <= bend * (1 + mpf(10) ** -50)
    for magnitude in (0, 1, spread, 5 * spread):
        fall = law.fall(magnitude)
        got = mp.exp(-mpf(fall.numerator) / fall.denominator)
        want = curve_value(law, magnitude + 1) / curve_value(law, magnitude)
        assert abs(got / want - 1) < mpf(10) ** -40
        low, high = enclosed(lambda at=magnitude: law.height(at), 200)  # type: ignore[misc]
        assert low <= curve_value(law, magnitude) * mpf(2) ** 200 <= high <= low + 2


class Once(Tickets):
    """Draws once: what is rejected stays out, marked."""

    rejected = 10**6
    drawn = False

    def draw(self, source: FairBits, count: int) -> Any:
        if self.drawn:
            return np.full(count, self.rejected)
        self.drawn = True
        return super().draw(source, count)


class Listed(FairBits):
    """Gives every ticket with every place: cells, then places, then the tickets' lower bits."""

    def __init__(self, table: Tickets) -> None:
        lower = table.ticket - table.cell
        places = 1 if table.two_sided else 2 << table.bits
        cell, place, low = np.meshgrid(
            np.arange(1 << table.cell), np.arange(places), np.arange(1 << lower), indexing="ij"
        )
        self.count = cell.size
        undecided = (table.table == np.iinfo(np.int16).min)[cell.ravel()]
        self.answers = [cell.ravel() << (16 - table.cell)]
        if places > 1:
            self.answers.append(place.ravel() << (16 - table.bits - 1))
        self.answers.append(low.ravel()[undecided] << (16 - lower))

    def bytes(self, count: int) -> bytes:
        given = self.answers.pop(0).astype("<u2").tobytes()
        assert len(given) == count
        return given

    def bits(self, count: int) -> int:
        raise AssertionError("no more bits")


@pytest.mark.parametrize(
    ("law", "bits"),
    [
        (DiscreteLaplace("1/2"), None),
        (DiscreteLaplace(3), None),
        (DiscreteGaussian(2), None),
        (DiscreteLaplace(5), 1),
        (DiscreteGaussian(9), 1),
        (DiscreteLaplace(7), 2),
        (DiscreteGaussian(16), 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_all_tickets_together_make_the_law(
    law: Any, bits: int | None, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every ticket, offset and sign of a table of 2**12 tickets: each x comes C f(x) times.

    A coin adds its chance. Where the margin is negative, nothing is open and the sums are off.
    """
    table = Once(law, bits=bits, ticket=12, cell=6)
    if wrong:
        table.margin = table.margin * 0 - 1
    chances: dict[int, Fraction] = defaultdict(Fraction)
    tails = 0

    def tossed(self: Tickets, magnitude: int, height: int) -> Any:
        low, _ = enclosed(lambda: Tickets._left(self, magnitude, height), 200)
        chances[magnitude] += Fraction(min(max(low, 0), 2**200), 2**200)
        return arb(0)

    def no_tail(self: Tickets, source: FairBits) -> None:
        nonlocal tails
        tails += 1

    monkeypatch.setattr(Once, "_left", tossed)
    monkeypatch.setattr(Once, "_draw_tail", no_tail)
    monkeypatch.setattr(blocks, "coin", lambda chance, source: bool(chance() == 1))
    source = Listed(table)
    counts = Counter(table.draw(source, source.count).tolist())
    places = 1 if table.two_sided else 2 * table.width
    assert tails == table.tail * places
    assert counts[Once.rejected] < source.count
    off = 0
    for magnitude in range(table.tail_start):
        sides = 2 if magnitude else 1
        tossed_to = Fraction(chances[magnitude])
        if not (magnitude or table.two_sided):
            tossed_to /= 2  # as many for minus zero, which is rejected whatever the coin says
        came = sum(counts[x] for x in {magnitude, -magnitude}) + tossed_to
        want = sides * mp.mpf(true_height(table, magnitude))
        off += abs(mpf(came.numerator) / came.denominator - want) > mpf(2) ** -150
    assert bool(off) == wrong


@pytest.mark.parametrize("law", CURVES, ids=str)
@pytest.mark.parametrize("more", [0, 1, 1000])
def test_the_tail_makes_up_for_its_proposals(
    law: Any, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tail tickets, times the chance to propose x and to keep it, are worth C f(x) a side."""
    table = Tickets(law)
    kept: list[Any] = []
    monkeypatch.setattr(blocks, "geometric", lambda top, bottom, source: more)
    monkeypatch.setattr(blocks, "coin", lambda chance, source: bool(kept.append(chance)))
    assert table._draw_tail(SeededCoins(1)) is None
    low, high = (mpf(each) / mpf(2) ** 400 for each in enclosed(kept[0], 400))
    fall = mpf(law.fall(table.tail_start).numerator) / law.fall(table.tail_start).denominator
    ratio = mp.exp(-fall)
    proposed = (1 - ratio) * mp.exp(-fall * more)
    worth = table.tail * table.width * proposed / (2 if table.two_sided else 1)
    true = true_height(table, table.tail_start + more)
    close = true * mpf(2) ** -200 + worth * mpf(2) ** -390
    assert low * worth - close <= true <= high * worth + close
    assert high <= 1


def test_a_coin_draws_until_it_is_decided() -> None:
    """A third: below its first 64 bits, above them, and on them where the next 64 decide."""
    third, top = 2**64 // 3, 2**64 - 1
    for words, expected in [
        ((0,), True),
        ((third - 1,), True),
        ((third + 1,), False),
        ((top,), False),
        ((third, third - 1), True),
        ((third, third + 1), False),
        ((third, third, 0), True),
        ((third, third, top), False),
    ]:
        source = Words(*words)
        assert coin(lambda: arb(1) / 3, source) is expected
        assert source.words == []


@pytest.mark.parametrize(("chance", "expected"), [(-1, False), (0, False), (1, True), (2, True)])
def test_a_coin_out_of_range_is_certain(chance: int, expected: bool) -> None:
    """What a height far from the curve makes: a chance below 0 or above 1."""
    for word in (0, 2**63, 2**64 - 1):
        assert coin(lambda: arb(chance), Words(word)) is expected


@pytest.mark.parametrize("law", [DiscreteLaplace("3/2"), DiscreteLaplace(10**9)], ids=str)
def test_draws_beyond_64_bits_are_exact(law: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tail value that no int64 holds makes an array of Python integers, and nothing wraps."""
    table = Tickets(law)
    far = 2**70
    table._starts[1:-1] = table._starts[0]  # whatever the table leaves open is the tail's
    monkeypatch.setattr(blocks, "geometric", lambda top, bottom, source: far)
    monkeypatch.setattr(blocks, "coin", lambda chance, source: True)
    drawn = table.draw(SeededCoins(1), 20_000)
    assert drawn.dtype == object
    assert {type(each) for each in drawn} == {int}
    reached = {each for each in drawn if abs(each) > 2**63}
    assert reached == {far + table.tail_start, -far - table.tail_start}


@pytest.mark.parametrize("law", CURVES, ids=str)
@pytest.mark.parametrize("count", [0, 1, 256, 40_000])
def test_draws_are_int64_and_replay(law: Any, count: int) -> None:
    """A seed fixes an array of draws, of any length."""
    table = Tickets(law)
    drawn, again = (table.draw(SeededCoins(5), count) for _ in range(2))
    assert drawn.dtype == np.int64
    assert drawn.shape == (count,)
    assert np.array_equal(drawn, again)
    if count > 256 and law.spread > 1:
        assert not np.array_equal(drawn, table.draw(SeededCoins(6), count))
        assert {-1, 1} <= set(np.sign(drawn).tolist())
