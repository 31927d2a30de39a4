"""What a launch holds, whether it fits the data, and how accurate it is."""

import gc
import weakref
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from composition import Blocks, FiltCon, OdomCon
from mechanisms import (
    Count,
    Gaussian,
    Histogram,
    Laplace,
    Mean,
    RandomizedResponse,
    SparseVector,
    Sum,
    Table,
    TreeCounter,
    column,
)
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.statistics.releases import Release
from queryable import (
    ZCDP,
    InteractiveMechanism,
    Launch,
    Measurement,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
    UserLevel,
    accuracy,
    rehearse,
)
from queryable.answers.half_widths import half_width
from queryable.checks import held as module
from queryable.checks.datasets import Described
from queryable.checks.fit import require_answerable
from queryable.checks.held import MOST_NESTED, held, nesting
from queryable.checks.scales import scale_for
from tests.laws.subjects import SUBJECTS, Subject
from tests.reference import mp, real
from tests.strategies import Recorder


class Narrow(Described):
    """Takes one statistic, and says that it is asked."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked: list[Any] = []

    def check(self, statistic: Any) -> None:
        self.asked.append(statistic)
        raise self.error


def test_a_statistic_that_does_not_fit_is_an_error_and_not_charged() -> None:
    """Wrong names, wrong types and a forgotten unit; the table goes on."""
    rows = {"person": [1, 1, 2], "city": ["Lyon", "Graz", None]}
    with Table(rows, privacy_unit="person", max_rows=2) as table:
        per = table.unit
        wrong = {
            "no column 'town'": Count(column("town") == "Lyon", per=per),
            "visits.count.., or give per=visits.unit": Count(),
            "does not compare": Count(column("city") == b"3", per=per),
        }
        for parent in (FiltCon(ZCDP(1)), OdomCon(ZCDP)):
            queryable = Queryable(parent, table)
            inner = queryable(FiltCon(ZCDP("1/2")))
            search = queryable(SparseVector(1, 1, sensitivity=2))
            before = queryable.privacy_loss()
            for why, statistic in wrong.items():
                for handle in (queryable, inner):
                    with pytest.raises(QueryError, match=why):
                        handle(Gaussian(statistic, rho="1/100"))
                with pytest.raises(QueryError, match=why):
                    search(statistic)
            assert queryable.privacy_loss() == before
            assert not inner.privacy_loss().rho
            assert isinstance(inner(Gaussian(Count(per=per), rho="1/100")), int)
            assert isinstance(search(Count(per=per)), bool)


def test_a_description_is_asked_and_a_list_has_none() -> None:
    """A list of records says nothing publicly, and user functions are not checked."""
    described = Narrow(KeyError("no"))
    require_answerable(described, Gaussian(Statistic(len, l1=1, l2=1), rho=1))
    require_answerable(described, Recorder([]))
    require_answerable(described, "no mechanism")
    assert described.asked == []
    require_answerable([1, 2], Gaussian(Count(column("a") > 1), rho=1))
    with pytest.raises(QueryError, match=r"^no\. .* does not fit the table"):
        require_answerable(described, Gaussian(Histogram("a", [1]), rho=1))
    with pytest.raises(QueryError):
        require_answerable(described, Count())


def test_an_error_of_the_description_is_left_to_the_launch() -> None:
    """Such an error does not end the tree."""
    queryable = Queryable(FiltCon(PureDP(1)), Narrow(RuntimeError("engine")))
    require_answerable(Narrow(RuntimeError("engine")), Count())
    assert queryable.privacy_loss() == PureDP(0)


@pytest.mark.parametrize(
    "data", [{"who": []}, pd.DataFrame({"who": []}), pa.table({"who": []}), np.zeros(0)]
)
@pytest.mark.parametrize(
    "mechanism",
    [
        TreeCounter(Count(), epsilon=1, neighbours=UserLevel("whom", 2)),
        Blocks(FiltCon(ZCDP("1/2")), unit="whom", unit_blocks=2, unit_rows=2),
    ],
    ids=["counter", "blocks"],
)
@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
def test_a_column_of_units_that_is_not_there_is_not_charged(data: Any, mechanism: Any) -> None:
    """Names of columns are public. A list of records states none, so it is not checked."""
    table = Queryable(FiltCon(ZCDP(1)), data)
    with pytest.raises(QueryError, match="no column 'whom' that names units; the columns are"):
        table.launch(mechanism)
    assert table.privacy_loss() == ZCDP(0)
    table.feed(data)
    with pytest.raises(QueryError, match="Nothing is charged"):
        table.launch(mechanism)
    assert isinstance(Queryable(FiltCon(ZCDP(1)), []).launch(mechanism), Queryable)


def test_a_class_of_an_analysts_own_may_end() -> None:
    """Its functions hold the variables of where it was written, and so data."""

    class Passing(InteractiveMechanism[None]):
        def init(self, dataset: Any, coins: Any) -> Any:
            return None, "started"

        def step(self, state: None, query: Any, coins: Any) -> Any:
            return None, query

        def loss(self, d_in: int = 1) -> PureDP:
            return PureDP(0)

    root = Queryable(FiltCon(PureDP(1)), [1])
    assert root.launch(Passing())("hello") == "hello"
    assert held([Passing(), 3]) != []
    gone = weakref.ref(Passing)
    del Passing, root
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_what_is_remembered_is_what_a_walk_finds(subject: Subject) -> None:
    """For every mechanism, alone and in a message."""
    mechanism = subject.mechanism
    for each in (mechanism, Launch(mechanism), [mechanism, mechanism]):
        walked = module._held(each)
        for _ in range(3):
            found = held(each)
            assert len(found) == len(walked)
            assert all(one is other for one, other in zip(found, walked, strict=True))
            assert nesting(each) == module._levels(each)


@attrs.frozen
class Own(Measurement[int]):
    """A measurement of an analyst's own, which evaluates what is in a list."""

    parts: Any

    def loss(self, d_in: int) -> PureDP:
        return PureDP("1/10")

    def release(self, dataset: Any, coins: Any) -> int:
        return 1


def test_what_can_change_is_looked_through_again() -> None:
    """A statistic that does not fit is put into a list, or into a class that is not frozen."""

    @attrs.define
    class Holder:
        inside: Any

    q = Queryable(FiltCon(PureDP(1)), {"age": [1]})
    wrong = Laplace(Count(column("height") > 3), epsilon="1/9")
    for held_in, put in (
        (listed := list[Any](), lambda: listed.append(wrong)),
        (holder := Holder(()), lambda: setattr(holder, "inside", wrong)),
    ):
        mine = Own((held_in,))
        assert [q.launch(mine), q.launch(mine)] == [1, 1]
        put()
        with pytest.raises(QueryError, match="height"):
            q.launch(mine)


def test_what_is_remembered_keeps_no_value() -> None:
    """A frozen class of an analyst's own may end as well, and its values."""

    @attrs.frozen
    class Mine(Own):
        pass

    mine = Mine((Laplace(Count(), epsilon="1/9"),))
    assert nesting(Launch(mine)) == 5
    assert len(held(mine)) == 3
    assert module._known(mine) is not None
    gone = weakref.ref(Mine), weakref.ref(mine), weakref.ref(mine.parts[0])
    del Mine, mine
    gc.collect()
    assert [each() for each in gone] == [None] * 3


def test_a_launch_that_is_nested_too_deep_is_refused_again() -> None:
    """Its mechanism has as many levels as a message may have, and is remembered."""
    nested: Any = ()
    for _ in range(MOST_NESTED - 2):
        nested = (nested,)
    q, mine, refusals = Queryable(FiltCon(PureDP(1)), [1]), Own(nested), set[str]()
    for _ in range(2):
        with pytest.raises(QueryError, match="nested too deep") as refused:
            q.launch(mine)
        refusals.add(str(refused.value))
        assert module._known(mine) is not None
    assert len(refusals) == 1
    assert nesting(mine) == MOST_NESTED
    assert q.privacy_loss() == PureDP(0)
    less = Own(nested[0])
    assert [q.launch(less), q.launch(less)] == [1, 1]


LAWS = [
    DiscreteLaplace("1/3"),
    DiscreteLaplace(1),
    DiscreteLaplace(50),
    DiscreteGaussian("1/10"),
    DiscreteGaussian(2),
    DiscreteGaussian(400),
    DiscreteGaussian(64**2),
    DiscreteGaussian(100**2),
]


def true_tail(law: Any, k: int) -> Any:
    """P(|X| > k) summed term by term at sixty digits."""
    beyond = sums(law)
    return 2 * beyond[k + 1] / (2 * beyond[0] - 1)


@cache
def sums(law: Any) -> list[Any]:
    """What the terms from each magnitude on sum to, smallest first."""
    if isinstance(law, DiscreteLaplace):
        terms = [mp.exp(-x / real(law.scale)) for x in range(int(80 * law.scale) + 80)]
    else:
        terms = [mp.exp(-x * x / (2 * real(law.variance))) for x in range(20 * law.spread + 40)]
    return list(accumulate(reversed(terms), initial=mp.mpf(0)))[::-1]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tails_are_bounded_from_above_and_tightly(law: Any) -> None:
    spread = max(1, law.spread)
    for k in sorted({0, 1, spread // 2, spread, 2 * spread, 6 * spread}):
        bound, true = law.beyond(k), true_tail(law, k)
        assert real(bound) >= true * (1 - mp.mpf("1e-25"))  # the sum above stops at e^-80
        assert real(bound) <= true * mp.mpf("1.0005")


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999"])
def test_a_half_width_covers_and_one_less_does_not(law: Any, confidence: str) -> None:
    width = half_width(law, confidence)
    missed = 1 - mp.mpf(confidence)
    assert true_tail(law, width) <= missed
    if width:
        assert true_tail(law, width - 1) > missed


def test_known_values() -> None:
    assert accuracy(Laplace(Count(), epsilon=1)) == 3
    assert accuracy(Gaussian(Count(), scale=10)) == 20
    assert accuracy(Gaussian(Count(), scale=10**6)) in (1959964, 1959965)
    counts = Laplace(Histogram("a", range(100)), scale=10)
    one, all_of_them = accuracy(counts), accuracy(counts, simultaneous=True)
    assert one < all_of_them
    assert (1 - true_tail(DiscreteLaplace(10), all_of_them)) ** 100 >= mp.mpf("0.95")
    assert (1 - true_tail(DiscreteLaplace(10), all_of_them - 1)) ** 100 < mp.mpf("0.95")
    # The test above rejects the continuous law's quantile, which is too small here.
    continuous = int(-2 * mp.log(mp.mpf("0.05")))  # of Laplace noise of scale 2: 5
    assert true_tail(DiscreteLaplace(2), continuous - 1) > mp.mpf("0.05")
    for mechanism in (RandomizedResponse(bool, odds=3), "Laplace"):
        with pytest.raises(TypeError, match="noise of a known law"):
            accuracy(mechanism)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="how many questions"):
        accuracy(SparseVector(1, 1))
    with pytest.raises(TypeError, match="leave questions out"):
        accuracy(counts, questions=3)
    for wrong in (0, -1, 2.5):
        with pytest.raises((TypeError, ValueError), match="questions is"):
            accuracy(SparseVector(1, 1), questions=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="within"):
        scale_for(Laplace, Count(), -1)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_accuracy_and_scales_are_in_the_units_of_the_column(kind: Any) -> None:
    """What a release says of the same sum, whatever its unit is; a mean has no such width."""
    table = Table({"x": np.array([1.25, 2.5])})
    fine, coarse = table.sum("x", 0, 100), table.sum("x", 0, 100, unit=10)
    for sum_ in (fine, coarse):
        by_hand = kind(sum_, scale=scale_for(kind, sum_, within=5000))
        assert 4990 <= accuracy(by_hand) <= 5000
        total = PureDP(99) if kind is Laplace else ZCDP(99)
        assert by_hand == sum_.measurement(type(total), 1, within=5000).mechanism
        queryable = Queryable(FiltCon(total), table)
        low, high = queryable.release(sum_, within=5000).interval()
        assert high - low == pytest.approx(2 * accuracy(by_hand), rel=1e-9)
    halves = kind(table.sum("x", 0, 100, unit="0.1"), scale=1)
    assert accuracy(halves) in (0.2, 0.3)
    for mechanism in (kind(table.mean("x", 0, 1), scale=1), table.mean("x", 0, 1)):
        with pytest.raises(TypeError, match=r"read \.interval|known law"):
            accuracy(mechanism)
    with pytest.raises(TypeError, match="depends on the data"):
        scale_for(kind, table.mean("x", 0, 1), 5)


def test_a_rehearsal_states_the_width_of_its_own_answer() -> None:
    """An answer by hand is in units of the sum, and that of a release in those of the column."""
    table = {"x": [1.25, 2.5]}
    by_hand = Gaussian(Sum("x", 0, 100, unit="0.1"), scale=10)
    assert rehearse(by_hand, table).within == 20
    assert rehearse(Release(by_hand), table).within == 2
    assert rehearse(Release(Gaussian(Mean("x", 0, 1), scale=10)), table).within is None
    assert rehearse(RandomizedResponse(bool, odds=3), table).within is None


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("within", [0, 1, 10, 12345])
def test_the_scale_is_the_largest_that_is_accurate_enough(kind: Any, within: int) -> None:
    scale = scale_for(kind, Count(), within, 0.9)
    assert accuracy(kind(Count(), scale=scale), 0.9) <= within
    coarser = kind(Count(), scale=scale * Fraction(1002, 1000))
    assert accuracy(coarser, 0.9) > within
