"""A synthetic person: what it launches, what it keeps, and what it answers for nothing."""

import sys
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from composition import FiltCon, GDPResidue
from mechanisms import (
    Count,
    ExponentialMechanism,
    Fit,
    FromModel,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    Measured,
    Measurements,
    SampleRows,
    Synthetic,
    Table,
    column,
)
from mechanisms.sampling.laws import DiscreteGaussian
from mechanisms.synthetic import fitting
from mechanisms.synthetic.fit_queries import Direct, ModelFit, Modelled, SyntheticRows
from mechanisms.synthetic.spending import Round, first_round, next_round, of_loss
from mechanisms.synthetic.workload import cells_of_model
from queryable import (
    ZCDP,
    ApproxDP,
    InteractiveMechanism,
    Launch,
    Postprocessed,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
)
from queryable.effort import within_effort
from queryable.randomness.coins import SYSTEM, Coins

RANDOM = np.random.default_rng(7)
SIZE = 3000
A = RANDOM.integers(0, 3, SIZE)
DATA = {"a": A, "b": (A + (RANDOM.random(SIZE) < 0.1)) % 3, "c": RANDOM.integers(0, 40, SIZE)}
COLUMNS = [{"a": [0, 1, 2], "b": [0, 1, 2]}, Keys.bins("c", [0, 20, 40])]
PAIR = GroupBy({"a": [0, 1, 2], "b": [0, 1, 2]}, Count())
PERSON = Synthetic(COLUMNS, rounds=3)


class Recorded(InteractiveMechanism[Any]):
    """A mechanism that writes down what it is asked, and what it answers."""

    def __init__(self, inner: Any, log: list[tuple[Any, Any]]) -> None:
        self.inner, self.log = inner, log

    def privacy_map(self, d_in: int, measure: Any = None) -> Any:
        return self.inner.privacy_map(d_in, measure)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return self.inner.init(dataset, coins)

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        state, answer = self.inner.step(state, query, coins)
        self.log.append((query, answer))
        return state, answer


def opened(person: Synthetic = PERSON, rho: Any = 1, data: Any = DATA, seed: int = 3) -> Queryable:
    filtered = person @ FiltCon(ZCDP(rho))
    return Queryable(filtered, data, coins=SeededCoins(seed), allow_seeded=True)


@cache
def fitted() -> tuple[Queryable, ModelFit, list[tuple[Any, Any]]]:
    """One fit, for several tests; its filter's log."""
    log: list[tuple[Any, Any]] = []
    mechanism = Postprocessed(Recorded(FiltCon(ZCDP(1)), log), PERSON)
    root = Queryable(mechanism, DATA, coins=SeededCoins(3), allow_seeded=True)
    fit = root.ask(Fit(ZCDP("1/10"), rounds=1))
    assert isinstance(fit, ModelFit)
    return root, fit, list(log)


def test_only_launches_read_data_and_their_sum_is_charged() -> None:
    _, fit, log = fitted()
    launched = [query.mechanism for query, _ in log]
    assert all(type(each) in (ExponentialMechanism, Gaussian) for each in launched)
    kinds = [type(each) for each in launched]
    assert kinds[:3] == [Gaussian] * 3  # the columns alone
    assert kinds[3:] == [ExponentialMechanism, Gaussian] * ((len(kinds) - 3) // 2)
    total = sum(each.privacy_map(1, ZCDP).rho for each in launched)
    assert total == fit.cost.rho
    assert Fraction(1, 10) - Fraction(1, 10**12) < total <= Fraction(1, 10)
    noisy = [answer.answer for query, answer in log if type(query.mechanism) is Gaussian]
    assert all(
        np.array_equal(each.counts, counts)
        for each, counts in zip(fit.measured, noisy, strict=True)
    )


@pytest.mark.slow
def test_a_fit_uses_its_loss_up() -> None:
    root = opened()
    fit = root.ask(Fit("1/10"))
    assert root.privacy_loss() == fit.cost
    assert Fraction(1, 10) - Fraction(1, 10**12) < fit.cost.rho <= Fraction(1, 10)


def test_answers_are_free_and_close() -> None:
    root, fit, _ = fitted()
    before = root.privacy_loss()
    found = root.ask(FromModel(PAIR))
    truth = PAIR.value(DATA)
    assert isinstance(found, Modelled)
    assert found.measured
    assert abs(found.value - truth).max() < 100
    low, high = found.interval("0.999")  # type: ignore[misc]
    assert np.all((low <= truth) & (truth <= high))
    narrow = found.interval("0.999", fixed_in_advance=True)
    assert np.all(narrow[1] - narrow[0] <= high - low)  # type: ignore[index]
    every = root.ask(FromModel(Count()))
    assert every.value == pytest.approx(SIZE, abs=100)
    assert fit.rows == pytest.approx(every.value, abs=1)
    assert every.interval()[0] <= SIZE <= every.interval()[1]
    assert root.ask(Measurements()) == fit.measured
    assert root.privacy_loss() == before
    root, _, _ = fitted()
    rows = root.ask(SampleRows(1000))
    assert isinstance(rows, SyntheticRows)
    assert rows.names == ("a", "b", "c")
    again = PAIR.value(rows.columns)
    assert abs(again - PAIR.value(DATA) / 3).max() < 60
    assert list(rows.to_pandas().columns) == ["a", "b", "c"]
    assert len(root.ask(SampleRows(0)).columns["a"]) == 0


def test_what_was_not_measured_together_has_no_interval() -> None:
    root, fit, _ = fitted()
    assert all(len(each.columns) < 3 for each in fit.measured)
    found = root.ask(FromModel(Count((column("a") == 1) & (column("b") == 1) & (column("c") < 20))))
    assert not found.measured
    assert found.interval() is None
    assert "not measured together" in str(found)
    assert isinstance(found.value, float)
    statistic = GroupBy({"a": [1]}, Count())
    counts = root.ask(FromModel(statistic))
    frame = counts.labelled(statistic).to_pandas()
    assert frame["a"].tolist() == [1]
    assert frame["estimate"].tolist() == counts.value.tolist()
    assert [frame["low"].tolist(), frame["high"].tolist()] == [
        each.tolist() for each in counts.interval()
    ]


def test_a_marginal_that_was_passed_over_has_a_wide_interval() -> None:
    root, fit, _ = fitted()
    assert fit.measured[-1].columns == ("a", "b")
    found = root.ask(FromModel(Count((column("b") == 1) & (column("c") < 20))))
    truth = int(((DATA["b"] == 1) & (DATA["c"] < 20)).sum())
    assert not found.measured
    low, high = found.interval()
    assert low <= truth <= high
    assert high - low < 2 * SIZE


def test_rows_without_pandas_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    rows = SyntheticRows(("a",), ((7, None),), np.array([[1], [0]]))
    assert rows.columns == {"a": [None, 7]}
    with pytest.raises(ImportError, match=r"pip install pandas\), or use `columns`"):
        rows.to_pandas()


def test_later_fits_continue() -> None:
    root = opened()
    first = root.ask(Fit("1/100", rounds=1))
    assert [len(each.columns) for each in first.measured[:3]] == [1, 1, 1]
    assert len(first.measured) == 4
    second = root.ask(Fit("1/100", rounds=1))
    assert len(second.measured) == 1
    assert root.ask(Measurements()) == (*first.measured, *second.measured)
    assert root.privacy_loss().rho == first.cost.rho + second.cost.rho
    # As for a Gaussian: losses and costs are those of one record.
    root = Queryable(
        PERSON @ FiltCon(ZCDP(1), d_in=2), DATA, coins=SeededCoins(1), allow_seeded=True
    )
    fit = root.ask(Fit("1/10", rounds=1))
    assert root.privacy_loss().rho == 4 * fit.cost.rho <= Fraction(4, 10)
    person = Synthetic(COLUMNS, rounds=4, max_cells=13)  # the columns alone have 4 + 4 + 5
    fit = opened(person).ask(Fit("1/10"))
    assert {len(each.columns) for each in fit.measured} == {1}
    sizes = (4, 4, 5)
    sets = [tuple("abc".index(name) for name in each.columns) for each in fit.measured]
    assert cells_of_model(sets, sizes) <= 13


@pytest.mark.parametrize("rho", ["1/1000", "1/25"])
def test_a_refusal_keeps_what_was_measured(rho: str) -> None:
    """The filter has less than the fit was planned for, and refuses at some launch."""
    root = opened(rho=rho)
    with pytest.raises(QueryRefusedError):
        root.ask(Fit("1/10"))
    kept = root.ask(Measurements())
    spent = root.privacy_loss().rho
    assert spent <= Fraction(rho)
    assert bool(kept) == (spent > 0)
    if not kept:
        with pytest.raises(QueryError, match="ask Fit"):
            root.ask(FromModel(Count()))
        return
    assert root.ask(FromModel(Count())).measured
    left = Fraction(rho) - spent
    more = root.ask(Fit(left, rounds=1))
    assert root.ask(Measurements()) == (*kept, *more.measured)
    assert root.privacy_loss().rho <= Fraction(rho)


def test_an_interrupt_of_a_computation_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are computed before a message launches anything, in fits of one round."""
    root, real = opened(), fitting.fitted
    alone = root.ask(Fit("1/100", rounds=0))
    assert [each.columns for each in alone.measured] == [("a",), ("b",), ("c",)]
    assert alone.cost == ZCDP("1/100")

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    for query in (Fit("1/100", rounds=1), FromModel(Count()), SampleRows(3)):
        monkeypatch.setattr(fitting, "fitted", interrupted)
        with pytest.raises(KeyboardInterrupt):
            root.ask(query)
        assert root.privacy_loss() == alone.cost
        assert root.ask(Measurements()) == alone.measured
    monkeypatch.setattr(fitting, "fitted", real)
    assert root.ask(FromModel(Count())).measured
    assert len(root.ask(Fit("1/100", rounds=1)).measured) == 1


QUICK = ((False, KeyboardInterrupt, 1), (False, MemoryError, 2), (True, KeyboardInterrupt, 2))


@pytest.mark.parametrize(
    ("inner", "error", "nth"),
    [
        pytest.param(*each, marks=[] if each in QUICK else [pytest.mark.slow])
        for each in product((False, True), (KeyboardInterrupt, MemoryError), (1, 2, 3))
    ],
)
def test_a_fit_that_cannot_go_on_keeps_what_was_measured(
    inner: bool, error: type[BaseException], nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt between two rounds is raised when the state is in place; the person goes on."""
    outer, told = Queryable(FiltCon(ZCDP(9)), DATA), []
    root = outer.launch(PERSON @ FiltCon(ZCDP(1))) if inner else opened()
    (outer if inner else root)._root.on_fault = told.append
    real, calls = fitting.fitted, [0]

    def failing(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == nth:
            raise error("age 47")
        return real(*args)

    monkeypatch.setattr(fitting, "fitted", failing)
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt) as caught:
            root.ask(Fit("1/10", rounds=3))
        assert caught.value.args == ()
    else:
        fit = root.ask(Fit("1/10", rounds=3))
        assert isinstance(fit, ModelFit)
        assert fit.measured == root.ask(Measurements())
        assert fit.cost == root.privacy_loss()
    assert [type(each) for each in told] == [error]
    kept = root.ask(Measurements())
    assert len(kept) == 3 + nth - 1
    spent = root.privacy_loss()
    assert spent.rho <= Fraction(1, 10)
    assert root.ask(FromModel(PAIR)).value.sum() == pytest.approx(SIZE, abs=100)
    more = root.ask(Fit("1/10", rounds=1))
    assert root.ask(Measurements()) == (*kept, *more.measured)
    assert root.privacy_loss().rho == spent.rho + more.cost.rho


def test_units_of_several_rows() -> None:
    table = Table({"who": np.arange(SIZE) // 2, **DATA}, privacy_unit="who", max_rows=2)
    person = Synthetic(COLUMNS, rounds=1, per=table.unit)
    root = opened(person, data=table)
    fit = root.ask(Fit("1/10", rounds=1))
    assert fit.measured[0].variance == 4 / (2 * Fraction(1, 40))
    assert root.ask(FromModel(table.count())).value == pytest.approx(SIZE, abs=300)
    with pytest.raises(QueryError, match="privacy unit"):
        root.ask(FromModel(Count()))


def test_noise_does_not_become_too_small_in_the_middle_of_a_fit() -> None:
    """A fit whose first measurement has a variance above 4 keeps one of 5 or more."""
    rule = GDPResidue("1e-7")
    person = Synthetic({"a": [0, 1, 2], "b": [0, 1, 2]}, rounds=6)
    root = Queryable(person @ FiltCon(ApproxDP(40, "1e-6"), rule=rule), DATA)
    fit = root.ask(Fit("1/2"))
    assert min(each.variance for each in fit.measured) == 5
    assert fit.cost.rho <= Fraction(1, 2)
    assert len(root.ask(Measurements())) == len(fit.measured)


def test_questions_whose_tables_would_be_too_large_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three columns that all depend on a fourth: one table would have all four."""
    monkeypatch.setattr(fitting, "STEPS", 200)  # a rough fit will do
    many = RANDOM.integers(0, 60, 2000)
    hub = [("w", "z"), ("x", "z"), ("y", "z")]
    person = Synthetic({name: list(range(60)) for name in "wxyz"}, hub)
    root = opened(person, data=dict.fromkeys("wxyz", many), rho=1000)
    root.ask(Fit(100, rounds=0))
    fit = root.ask(Fit(500, rounds=3))
    assert sorted(each.columns for each in fit.measured) == hub
    wanted = [column(name) == 7 for name in "wxy"]
    both = root.ask(FromModel(Count(wanted[0] & wanted[1])))
    assert both.value == pytest.approx((many == 7).sum(), abs=5)
    before = root.privacy_loss()
    with pytest.raises(QueryError, match=r"fewer columns at once: .* tables of 1\d{7} cells"):
        root.ask(FromModel(Count(wanted[0] & wanted[1] & wanted[2])))
    assert root.privacy_loss() == before


def test_other_queries_go_to_the_filter() -> None:
    root = opened()
    noisy = root.ask(Launch(Gaussian(Count(), rho="1/100")))
    assert noisy == pytest.approx(SIZE, abs=60)
    assert root.ask(PrivacyLossQuery()) == ZCDP("1/100")
    # What a replay compares: all noisy counts, and counts of the model on their grid.
    one, other = opened(), opened()
    for query in (Fit("1/50", rounds=2), FromModel(PAIR), SampleRows(20), Measurements()):
        assert one.ask(query) == other.ask(query)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (Fit(0), "loss is 0"),
        (Fit("x"), "loss"),
        (Fit(PureDP(1)), "loss"),
        (Fit("1e-13"), "at least"),
        (Fit(1, rounds=-1), "rounds"),
        (Fit(1, rounds=1001), "rounds is 1001"),
        (Fit(1, rounds="x"), "rounds"),
        (Fit(10**12), "almost no noise"),
        (FromModel(Count()), "ask Fit"),
        (SampleRows(3), "ask Fit"),
    ],
)
def test_wrong_queries_change_nothing(query: Any, text: str) -> None:
    root = opened()
    with pytest.raises(QueryError, match=text):
        root.ask(query)
    assert root.privacy_loss() == ZCDP(0)


def test_people_who_are_not_trusted_fit_one_round_a_message() -> None:
    root, large = opened(), opened(Synthetic(COLUMNS, max_cells=10**6))
    with within_effort():
        for each, query in ((root, Fit(1)), (root, Fit(1, rounds=2)), (large, Fit(1, rounds=1))):
            with pytest.raises(QueryError, match="rounds=1"):
                each.ask(query)
        assert len(root.ask(Fit("1/10", rounds=0)).measured) == 3


def test_people_who_are_not_trusted_share_the_steps_of_a_message() -> None:
    root = fitted()[0]
    spent = root.privacy_loss()
    wide = Synthetic([{f"c{each}": [0, 1]} for each in range(47)])
    with within_effort():
        with pytest.raises(QueryError, match="at most 666666 rows of 3 columns"):
            root.ask(SampleRows(666_667))
        root.ask(SampleRows(400_000))
        with pytest.raises(QueryError, match="666666"):
            root.ask(SampleRows(400_000))
        with pytest.raises(QueryError, match="one fit in a message"):
            root.ask(Fit("1/10", rounds=0))
    assert root.privacy_loss() == spent
    with within_effort(), pytest.raises(QueryError, match="fewer columns"):
        Queryable(wide @ FiltCon(ZCDP(1)), {f"c{each}": [0] for each in range(47)}).ask(
            Fit("1/10", rounds=1)
        )


def test_people_who_are_not_trusted_compare_few_marginals() -> None:
    """The rows are counted for each."""
    names = [f"c{each}" for each in range(9)]
    root = opened(Synthetic({name: [0] for name in names}, [names]), data=dict.fromkeys(names, A))
    with within_effort(), pytest.raises(QueryError, match="among 511 marginals"):
        root.ask(Fit("1/10", rounds=1))
    assert root.privacy_loss() == ZCDP(0)
    names = [f"c{each}" for each in range(20)]
    root = opened(
        Synthetic({name: [0] for name in names}, [("c0",)]), data=dict.fromkeys(names, A[:9])
    )
    root.ask(Fit("1/10", rounds=0))
    assert root.ask(SampleRows(7)).places.shape == (7, 20)
    with pytest.raises(QueryError, match="at most 500000"):
        root.ask(SampleRows(500_001))


@pytest.mark.parametrize("rows", [-1, "x", 10**7, None, 2.5])
def test_a_wrong_number_of_rows_is_refused(rows: Any) -> None:
    with pytest.raises(QueryError, match="rows"):
        fitted()[0].ask(SampleRows(rows))


def test_rounds_spend_no_more_than_the_loss() -> None:
    loss = Fraction(1, 7)
    planned, left, many = first_round(loss, 10), loss, 0
    while (now := next_round(planned, left)) is not None:
        assert now.epsilon**2 / 8 <= now.choosing < (now.epsilon + Fraction(1, 1 << 60)) ** 2 / 8
        left -= now.cost
        many += 1
        planned = planned.doubled if many == 3 else planned
    assert left == 0
    assert many == 4  # 3 of a tenth, then 4 tenths would leave less than that
    assert next_round(of_loss(loss), Fraction(0)) is None
    assert Round(Fraction(0), Fraction(1)).epsilon == 0


@pytest.mark.parametrize("variance", [Fraction(9, 4), Fraction(400)])
def test_intervals_of_measured_sums_cover(variance: Fraction) -> None:
    """The noise of 5 counts is beyond the half-width of 80 % in at most about 20 % of draws."""
    noise = SeededCoins(1).draw(DiscreteGaussian(variance), (4000, 5)).sum(axis=1)
    direct = Direct(0, 5, variance, 12, 1)
    for fixed in (True, False):
        width = direct.half_widths(Fraction(1, 5), fixed_in_advance=fixed)
        assert (abs(noise) > width).mean() < 0.2 + 0.025
    sharp = Direct(0, 5, Fraction(400), 12, 1).half_widths(Fraction(1, 5), fixed_in_advance=True)
    assert sharp < 1.75 * (5 * 400) ** 0.5  # the exact quantile is 1.28


def test_measured_and_passed_over_marginals_share_what_may_be_missed() -> None:
    """Nine tenths for the former: a half of it for the first measurement, a sixth for the next."""
    first, second = Direct(500, 1, Fraction(10**4), 4, 1), Direct(500, 1, Fraction(900), 4, 2)
    for found, share in (((first,), 2), ((Direct(500, 1, Fraction(10**9), 4, 1), second), 6)):
        low, high = Modelled(0.0, found).interval("0.8", fixed_in_advance=True)  # type: ignore[misc]
        missed = Fraction(1, 5) * Fraction(9, 10) / share
        width = int(found[-1].half_widths(missed, fixed_in_advance=True))
        assert (low, high) == (500 - width, 500 + width)


def test_an_interval_is_the_intersection_of_those_of_all_measurements() -> None:
    wide, narrow = Direct(90, 1, Fraction(10**6), 4, 1), Direct(100, 1, Fraction(100), 4, 2)
    found = Modelled(97.5, (wide, narrow))
    low, high = found.interval()  # type: ignore[misc]
    width = int(narrow.half_widths(Fraction(1, 20), fixed_in_advance=False))
    assert (low, high) == (100 - width, 100 + width)
    assert Modelled(3.0, (Direct(-500, 1, Fraction(1), 4, 1),)).interval() == (0, 0)
    assert str(found) == "98 by the model (95% interval: 47 to 153)"
    assert Measured(("a",), np.arange(2), Fraction(1)) == Measured(
        ("a",), np.arange(2), Fraction(1)
    )


def test_a_histogram_of_a_column_alone() -> None:
    root, _, _ = fitted()
    found = root.ask(FromModel(Histogram("a", [0, 1, 2])))
    assert abs(found.value - np.bincount(A)).max() < 100
