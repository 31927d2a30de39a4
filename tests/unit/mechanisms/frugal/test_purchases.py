"""What is bought: combinations, grids, prices, and how they are shown."""

from fractions import Fraction
from itertools import permutations, product
from math import isqrt
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import curator
from composition import FiltCon, OdomCon
from mechanisms import (
    Count,
    Estimate,
    Fit,
    FromModel,
    Frugal,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    Laplace,
    PrivacyUnit,
    Sum,
    Synthetic,
    column,
)
from mechanisms.frugal.asking import question_of
from mechanisms.frugal.books import Book
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.grids import MOST_AHEAD, cut_ahead
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.frugal.spread import Spread
from mechanisms.tables.expressions.predicates import Predicate
from queryable import ZCDP, Queryable, QueryError, QueryRefusedError, SeededCoins, accuracy

GROUPS = GroupBy({"city": ["a", "b"], "sex": ["m", "f", "x"]}, Count())
FACTORS = [[[1, -1], [2, 5]], [[3, 0, -4], [1, 1, 1], [0, 7, 2]]]


def rows(*cities_and_sexes: str) -> dict[str, list[str]]:
    """A table of rows such as "am": city a, sex m."""
    return {
        "city": [each[0] for each in cities_and_sexes],
        "sex": [each[1] for each in cities_and_sexes],
    }


def test_combinations_are_kronecker_products() -> None:
    data = rows("am", "am", "bf", "bx", "ax")
    counts = np.array([[2, 0, 1], [0, 1, 1]])
    expected = np.kron(*map(np.array, FACTORS)) @ counts.reshape(-1)
    assert Combined(GROUPS, FACTORS)(data).reshape(-1).tolist() == expected.tolist()
    combined = Combined(Sum("age", -3, 90), [[[1], [2]]])
    assert combined.l1 == 270
    assert combined.l2 == 202  # 90 sqrt(5), rounded up
    assert Gaussian(combined, variance=202**2).loss(1).rho == Fraction(1, 2)


def test_one_row_moves_it_by_l2_and_l1_at_most_and_that_is_reached() -> None:
    """The exact change of every possible row; the bound is the largest, rounded up."""
    combined = Combined(GROUPS, FACTORS)
    nothing = combined(rows())
    squares, sums = set(), set()
    for city, sex in product("ab", "mfx"):
        change = combined(rows(city + sex)) - nothing
        squares.add(int((change.astype(object) ** 2).sum()))
        sums.add(int(abs(change).sum()))
    root = isqrt(max(squares))
    assert combined.l2 == root + (root * root < max(squares))
    assert combined.l1 == max(sums)


CITIES = {"city": ["a", "a", "b"]}
TOTAL = Gaussian(Combined(Count(), [[[1000]]]), variance=Fraction(100))


def by(column: str) -> Gaussian:
    """Two combinations of the counts of a and b."""
    groups = GroupBy({column: ["a", "b"]}, Count())
    return Gaussian(Combined(groups, [[[1000, 0], [0, 1000]]]), variance=Fraction(100))


def test_parts_add_up_and_are_checked_before_the_charge() -> None:
    together = GaussiansTogether([TOTAL, by("city")])
    assert together.loss(1) == ZCDP(TOTAL.loss(1).rho + by("city").loss(1).rho)
    assert together.loss(2).rho == 4 * together.loss(1).rho
    total, each = together.release(CITIES, SeededCoins(1))
    assert abs(int(total[0]) - 3000) < 100
    assert abs(each - [2000, 1000]).max() < 100
    assert int(total[0]) - 3000 != int(each.sum()) - 3000  # the noise is drawn for each
    root = Queryable(FiltCon(ZCDP(10**9)), CITIES, coins=SeededCoins(3), allow_seeded=True)
    with pytest.raises(QueryError):
        root.launch(GaussiansTogether([TOTAL, by("town")]))
    assert root.privacy_loss() == ZCDP(0)
    # Data were checked for the widest part, and another one failed after the charge.
    units = None, PrivacyUnit("who", max_rows=2), PrivacyUnit("who", max_rows=3)
    parts = [Gaussian(Combined(Count(per=per), [[[1000]]]), variance=100) for per in units]
    for one, other in permutations(parts, 2):
        with pytest.raises(ValueError, match="one privacy unit in one way"):
            GaussiansTogether([one, other])
    assert GaussiansTogether(parts[1:2] * 2).loss(1).rho == 2 * parts[1].loss(1).rho


ONE = Spread(Fraction(2), Fraction(1), 1, Fraction(0), Fraction(4), ((Fraction(1), 1, 1),))


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: -1} for name in ("variance", "square", "offset", "mixed", "coordinates")),
        *({"variance": "x"}, {"coordinates": 1.5}, {"fresh": 1}, {"dimensions": None}),
        *({"dimensions": ((Fraction(1), 1),)}, {"dimensions": ((Fraction(-1), 1, 1),)}),
        *({"dimensions": ((Fraction(1), 1, 0),)}, {"dimensions": ((Fraction(1), -1, 1),)}),
    ],
    ids=str,
)
def test_its_numbers_are_checked(wrong: dict[str, Any]) -> None:
    """The log of a ledger's number, and roots of all others, are taken."""
    assert ONE.always(Fraction(1, 20)) > 0
    with pytest.raises((TypeError, ValueError)):
        attrs.evolve(ONE, **wrong)


A = column("a")


def places(*constants: Fraction | int | str, side: int = 0) -> list[Fraction]:
    """The places on one side after cuts at these constants."""
    cuts = {(Fraction(each), side): 0 for each in constants}
    cut_ahead(list(cuts), cuts, {})
    return sorted(place for place, its in cuts if its == side)


def codes(*values: int | str) -> list[Fraction]:
    found = {Fraction(each): 0 for each in values}
    cut_ahead([], {}, found)
    return sorted(found)


@pytest.mark.parametrize("side", [0, 1])
def test_a_grid_has_24_round_steps_from_0_or_around_the_constants(side: int) -> None:
    """And one more constant, twice the last."""
    assert places(10, 110, side=side) == [*range(0, 241, 10), 480]
    assert places(1990, 1999, side=side) == [*range(1983, 2007), 4012]
    assert places(-20, -11, side=side) == list(range(-27, -3))
    assert places("1/4", "3/4", side=side)[:3] == [0, Fraction(1, 4), Fraction(1, 2)]


def test_grids_are_of_the_constants_of_questions() -> None:
    """Few constants often have a common divisor that is a multiple of the step."""
    assert places(10, 16)[:3] == [0, 1, 2]
    assert places(500, 1500)[:3] == [0, 250, 500]
    assert places(60, 65)[:2] == [0, 5]
    assert places(0, 60, 600)[1] == 20
    assert places(0, 10, 100)[1] == 10
    assert places(65) == [65]
    assert places(0, 1, MOST_AHEAD - 1) == [*range(MOST_AHEAD), 2 * (MOST_AHEAD - 1)]
    assert places(0, 1, MOST_AHEAD) == [0, 1, MOST_AHEAD]
    assert places("0.1", "700.03") == [Fraction("0.1"), Fraction("700.03")]
    # Not of those that were cut ahead: a finer step would make too many of them.
    book = axis(axis(Book(Count()), (A >= 100) & (A < 600)), (A >= 330) & (A < 410))
    (found,) = book.axes.values()
    assert {place for place, _ in found.asked} == {100, 600, 330, 410}
    assert len(found.places) > len(found.asked)


def test_values_are_codes_if_they_are_small_whole_numbers() -> None:
    assert codes(6) == list(range(13))
    assert codes(12) == list(range(19))
    assert codes(1) == [0, 1]
    assert codes("1/2") == [Fraction(1, 2)]
    assert codes(-1, 3) == [-1, 3]
    assert codes(94110) == [94110]
    for values in ({"a": "a"}, {Fraction(3): 3}):
        cuts = {(Fraction(2), 0): 2}
        known = dict(values)
        cut_ahead(list(cuts), cuts, known)
        assert (cuts, known) == ({(Fraction(2), 0): 2}, values)
    for told, atoms in ((True, 4), (False, 28)):
        book = axis(Book(Count()), (A >= 20) & (A < 60), told=told)
        assert [len(each.atoms) for each in book.axes.values()] == [atoms]
        (found,) = axis(book, A >= 40).axes.values()
        assert len(found.atoms) == atoms + told
    bins = Keys.bins("a", range(0, 50, 10))
    (found,) = Frugal(axes=bins)._book(Count()).axes.values()
    assert [float(place[0]) for place, _ in found.places] == [0, 10, 20, 30, 40]


def axis(book: Book, where: Predicate, *, told: bool = False) -> Book:
    found = book.cut(question_of(Count(where)).boxes, told=told)
    assert found is not None
    return found


def test_shares_are_equal_until_something_was_released() -> None:
    book = axis(axis(Book(Count()), A >= 20), A >= 40)
    (found,) = book.axes.values()
    assert len(set(found.shares)) == 1
    root = Queryable(
        Frugal() @ FiltCon(ZCDP(10)), {"a": [30] * 50}, coins=SeededCoins(1), allow_seeded=True
    )
    assert root.ask(Estimate(Count(A == 6), 20, fixed_in_advance=True)).cost.rho > 0
    for code in (0, 3, 12):  # bought with the first
        assert root.ask(Estimate(Count(A.is_in([code])), 25, fixed_in_advance=True)).cost.rho == 0
    assert root.ask(Estimate(Count(A == 13), 20, fixed_in_advance=True)).cost.rho > 0


age = column("age")
BINS = [0, 25, 50, 75, 100]
WORKERS = {"age": [31, 47, 62, 28] * 20, "hours": [1, 5] * 40}
ASKED = [Count((age >= low) & (age < high)) for low in BINS[:-1] for high in BINS if low < high]
PLANS: dict[str, tuple[Frugal, list[Any]]] = {
    "told": (Frugal(axes=Keys.bins("age", BINS)), ASKED),
    "untold": (Frugal(), ASKED[:6]),
    "planned": (Frugal(ASKED), ASKED),
    "histograms": (Frugal(), [Histogram("age", bins=BINS), *ASKED]),
    "groups and sums": (Frugal(), [GroupBy(Keys.bins("age", BINS), Sum("hours", 0, 9))] * 2),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_price_is_the_charge(name: str) -> None:
    """To the accuracy of a half-width, which `accuracy` rounds to whole rows."""
    person, asked = PLANS[name]
    launches = [Gaussian(each, variance=10**6) for each in asked]
    root = Queryable(person @ FiltCon(ZCDP(10)), WORKERS, coins=SeededCoins(1), allow_seeded=True)
    for each, launch in zip(asked, launches, strict=True):
        within = accuracy(launch, "0.95") if each.shape is None else 1960
        root.ask(Estimate(each, within, fixed_in_advance=True))
    charged = root.privacy_loss()
    assert isinstance(charged, ZCDP)
    assert float(person.priced(launches).rho) == pytest.approx(float(charged.rho), rel=5e-3)


def test_equal_launches_cost_less_than_on_their_own() -> None:
    launches = [Gaussian(Count(age >= 50), rho="1/100")] * 5
    price = Frugal().priced(launches)
    assert ZCDP("1/100") <= price
    assert price <= ZCDP("11/1000")
    assert Frugal().priced([]) == ZCDP(0)


@pytest.mark.parametrize(
    "launch",
    [Laplace(Count(), scale=1), Gaussian(Count(lambda rows: rows["age"] > 3), rho=1), Count(), 3],
    ids=["Laplace", "function", "statistic", "number"],
)
def test_others_have_no_price(launch: Any) -> None:
    with pytest.raises(ValueError, match="has no price"):
        Frugal().priced([Gaussian(Count(), rho=1), launch])


AGE = column("age")
PEOPLE = {"age": [each % 60 for each in range(600)], "sex": [each % 2 for each in range(600)]}


def asked(root: Queryable) -> Queryable:
    """A person that bought twice, answered for nothing, launched, was refused, and bought again."""
    person = root.launch(Frugal() @ FiltCon(ZCDP(1)))
    for within in (60, 60, 20):
        person.ask(Estimate(Count(AGE >= 30), within, fixed_in_advance=True))
    person.launch(Gaussian(Count(), rho="1/10"))
    with pytest.raises(QueryRefusedError):
        person.ask(Estimate(Count(AGE >= 30), 1, fixed_in_advance=True))
    person.ask(Estimate(Count(AGE >= 40), 20, fixed_in_advance=True))
    return person


def opened() -> Queryable:
    return Queryable(FiltCon(ZCDP(2)), PEOPLE, coins=SeededCoins(3), allow_seeded=True)


def charged(person: Queryable) -> object:
    return sum(row.loss.rho for row in person.ledger() if row.outcome == "charged")


def test_the_tree_and_the_ledger_show_what_was_bought() -> None:
    person = asked(opened())
    spent = person.privacy_loss()
    assert f"spent {spent}, remaining " in person.tree()
    assert person.tree().count("Estimate: Count where") == 3
    bought = [row for row in person.ledger() if row.mechanism.startswith("Estimate")]
    assert [row.outcome for row in bought] == ["charged"] * 3
    assert charged(person) == spent.rho
    assert person.ledger().to_pandas()["loss_rho"].notna().all()
    # Of an odometer, and of a budget for groups of records: costs are stated for one record.
    for below in (OdomCon(ZCDP), FiltCon(ZCDP(4), d_in=2)):
        person = Queryable(Frugal() @ below, PEOPLE, coins=SeededCoins(3), allow_seeded=True)
        answer = person.ask(Estimate(Count(AGE >= 30), 60, fixed_in_advance=True))
        assert [row.loss for row in person.ledger()] == [answer.cost]
        assert "spent" not in person.tree()


def test_the_view_is_the_same_after_reopening(tmp_path: Path) -> None:
    place, shown = tmp_path / "visits.db", []
    for _ in range(2):
        root = curator.open(place, FiltCon(ZCDP(2)), PEOPLE, name="visits")
        if not shown:
            asked(root)
        person = root.children[0]
        shown.append([str(root.ledger()), root.tree(), person.tree(), str(person.ledger())])
        curator.release(root)
    assert shown[0] == shown[1]


def test_fits_of_a_model_are_shown() -> None:
    """The part of a fit that a refusal ended is in what is spent, as the refusal states it."""
    model = Synthetic({"sex": [0, 1], "age": list(range(60))}) @ FiltCon(ZCDP("1/10"))
    person = opened().launch(model)
    person.ask(Fit("1/50", rounds=1))
    person.ask(FromModel(Count(column("sex") == 1)))
    assert charged(person) == person.privacy_loss().rho > 0
    assert f"spent {person.privacy_loss()}, remaining " in person.tree()
    for _ in range(2):
        with pytest.raises(QueryRefusedError):
            person.ask(Fit("1/5", rounds=1))
        assert f"spent {person.privacy_loss()}, remaining " in person.tree()
