"""Keys that are found: answers, their cost, feeding them to a group-by, and what is refused."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon, GDPResidue, budget
from mechanisms import Count, DiscoveredKeys, GroupBy, PrivacyUnit, PrivateKeys, Table, column
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.statistics import discovered
from queryable import (
    GDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Loss,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
)
from queryable.audit import broken_laws
from queryable.losses import Dominated
from queryable.losses.conversions import discrete_gaussian_to_gdp

pytestmark = pytest.mark.filterwarnings("ignore::queryable.errors.PrivacyWarning")

CITIES = ["Oslo"] * 900 + ["Graz"] * 600 + ["Rome"] * 300 + [f"alone {i}" for i in range(200)]
DATA = {"city": CITIES, "n": [i % 3 for i in range(2000)]}
LOSS = ApproxDP(1, "1e-6")
RESIDUE = GDPResidue("1e-7")
EDGE = DiscreteLaplace("1/1000")
"""Noise that is 0 but with a probability of 1e-434."""


def opened(data: Any = DATA, loss: Any = None, seed: int = 1) -> Queryable:
    measure = FiltCon(loss or ApproxDP(9, "1e-3"))
    return Queryable(measure, data, coins=SeededCoins(seed), allow_seeded=True)


def exactly(data: Any, *columns: Any, **options: Any) -> dict[Any, int]:
    """The keys that occur, with their counts: by hardly any noise, shown from 1 on."""
    keys = DiscoveredKeys(list(columns), **options)
    found = opened(data, ApproxDP(10**6, 1))(PrivateKeys(keys, noise=EDGE, threshold=1))
    values = found.axes[0].values
    assert list(values) == sorted(values)
    return dict(zip(values, found.estimate.tolist(), strict=True))


def test_frequent_keys_are_shown_in_their_order() -> None:
    """Keys that one row has are not among them."""
    answer = opened().release(DiscoveredKeys("city"), loss=LOSS)
    assert [key for (key,) in answer.axes[0].values] == ["Graz", "Oslo", "Rome"]
    low, high = answer.interval(simultaneous=True)
    assert ((low <= [600, 900, 300]) & (high >= [600, 900, 300])).all()
    assert list(answer.to_pandas().columns) == ["city", "estimate", "low", "high"]
    assert str(answer).startswith("Count by city, shown from a noisy count of 15 on; 95%")
    answer = opened({"city": ["a", None], "n": [1, 2]}).release(DiscoveredKeys("city"), loss=LOSS)
    assert answer.estimate.tolist() == []
    assert answer.to_pandas().empty
    assert "no key: no noisy count reached the threshold" in str(answer)
    assert [each.tolist() for each in answer.interval()] == [[], []]
    with pytest.raises(ValueError, match="no key was released"):
        GroupBy(answer, Count())


def test_the_order_of_rows_has_no_effect() -> None:
    """Noise is drawn in the order of the keys, in memory and on an engine."""
    backwards = {name: cells[::-1] for name, cells in DATA.items()}
    several = DiscoveredKeys(["city", "n"])
    answers = [opened(data).release(several, loss=LOSS) for data in (DATA, backwards, Table(DATA))]
    assert answers[0] == answers[1]
    assert answers[0].estimate.tolist() == answers[2].estimate.tolist()
    other = opened(seed=2).release(several, loss=LOSS)
    assert other.estimate.tolist() != answers[0].estimate.tolist()


def test_keys_are_groups_from_then_on() -> None:
    """Of an expression too; combinations that were not released are no groups."""
    queryable = opened(Table(DATA))
    table = Table(DATA)
    found = queryable.release(table.discovered_keys(column("city").lower(), "n"), loss=LOSS)
    grouped = table.group_by(found)
    counts = queryable.release(grouped.count(), loss=ApproxDP(1, 0))
    assert counts.axes == found.axes
    assert abs(counts.estimate - found.estimate).max() < 60
    assert GroupBy(found, Count()) == GroupBy(found.keys, Count()) == grouped.count()
    assert table.discovered_keys(["city", "n"]) == table.discovered_keys("city", "n")
    assert table.group_by([found, {"n": [1]}]) == table.group_by(found, {"n": [1]})
    single = queryable.release(DiscoveredKeys("city"), loss=LOSS)
    with pytest.raises(TypeError, match="as they are"):
        table.group_by({"city": single})
    assert GroupBy(single, Count()) == GroupBy({"city": ["Graz", "Oslo", "Rome"]}, Count())


FRAMES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "Table": Table,
    "Table of arrow": lambda data: Table(pa.table(data)),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_every_kind_of_key(frame: Any) -> None:
    """Rows with a missing cell have no key."""
    days = [date(2024, 1, 1), date(1, 1, 1), date(9999, 12, 31), None]
    data = {
        "text": ["é", "e\u0301", "", None],
        "n": np.array([3, -1, 2**62, 3]),
        "flag": np.array([True, False, True, True]),
        "day": days,
        "bytes": [b"\xff", b"", b"\x00", None],
    }
    given = frame(data)
    assert exactly(given, "text") == {("é",): 1, ("e\u0301",): 1, ("",): 1}
    assert exactly(given, "n") == {(3,): 2, (-1,): 1, (2**62,): 1}
    assert exactly(given, "flag") == {(True,): 3, (False,): 1}
    assert {type(key) for (key,) in exactly(given, "flag")} == {bool}
    if frame not in (dict, pd.DataFrame, Table):  # their objects are read as text by a table
        assert exactly(given, "day") == {(day,): 1 for day in days if day}
        assert exactly(given, "bytes") == {(b"\xff",): 1, (b"",): 1, (b"\x00",): 1}
    assert exactly(given, "text", "flag", where=column("n") > 0) == {("é", True): 1, ("", True): 1}


def test_objects_in_memory() -> None:
    """Equal numbers are one key; what is no text, number, date or bytes has none."""
    cells = [1, True, 1.0, np.int8(1), 2.5, float("nan"), "1", b"1", date(2024, 1, 1), None]
    cells += [[1], "\ud800", 2**70, np.str_("1"), float("inf"), np.float64(3)]
    cells += [Decimal(1), Decimal("3.0"), Decimal("0.5"), Decimal("NaN"), Decimal("sNaN")]
    cells += [Decimal("1e999999"), Decimal("1e-999999"), -(2**63), 2**128, 1e300]
    cells += [
        np.datetime64("2024-01-01T00", "ns"),
        np.timedelta64(1, "s"),
        1j,
        np.datetime64("NaT"),
    ]
    keys = DiscoveredKeys("c")
    found = opened({"c": cells}, ApproxDP(10**6, 1))(PrivateKeys(keys, noise=EDGE, threshold=1))
    values = [key for (key,) in found.axes[0].values]
    assert values == [b"1", date(2024, 1, 1), -(2**63), 1, 3, 2**70, "1"]
    assert {type(value) for value in values} == {bytes, date, int, str}
    assert found.estimate.tolist() == [1, 1, 1, 5, 2, 1, 2]
    grouped = GroupBy(found, Count()).value({"c": cells})
    assert grouped.tolist() == found.estimate.tolist()


def test_control_characters_and_hostile_texts() -> None:
    """Quotation marks, control characters and long texts come back as they are."""
    texts = ["a'b\"c", "\x1b[2J", "a\nb", "\x00", "x" * 60_000, "' OR 1=1 --", "$1", "\ufeff"]
    table = Table(pa.table({"text": texts, "key_0": texts, "found": texts}))
    for names in (["text"], ["key_0"], ["found", "key_0"]):
        found = exactly(table, *names)
        assert found == {(text,) * len(names): 1 for text in texts}
    # A key of the data does not reach a terminal as it is.
    answer = opened({"c": ["\x1b[2J\nz"] * 99}).release(DiscoveredKeys("c"), loss=LOSS)
    assert "\x1b" not in str(answer)
    assert len(str(answer).splitlines()) == 3
    assert answer.axes[0].values == (("\x1b[2J\nz",),)


def test_files_and_undeclared_columns(tmp_path: Path) -> None:
    """A column of a CSV file without a type is text; what it is cast to otherwise."""
    path = tmp_path / "visits.csv"
    path.write_text("city,n,day\nOslo,1,2024-01-31\n,1,2024-01-01\nRome,01,x\nOslo,2,2024-02-01\n")
    with Table(path) as table:
        assert exactly(table, "city") == {("Oslo",): 2, ("Rome",): 1}
        assert exactly(table, "n") == {("1",): 2, ("01",): 1, ("2",): 1}
        assert exactly(table, column("n").cast("integer")) == {(1,): 3, (2,): 1}
        month = column("day").truncate("month")
        assert exactly(table, month) == {(date(2024, 1, 1),): 2, (date(2024, 2, 1),): 1}
        more = table.append({"city": ["Oslo", "Ulm"], "n": ["1", "1"], "day": ["x", "x"]})
        assert exactly(more, "city") == {("Oslo",): 3, ("Rome",): 1, ("Ulm",): 1}


WIDE = [-(2**100), 0, 2**100]


@pytest.mark.parametrize("declared", ["HUGEINT", "DECIMAL(38,0)"])
def test_wide_numbers(tmp_path: Path, declared: str) -> None:
    """In the order of numbers, not of their digits."""
    path = tmp_path / "wide.csv"
    path.write_text("n\n" + "".join(f"{each}\n" for each in (*WIDE, 5)))
    with Table(path, types={"n": declared}) as table:
        assert exactly(table, "n") == {(each,): 1 for each in (-(2**100), 0, 5, 2**100)}


def test_a_unit_is_counted_once_in_each_of_its_keys() -> None:
    """In as many as the bound says, whichever rows count otherwise."""
    rows = {"who": [1] * 6 + [2, 2, 3, None], "key": [*"abcabc", "a", "a", None, "z"]}
    table = Table(pa.table(rows), privacy_unit="who", max_rows=1)
    every = exactly(table, "key", max_keys=3, per=table.unit)
    assert every == {("a",): 2, ("b",): 1, ("c",): 1}
    for most in (1, 2):
        found = exactly(table, "key", max_keys=most, per=table.unit)
        assert sum(found.values()) == most + 1
        assert found[("a",)] >= 1
    assert DiscoveredKeys("key", per=table.unit).most == 1
    assert table.discovered_keys("key", max_keys=2).most == 2
    with_seed = [exactly(table.with_seed(i), "key", max_keys=1, per=table.unit) for i in range(9)]
    assert len({tuple(each) for each in with_seed}) > 1


@pytest.mark.parametrize("data", [DATA, {"city": [], "n": []}], ids=["full", "empty"])
def test_laws(data: Any) -> None:
    mechanism = PrivateKeys(DiscoveredKeys(["city", "n"]), epsilon=1, delta="1e-6")
    assert not broken_laws(mechanism, data, (), wrong=(None, 1), random=bool(data["n"]))


@pytest.mark.parametrize("d_in", [1, 2, 5])
@pytest.mark.parametrize(
    ("measure", "loss"),
    [
        (ApproxDP, LOSS),
        (Dominated, LOSS),
        (Dominated, Dominated("1/2", 0, "1e-6")),
        (Dominated, Dominated(0, "1/2", "1e-6")),
        (ApproxZCDP, LOSS),
        (ApproxZCDP, ApproxZCDP("1/10", "1e-6")),
    ],
)
def test_the_loss_is_within_what_was_given(measure: Any, loss: Loss, d_in: int) -> None:
    """At any number of units; the threshold is the least."""
    keys = DiscoveredKeys("city", 3, per=PrivacyUnit("who", max_rows=3))
    found = keys.measurement(measure, d_in, loss=loss)
    cost: Any = found.privacy_map(d_in, measure)
    stated = loss
    if measure is ApproxZCDP and isinstance(loss, ApproxDP):
        assert cost.to(ApproxDP, loss.delta) <= loss
        stated = ApproxZCDP(cost.rho, loss.delta / 2)
    elif measure is Dominated:
        stated = loss.to(Dominated)
    assert cost <= stated
    lower = PrivateKeys(keys, noise=found.noise, threshold=found.threshold - 1)
    assert not lower.privacy_map(d_in, measure) <= stated


def test_parameters() -> None:
    """By epsilon or rho and delta, or the noise and the threshold themselves."""
    keys = DiscoveredKeys("city", 2, per=PrivacyUnit("who", max_rows=3))
    by_epsilon = PrivateKeys(keys, epsilon=1, delta="1e-6")
    assert by_epsilon.noise == DiscreteLaplace(2)
    assert by_epsilon == PrivateKeys(keys, noise=DiscreteLaplace(2), threshold=30)
    loss: Any = by_epsilon.privacy_map(1)
    assert loss.epsilon == 1
    assert Fraction(5, 10**7) < loss.delta <= Fraction(1, 10**6)
    by_rho = PrivateKeys(keys, rho="1/4", delta="1e-6")
    assert by_rho.noise == DiscreteGaussian(4)
    stated: Any = by_rho.privacy_map(1)
    assert stated.rho == Fraction(1, 4)
    assert by_rho.privacy_map(3).rho == Fraction(9, 4)  # type: ignore[attr-defined]
    assert by_rho.privacy_map(0) == ApproxZCDP(0, 0)
    assert by_epsilon.privacy_map(0) == ApproxDP(0, 0)
    smooth: Any = PrivateKeys(keys, noise=DiscreteGaussian(12), threshold=30)
    dominated = smooth.privacy_map(3, Dominated)
    each = discrete_gaussian_to_gdp(Fraction(12))
    assert 18 * each**2 <= dominated.mu**2 < 18 * each**2 * (1 + Fraction(1, 10**20))
    assert dominated.delta == smooth.privacy_map(3).delta  # type: ignore[attr-defined]
    assert smooth.privacy_map(0, Dominated) == Dominated(0, 0, 0)
    assert by_epsilon.coin_at_launch
    assert by_epsilon.privacy_map(1, ApproxZCDP).rho < Fraction(1, 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("root", "loss", "why"),
    [
        (FiltCon(ZCDP(1)), LOSS, "whose losses have a delta"),
        (FiltCon(GDP(1)), LOSS, "whose losses have a delta"),
        (FiltCon(PureDP(1)), LOSS, "whose losses have a delta"),
        (FiltCon(LOSS), ApproxDP(1, 0), "a delta above 0"),
        (FiltCon(LOSS), PureDP(1), "a delta above 0"),
        (FiltCon(LOSS), ApproxZCDP(1, "1e-6"), r"or launch\(PrivateKeys.*d_out=.*in ApproxDP"),
        (FiltCon(LOSS), Dominated(0, 1, "1e-6"), r"or launch\(PrivateKeys.*d_out=.*in ApproxDP"),
        (FiltCon(LOSS, rule=RESIDUE), ApproxZCDP(1, "1e-7"), r"or loss=Dominated\(0, mu, delta\)"),
        (FiltCon(LOSS, rule=RESIDUE), Dominated(0, 1, 0), "a delta above 0"),
        (FiltCon(LOSS), ApproxDP(0, "1e-6"), "epsilon"),
    ],
)
def test_a_loss_that_does_not_fit_costs_nothing(root: Any, loss: Loss, why: str) -> None:
    queryable = Queryable(root, DATA)
    with pytest.raises(QueryError, match=why):
        queryable.release(DiscoveredKeys("city"), loss=loss)
    with pytest.raises(QueryError, match="instead of within"):
        queryable.release(DiscoveredKeys("city"), within=3)
    assert queryable.privacy_loss() == queryable.privacy_loss().zero()


def test_budgets_that_have_a_delta() -> None:
    """With the figures of the guide; and where epsilons are added, by its conversion."""
    for most, by_laplace, by_gaussian in ((1, 15, 23), (5, 76, 53), (20, 324, 108)):
        keys = DiscoveredKeys("city", most, per=PrivacyUnit("who", max_rows=20))
        assert keys.measurement(Dominated, 1, loss=LOSS).threshold == by_laplace
        shown = keys.measurement(Dominated, 1, loss=Dominated(0, "0.229", "5e-7"))
        assert shown.threshold == by_gaussian
        assert isinstance(shown.noise, DiscreteGaussian)
    queryable = Queryable(FiltCon(ApproxDP(2, "1e-5"), rule=RESIDUE), DATA)
    loss = Dominated(0, "1/5", "1e-7")
    assert len(queryable.release(DiscoveredKeys("city"), loss=loss).estimate) == 3
    added = Queryable(FiltCon(ApproxDP(2, "1e-5")), DATA)
    found = PrivateKeys(DiscoveredKeys("city"), rho="1/10", delta="1e-6")
    assert len(added.launch(found, d_out=ApproxDP(2, "1e-5")).estimate) == 3
    for root in (budget(2, "1e-5"), FiltCon(ApproxDP(2, "1e-5"), rule=GDPResidue("1e-6"))):
        answer = Queryable(root, DATA).release(DiscoveredKeys("city"), loss=ApproxDP(1, "1e-6"))
        assert len(answer.estimate) == 3


FRACTIONS = pa.table({"x": [1.5, 2.5], "who": [1, 2], "at": pd.to_datetime(["2024-01-01"] * 2)})


@pytest.mark.parametrize("data", [FRACTIONS, Table(FRACTIONS), FRACTIONS.to_pandas()], ids=type)
def test_columns_that_do_not_fit_cost_nothing(data: Any) -> None:
    """By their public names and types, before anything is charged."""
    queryable = opened(data)
    for wrong, why in (
        (DiscoveredKeys("x"), r"whole numbers.*cast\('integer'\)"),
        (DiscoveredKeys("at"), "truncate"),
        (DiscoveredKeys("y"), "no column|y"),
        (DiscoveredKeys("who", where=column("y") > 1), "y"),
        (DiscoveredKeys("who", per=PrivacyUnit("who", max_rows=1)), "who"),
    ):
        with pytest.raises(QueryError, match=why):
            queryable.release(wrong, loss=LOSS)
    assert queryable.privacy_loss() == ApproxDP(0, 0)


def test_numbers_that_are_computed_are_no_keys_of_a_list() -> None:
    """Known without the records, so it costs nothing."""
    queryable = opened([{"n": 1}] * 99)
    with pytest.raises(QueryError, match="float"):
        queryable.release(DiscoveredKeys(column("n") + 1), loss=LOSS)
    assert queryable.privacy_loss() == ApproxDP(0, 0)
    whole = queryable.release(DiscoveredKeys(column("n").cast("integer")), loss=LOSS)
    assert whole.axes[0].values == ((1,),)


def test_joined_rows_and_groups_are_refused() -> None:
    table = Table({"key": ["a", "b"], "n": [1, 2]})
    joined = table.join(public={"key": ["a", "a"], "m": [1, 2]}, on="key", max_matches=2)
    with pytest.raises(QueryError, match="before the join"):
        opened(joined).release(joined.discovered_keys("m"), loss=LOSS)
    one = table.join(public={"key": ["a", "b"], "m": ["x", "x"]}, on="key")
    assert exactly(one, "m") == {("x",): 2}
    with pytest.raises(TypeError, match="in the whole table"):
        table.group_by({"key": ["a"]}).discovered_keys("n")


def test_many_keys_are_read_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer has the ones with the largest noisy counts, in their order."""
    from mechanisms.tables.engines.sql import found

    monkeypatch.setattr(found, "BATCH", 7)
    monkeypatch.setattr(discovered, "MOST_KEYS", 5)
    data = {"n": np.repeat(np.arange(3000), np.arange(3000) % 4)}
    shown = exactly(Table(data), "n")
    assert list(shown.values()) == [3] * 5
    assert list(shown) == [(3,), (7,), (11,), (15,), (19,)]
    keys = PrivateKeys(DiscoveredKeys("n"), noise=EDGE, threshold=1)
    answer = opened(Table(data), ApproxDP(10**6, 1))(keys)
    assert answer.evidence.threshold == 4  # others with 3 were left out: that says something
    assert answer.interval()[0].tolist() == [1] * 5
    monkeypatch.setattr(discovered, "MOST_KEYS", 1600)  # all with 3 or 2, and some with 1
    more = opened(Table(data), ApproxDP(10**6, 1))(keys)
    assert more.evidence.threshold == 2
    ends = zip(more.estimate.tolist(), more.interval()[0].tolist(), strict=True)
    assert set(ends) == {(3, 3), (2, 1), (1, 1)}


def test_a_failing_source_is_charged_and_says_nothing(tmp_path: Path) -> None:
    """What happens while rows are read depends on them."""
    path = tmp_path / "t.parquet"
    pd.DataFrame({"c": ["a"] * 9}).to_parquet(path)
    table = Table(path)
    queryable = opened(table)
    keys = PrivateKeys(DiscoveredKeys("c"), epsilon=1, delta="1e-6")
    table._engine.find = lambda plan: iter([1 // 0])  # type: ignore[attr-defined]
    from queryable import MechanismFault

    with pytest.raises(MechanismFault):
        queryable(keys)
    assert queryable.privacy_loss() == keys.privacy_map(1)
