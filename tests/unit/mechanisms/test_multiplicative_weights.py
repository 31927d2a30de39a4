"""Private multiplicative weights: what it answers, what it costs, and when it stops."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import (
    CountUnits,
    GroupBy,
    Histogram,
    Keys,
    Laplace,
    LinearQuery,
    PrivateMultiplicativeWeights,
    SparseVector,
    Table,
    column,
)
from mechanisms.linear_queries import Gap, Weighted
from mechanisms.multiplicative_weights import SyntheticHistogram
from queryable import (
    ZCDP,
    Ask,
    FromAnalyst,
    FromMechanism,
    Launch,
    Launched,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    ToMechanism,
    UnknownQueryError,
)

UNIVERSE = 16
DATA = np.repeat(np.arange(UNIVERSE), 2 ** np.arange(UNIVERSE) // 64)
COUNTS = np.bincount(DATA, minlength=UNIVERSE)


def weights(epsilon: Any = 1_000_000, **changed: Any) -> PrivateMultiplicativeWeights:
    """The mechanism with hardly any noise, unless told otherwise."""
    options = {"records": len(DATA), "threshold": 40, "updates": 500} | changed
    return PrivateMultiplicativeWeights(UNIVERSE, epsilon=epsilon, **options)


def running(person: PrivateMultiplicativeWeights, budget: Any = None) -> Queryable:
    """The person over a filter that it just fits."""
    limit = PureDP(person.epsilon) if budget is None else budget
    return Queryable(person @ FiltCon(limit), DATA, coins=SeededCoins(3), allow_seeded=True)


def test_answers_are_within_the_threshold_where_there_is_no_noise() -> None:
    """Every answer is a measurement or an estimate that the sparse vector let pass."""
    queryable = running(weights())
    sets = np.random.default_rng(0).random((200, UNIVERSE)) < 0.5
    errors = [abs(queryable.ask(LinearQuery(chosen)) - COUNTS[chosen].sum()) for chosen in sets]
    assert max(errors) <= 41
    # Asking about a badly wrong set moves the synthetic histogram towards the data.
    queryable = running(weights())
    heavy = np.arange(UNIVERSE) >= 14
    before = queryable.ask(SyntheticHistogram())[heavy].sum()
    queryable.ask(LinearQuery(heavy))
    after = queryable.ask(SyntheticHistogram())[heavy].sum()
    truth = COUNTS[heavy].sum()
    assert abs(after - truth) < abs(before - truth)
    assert queryable.ask(SyntheticHistogram()).sum() == pytest.approx(len(DATA))


def test_charges_half_at_the_start_and_a_share_for_each_measurement() -> None:
    """The filter sees one sparse vector and one Laplace launch a surprise, nothing else."""
    queryable = running(weights(epsilon=100_000, updates=5))
    assert queryable.privacy_loss() == PureDP(50_000)
    queryable.ask(LinearQuery(np.arange(UNIVERSE) >= 14))
    assert queryable.privacy_loss() == PureDP(60_000)
    queryable.ask(LinearQuery(np.ones(UNIVERSE)))
    queryable.ask(SyntheticHistogram())
    assert queryable.privacy_loss() == PureDP(60_000)
    # The cutoff counts measurements, and what was learnt is not lost.
    queryable = running(weights(updates=1))
    queryable.ask(LinearQuery(np.arange(UNIVERSE) == 15))
    with pytest.raises(QueryRefusedError, match="cutoff"):
        queryable.ask(LinearQuery(np.arange(UNIVERSE) == 0))
    assert queryable.ask(SyntheticHistogram()).shape == (UNIVERSE,)


def test_it_needs_a_filter_that_admits_what_it_launches() -> None:
    with pytest.raises(QueryRefusedError, match="budget"):
        running(weights(epsilon=1), budget=PureDP("0.1"))
    queryable = running(weights(epsilon=1), budget=ZCDP(1))
    queryable.ask(LinearQuery(np.ones(UNIVERSE)))
    assert queryable.privacy_loss() <= ZCDP(1)
    # The analyst cannot reach the filter below, whose budget is planned for.
    with pytest.raises(UnknownQueryError, match="LinearQuery"):
        running(weights()).ask("histogram")


@pytest.mark.parametrize(
    "wrong",
    [
        *(np.ones(UNIVERSE - 1), np.full(UNIVERSE, 1.5), np.full(UNIVERSE, np.nan)),
        *(np.full(UNIVERSE, -0.1), np.array(["a"] * UNIVERSE), None),
    ],
)
def test_wrong_weights_are_query_errors_and_change_nothing(wrong: Any) -> None:
    """A query is validated before the data are asked."""
    queryable = running(weights())
    spent = queryable.privacy_loss()
    with pytest.raises(QueryError):
        queryable.ask(LinearQuery(wrong))
    assert queryable.privacy_loss() == spent
    queryable.ask(LinearQuery(np.ones(UNIVERSE)))


def test_an_encoding_that_fails_is_a_fault_without_details() -> None:
    """What the encoding raises is about the data."""

    def leaky(_: Any) -> Any:
        raise ValueError("row 7 is Ada")

    queryable = running(weights(encode=leaky))
    with pytest.raises(MechanismFault) as caught:
        queryable.ask(LinearQuery(np.ones(UNIVERSE)))
    assert "Ada" not in str(caught.value)


@given(
    st.lists(st.integers(-2, 20), max_size=30),
    st.integers(-2, 20),
    st.lists(st.floats(0, 1), min_size=16, max_size=16),
    st.integers(0, 40),
)
def test_a_record_moves_the_gap_by_at_most_one(
    data: list[int], added: int, values: list[float], estimate: int
) -> None:
    """The sensitivity that the sparse vector is told, for any weights and any record."""
    lattice = np.floor(np.array(values) * 2**20).astype(np.int64)
    gap = Gap(Weighted(lambda x: x, lattice), estimate)
    small, large = np.array(data, dtype=int), np.array([*data, added], dtype=int)
    assert abs(gap.value(small) - gap.value(large)) <= gap.l1 == Fraction(1)


ENTRIES: dict[str, Any] = {
    "none": [],
    "no integers": [0, 1, 3, 2.5, "3", None, [3], 4j],
    "huge": [0, 1, 3, 2**63, -(2**70), 10**400],
    "object array": np.array([0, None, 1, np.float64(3), Decimal("sNaN")], dtype=object),
    "floats": np.array([0.0, 1.0, 3.0, np.nan, np.inf, 2.5]),
    "pandas": pd.Series([0, 1, None, 3]),
    "nullable": pd.Series([0, 1, None, 3], dtype="Int64"),
    "polars": pl.Series([0, 1, None, 3]),
    "text": np.array(["0", "1"]),
}


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
def test_entries_outside_the_universe_are_not_counted(entries: Any) -> None:
    """And changes no other record: none of it is a fault, whatever the entry is."""
    expected = 0 if entries is ENTRIES["none"] or entries is ENTRIES["text"] else 3
    lattice = np.full(UNIVERSE, 1 << 20)
    assert Weighted(lambda data: data, lattice)(entries) == expected
    queryable = Queryable(weights() @ FiltCon(PureDP(1_000_000)), entries)
    assert abs(queryable.ask(LinearQuery(np.ones(UNIVERSE))) - expected) <= 41


def test_weights_cannot_change_after_the_check() -> None:
    """An array that changes would count a record a billion times."""
    chosen = np.zeros(UNIVERSE)
    query = LinearQuery(chosen)
    chosen[0] = 1e9
    assert query.weights.tolist() == [0] * UNIVERSE
    with pytest.raises(ValueError, match="read-only"):
        query.weights[0] = 1e9
    chosen = np.zeros(UNIVERSE).view(Changing)
    assert abs(running(weights()).ask(LinearQuery(chosen))) <= 41


class Changing(np.ndarray):
    """Weights that become larger once they have been compared with their bounds."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        plain = [np.asarray(each) for each in inputs]
        result = getattr(ufunc, method)(*plain, **named)
        if ufunc is np.less_equal:
            np.asarray(self)[:] = 1e9
        return result


STATES, EDGES = ["CA", "NY", "TX"], [0, 4, 8]


def visits(rows: list[tuple[int, str, int]], **bounds: Any) -> Table:
    """Rows of persons, states and hours, with a fixed choice of rows."""
    person, state, hours = zip(*rows, strict=True)
    columns = {"person": np.array(person), "state": np.array(state), "hours": np.array(hours)}
    return Table(columns, privacy_unit="person", max_rows=3, seed=0, **bounds)


ROWS = [(i % 40, STATES[i % 3 if i % 7 else 0], i % 8) for i in range(150)]


def groups(table: Table) -> GroupBy:
    return table.group_by({"state": STATES}, Keys.bins("hours", EDGES)).count()


def of_groups(table: Table, epsilon: Any = 10**7, **changed: Any) -> PrivateMultiplicativeWeights:
    options = {"records": 110, "threshold": 10, "updates": 50} | changed
    return PrivateMultiplicativeWeights(groups(table), epsilon=epsilon, **options)


def over(table: Table, person: PrivateMultiplicativeWeights) -> Queryable:
    coins = SeededCoins(3)
    return Queryable(
        person @ FiltCon(PureDP(person.epsilon)), table, coins=coins, allow_seeded=True
    )


def test_a_table_answers_every_linear_query_from_one_scan() -> None:
    table = visits(ROWS, max_groups=2)
    counts = groups(table).value(table)
    fresh = visits(ROWS, max_groups=2)
    ran, run = [], fresh._engine.run
    fresh._engine.run = lambda plan: (ran.append(plan), run(plan))[1]  # type: ignore[method-assign]
    queryable = over(fresh, of_groups(fresh))
    generator = np.random.default_rng(0)
    for _ in range(60):
        weights = (
            generator.random((3, 2))
            if generator.random() < 0.5
            else counts > generator.integers(30)
        )
        assert abs(queryable.ask(LinearQuery(weights)) - (counts * weights).sum()) <= 11
    assert len(ran) == 1
    histogram = queryable.ask(SyntheticHistogram())
    assert histogram.shape == (3, 2)
    assert histogram.sum() == pytest.approx(110)
    # A unit with as many rows as are counted; a bound of 1 would be a false claim.
    small, large = visits([(1, "CA", 0)]), visits([(1, "CA", 0), *[(0, "NY", 5)] * 4])
    weighted = Weighted(len, np.full(6, 2**20), groups(large))
    assert weighted.value(large) - weighted.value(small) == 3 == weighted.l1


def test_noise_is_proportional_to_what_a_person_contributes() -> None:
    table = visits(ROWS)
    person = of_groups(table, epsilon=6, updates=3)
    state, message = person.step(person.init(), FromMechanism(None), SeededCoins(0))
    assert isinstance(message, ToMechanism)
    assert message.query == Launch(SparseVector(10, 3, cutoff=3, sensitivity=3, monotone=False))
    state, _ = person.step(state, FromMechanism(Launched(0, None)), SeededCoins(0))
    state, asked = person.step(state, FromAnalyst(LinearQuery(np.ones((3, 2)))), SeededCoins(0))
    assert isinstance(asked, ToMechanism)
    assert isinstance(asked.query, Ask)
    _, measured = person.step(state, FromMechanism(True), SeededCoins(0))
    assert isinstance(measured, ToMechanism)
    assert isinstance(measured.query, Launch)
    laplace = measured.query.mechanism
    assert isinstance(laplace, Laplace)
    assert laplace.statistic.l1 == 3
    assert laplace.loss(1) == PureDP(1)
    exactly = over(visits(ROWS), person)
    assert exactly.privacy_loss() == PureDP(3)


def test_a_query_names_groups_by_a_predicate() -> None:
    table = visits(ROWS)
    counts = groups(table).value(table)
    queryable = over(table, of_groups(table))
    state = column("state")
    for predicate, chosen in [
        (state == "CA", [1, 0, 0]),
        (state.is_in(["NY", "TX"]), [0, 1, 1]),
        (~(state == "CA") & (state != "TX"), [0, 1, 0]),
    ]:
        found = queryable.ask(LinearQuery.where(predicate))
        assert abs(found - counts[np.array(chosen, dtype=bool)].sum()) <= 11
    spent = queryable.privacy_loss()
    for wrong in (column("hours") > 3, column("weight") > 3):
        with pytest.raises(QueryError, match="columns of keys"):
            queryable.ask(LinearQuery.where(wrong))
    with pytest.raises(QueryError):
        queryable.ask(LinearQuery(np.ones(6)))
    assert queryable.privacy_loss() == spent
    with pytest.raises(QueryError):
        running(weights()).ask(LinearQuery.where(state == "CA"))
    with pytest.raises(TypeError):
        LinearQuery.where("state == 'CA'")  # type: ignore[arg-type]


def test_combinations_and_histograms_are_universes() -> None:
    table = visits(ROWS)
    public = {"state": ["CA", "NY"], "hours": [1, 2]}
    pairs = GroupBy(Keys.of(public, "state", "hours"), CountUnits(per=table.unit))
    person = PrivateMultiplicativeWeights(pairs, records=9, epsilon=10**7, threshold=5, updates=9)
    query = LinearQuery.where((column("state") == "CA") & (column("hours") == 1))
    truth = pairs.value(table)
    assert abs(over(table, person).ask(query) - truth[0]) <= 6
    frame = pd.DataFrame({"state": ["CA", "NY", "NY"] * 20})
    person = PrivateMultiplicativeWeights(
        Histogram("state", STATES), records=60, epsilon=10**7, threshold=5, updates=9
    )
    with pytest.warns(match="rows are protected"):
        queryable = Queryable(person @ FiltCon(PureDP(10**7)), frame)
    assert abs(queryable.ask(LinearQuery.where(column("state") == "NY")) - 40) <= 6


def test_a_universe_of_groups_has_no_encoding_and_fits_the_table() -> None:
    with pytest.raises(TypeError, match="leave encode out"):
        of_groups(visits(ROWS), encode=len)
    person = PrivateMultiplicativeWeights(
        Histogram("city", STATES, per=visits(ROWS).unit),
        records=9,
        epsilon=1,
        threshold=5,
        updates=9,
    )
    root = Queryable(FiltCon(PureDP(9)), visits(ROWS))
    for act in (root.launch, root.can_afford):
        with pytest.raises(QueryError, match="city"):
            act(person @ FiltCon(PureDP(1)))
    with pytest.raises(QueryError, match="city"):
        over(visits(ROWS), person)
    assert root.privacy_loss() == PureDP(0)
