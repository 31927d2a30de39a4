"""An analysis is held again with the answers that its log has, and with the same steps."""

from contextlib import suppress
from typing import Any

import attrs
import numpy as np
import pytest

import curator
from composition import FiltCon
from curator.codec import CODEC
from mechanisms import (
    Count,
    ExponentialMechanism,
    Histogram,
    Laplace,
    LinearQuery,
    PrivateMultiplicativeWeights,
    SparseVector,
    Table,
    column,
)
from mechanisms.linear_queries import LATTICE, Weighted
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import (
    InteractiveMechanism,
    Measurement,
    MechanismFault,
    PureDP,
    Queryable,
    UnknownQueryError,
)
from queryable.audit import keep_batches, on_neighbours
from queryable.audit.neighbours.courses import Recalled
from queryable.audit.neighbours.recording import recorded
from queryable.audit.rows import Neighbour
from queryable.errors import CodecError, HandleError
from queryable.randomness.coins import SYSTEM, SeededCoins
from queryable.randomness.laws import Bernoulli
from queryable.randomness.sealed import SealedCoins
from queryable.statistics import Statistic
from tests.audit.neighbours.analyses import COLUMNS, counts
from tests.stored import KEY, MemoryLedger

AGES = [31, 47, 62, 18, 75]


def old(ages: list[Any]) -> int:
    return sum(1 for age in ages if isinstance(age, int) and age >= 47)


OLD = Statistic(old, l1=1, l2=1, monotone="up")


@pytest.mark.parametrize("coins", [SYSTEM, SeededCoins(4)])
def test_the_answers_of_the_log_come_out(coins: Any) -> None:
    """Numbers by shifted noise, choices by other coins; seeded coins by their numbers.

    A choice of two at odds near 1 does not come out in 32 tries once in 10^8, and there are ten.
    """
    table = Queryable(FiltCon(PureDP(9)), dict(COLUMNS), coins=coins, allow_seeded=True)
    table.launch(Laplace(Count(column("age") >= 47), epsilon=1))
    with suppress(UnknownQueryError):
        table.ask("a message that is not in the log")
    table.launch(Laplace(Histogram("clinic", ["a", "b"]), epsilon=1))
    for _ in range(10):
        table.launch(ExponentialMechanism(Histogram("clinic", ["a", "b"]), epsilon="1/10"))
    report = on_neighbours(table, 5)
    assert report.holds, report
    assert report.renewed == 0
    assert (report.messages, report.neighbours) == (13, 5)


def test_the_answers_of_a_ledger_come_out() -> None:
    handle = curator.open(MemoryLedger(), FiltCon(PureDP(9)), dict(COLUMNS), name="a", key=KEY)
    handle.launch(Laplace(Count(column("age") >= 47), epsilon=1))
    search = handle.launch(SparseVector(3, epsilon=1, cutoff=2))
    search.ask(Count(column("age") < 50))
    report = on_neighbours(handle, 5)
    assert report.holds, report
    assert report.renewed == 0
    held = recorded(Recalled.of(handle), 0).held
    assert {type(each.coins) for each in held} == {SealedCoins}  # also hidden noise is the same


def test_nothing_is_charged_and_the_view_stays() -> None:
    table = counts()
    seen, losses = len(table.view), table.privacy_loss()
    on_neighbours(table, 3)
    assert len(table.view) == seen + 1  # the report above
    assert table.privacy_loss() == losses


def test_analysts_and_children_are_refused() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    child = table.launch(FiltCon(PureDP(1)))
    with pytest.raises(HandleError, match="the root's"):
        on_neighbours(child, 3)
    with pytest.raises(HandleError, match="owner's"):
        on_neighbours("table", 3)
    with pytest.raises(TypeError, match="how many"):
        on_neighbours(table, True)
    with pytest.raises(TypeError, match="how many"):
        on_neighbours(table, 2.5)  # type: ignore[arg-type]


def test_batches_have_to_be_kept() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.feed([50])
    with pytest.raises(HandleError, match="keep_batches"):
        on_neighbours(table, 3)
    with pytest.raises(HandleError, match="before the first batch"):
        keep_batches(table)


def test_batches_differ_too() -> None:
    """A statistic that counts records twice is found where a batch differs."""
    table = Queryable(FiltCon(PureDP(9)), [])
    keep_batches(table)
    table.feed([50, 60, 10])
    twice = Statistic(lambda ages: 2 * old(ages), l1=1, l2=1)
    table.launch(Laplace(twice, epsilon=1))
    table.feed([70])
    table.launch(Laplace(OLD, epsilon=1))
    report = on_neighbours(table, 12)
    assert {(each.what, each.ratio) for each in report.broken if each.measure == "l1"} == {
        ("Statistic", 2.0)
    }


def test_neighbours_that_are_given_are_tried() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Laplace(OLD, epsilon=1))
    one, two = AGES[1:], [*AGES[2:], 90, 95]
    assert on_neighbours(table, [one, Neighbour(two, 2, 2, "", "")], d_in=4).holds
    assert on_neighbours(table, [one]).neighbours == 1
    wrong = on_neighbours(table, [[18]])
    assert wrong.smallest is not None
    assert wrong.smallest.ratio == 3


@attrs.frozen
class Responses(InteractiveMechanism[Any]):
    """Says once whether the number of records is odd, by a coin. It reads the data itself."""

    odds: Any

    def loss(self, d_in: int) -> PureDP:
        return PureDP("1.0987") if d_in == 1 else PureDP(d_in * 2)

    def init(self, dataset: Any, coins: Any = SYSTEM) -> tuple[Any, None]:
        return (bool(len(dataset) % 2), False), None

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, bool]:
        odd, asked = state
        if query != "odd" or asked:
            raise UnknownQueryError("ask once for 'odd'")
        return (odd, True), bool(coins.draw(Bernoulli(self.odds))) == odd


@pytest.mark.parametrize(("odds", "holds"), [("3/4", True), ("9/10", False)])
def test_the_law_of_a_mechanism_that_is_asked(odds: str, holds: bool) -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Responses(odds)).ask("odd")
    report = on_neighbours(table, 4)
    assert report.holds is holds, report
    assert [each.measure for each in report.worst if each.what == "Responses"] == ["law"]


@attrs.frozen
class Crowded(Measurement[Any]):
    """Says whether there are many records: with fair noise up to as many as there are."""

    most: int

    def loss(self, d_in: int) -> PureDP:
        return PureDP(d_in)

    def release(self, dataset: Any, coins: Any = SYSTEM) -> bool:
        count, toss = Statistic(len, l1=1, l2=1)(dataset), coins.draw(Bernoulli("1/2"))
        return count > self.most or bool(toss)


def test_a_law_is_compared_in_both_directions() -> None:
    """A removed record, which moves the count as far and changes nothing, is tried first."""
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Crowded(len(AGES)))
    report = on_neighbours(table, [AGES[:-1], [*AGES, 31]])
    assert not report.holds, report


def test_it_is_said_on_how_many_neighbours_a_law_is_compared() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Crowded(len(AGES) + 99))
    report = on_neighbours(table, [[*AGES, *[31] * more] for more in range(1, 12)])
    assert "neighbours only" in report.unchecked["Crowded"]


@attrs.frozen
class Wide(InteractiveMechanism[Any]):
    """Answers a number with noise to each question: too many outcomes for an exact law."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(100 * d_in)

    def init(self, dataset: Any, coins: Any = SYSTEM) -> tuple[Any, None]:
        return len(dataset), None

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        noise = DiscreteLaplace(1000)
        return state, (state + coins.draw(noise), coins.draw(noise))


def test_what_cannot_be_checked_is_named() -> None:
    table = Queryable(FiltCon(PureDP(900)), AGES)
    table.launch(Wide()).ask("how many")
    report = on_neighbours(table, 3)
    assert report.holds
    assert list(report.unchecked) == ["Wide"]
    assert "Not checked:" in str(report)


def test_failures_are_compared() -> None:
    """A constant that overflows only if a row is there, and one that never does."""
    narrow = Statistic(lambda ages: sum(np.int8(age + 100) > 0 for age in ages), l1=1, l2=1)
    table = Queryable(FiltCon(PureDP(9)), [])
    table.launch(Laplace(narrow, epsilon=1))
    report = on_neighbours(table, [[31]])
    assert report.smallest is not None
    assert (report.smallest.measure, report.smallest.ratio) == ("outcome", float("inf"))
    assert "OverflowError" in report.smallest.text
    failing = Queryable(FiltCon(PureDP(9)), AGES)
    with suppress(MechanismFault):
        failing.launch(Laplace(narrow, epsilon=1))
    assert "fails on the own data alone" in str(on_neighbours(failing, 3))


def test_weights_are_checked() -> None:
    """Weights above 1 that nothing has refused move a weighted count too far."""
    weighted = Weighted(lambda ages: np.arange(len(ages)) % 2, np.array([LATTICE, LATTICE]))
    object.__setattr__(weighted, "lattice", np.array([3 * LATTICE, LATTICE]))
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Laplace(weighted, epsilon=1))
    report = on_neighbours(table, [AGES[:-1]])
    assert report.smallest is not None
    assert report.smallest.ratio == 3


def test_records_count_though_units_are_protected() -> None:
    """A level that gets lost in a filter: rows are counted where a table protects units."""
    table = Table(dict(COLUMNS), privacy_unit="who", max_rows=1, seed=3)
    root = Queryable(FiltCon(PureDP(9)), table)
    child = root.launch(FiltCon(PureDP(5)))
    rows = Statistic(lambda data: len(data.column_values("age")), l1=1, l2=1)
    child.launch(Laplace(rows, epsilon=1))
    report = on_neighbours(root, 6)
    found = [each for each in report.broken if each.measure == "l1"]
    assert max(each.ratio for each in found) == 3  # the heaviest unit has three rows


def test_losses_at_two_records() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Laplace(OLD, epsilon=1))
    assert on_neighbours(table, 20, d_in=2).holds
    assert on_neighbours(table, [[31, 18, 75]], d_in=2).ratio == 1
    assert on_neighbours(table, [[31, 18, 75]]).ratio == 2


def test_queries_that_a_person_makes_are_alike() -> None:
    """Private multiplicative weights make a new statistic for each question that they pass on."""
    cells = Histogram("clinic", ["a", "b", "c"])
    person = PrivateMultiplicativeWeights(cells, records=8, epsilon=1, threshold=2, updates=2)
    table = Queryable(person @ FiltCon(PureDP(1)), dict(COLUMNS))
    table.ask(LinearQuery.where(column("clinic") == "a"))
    report = on_neighbours(table, 4)
    assert report.holds, report
    assert report.leaves > 0


def test_no_report_goes_over_the_wire() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    with pytest.raises(CodecError):
        CODEC.encode(on_neighbours(table, 2))


def test_the_page_says_what_it_is() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Laplace(Statistic(sum, l1=50, l2=50), epsilon=1))
    report = on_neighbours(table, [AGES[:-1]])
    text = str(report)
    assert text.startswith("CLAIMS ARE EXCEEDED, on 1 neighbour of the data.")
    assert "l1 moves by 75; 50 is declared" in text
    assert "free of charge" in text
    assert report.smallest is not None
    assert report.smallest.difference == "a data set that was given"
    assert str(on_neighbours(table, [[*AGES, 3]])).startswith("No claim is exceeded on 1 neighbour")
    unasked = Queryable(FiltCon(PureDP(9)), AGES)
    text = str(on_neighbours(unasked, [AGES[:-1]]))
    assert text.startswith("Nothing was asked that reads the data: no claim was compared on 1")


@attrs.frozen
class Pure(Measurement[int]):
    """Gaussian noise, which is not purely private, with a claim in PureDP."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(9 * d_in)

    def release(self, dataset: Any, coins: Any) -> int:
        return int(OLD(dataset)) + int(coins.draw(DiscreteGaussian(81)))


def test_gaussian_noise_is_not_pure() -> None:
    table = Queryable(FiltCon(PureDP(9)), AGES)
    table.launch(Pure())
    assert "noise" in {each.measure for each in on_neighbours(table, 5).broken}
