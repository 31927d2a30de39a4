"""Messages that cost their sender a charge and were bound to fail: now errors, before the charge.

Each could be built, launched and charged at 1b177ec, and then failed whatever the data were.
"""

import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import composition as c
import mechanisms as m
from curator.codec import QUERIES
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.linear_queries import Weighted
from mechanisms.multiplicative_weights import MOST_ELEMENTS, _same
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from mechanisms.tables.requests.request import Categories, Combinations
from queryable import (
    ZCDP,
    Ask,
    CanAfford,
    InteractiveMechanism,
    Last,
    Launch,
    LaunchOver,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
    Update,
    UserLevel,
)
from queryable.effort import within_effort
from queryable.errors import CodecError
from queryable.messages import AskMany, CloseBlock, LaunchMany, MeasureQuery, RemainingQuery
from queryable.streams.blocks import BlockLossQuery

ROWS = {"age": np.array([20, 30, 40, 50]), "city": np.array(["a", "b", "a", "c"])}
ROWS["who"] = np.array([1, 1, 2, 3])
DATA: dict[str, Callable[[], Any]] = {"arrays": lambda: ROWS, "table": lambda: m.Table(ROWS)}
UNIT = m.PrivacyUnit("who", max_rows=2)
GAUSSIAN = m.Gaussian(m.Count(), rho="1/10")
FILTER = c.FiltCon(ZCDP(1))
GEOMETRIC = m.TruncatedNegativeBinomial(1, "1/3")


def marginal(per: Any = None) -> ComparedMarginal:
    counts = m.GroupBy({"city": ["a", "b"]}, m.Count(per=per))
    return ComparedMarginal(Marginal(counts, ("city",)), np.array([64, 0]), 3, 5)


def combined(per: Any = None) -> m.Gaussian:
    return m.Gaussian(Combined(m.Count(per=per), [[[1]]]), variance=9)


def weights(universe: Any) -> Any:
    return m.PrivateMultiplicativeWeights(universe, records=4, epsilon=1, threshold=1, updates=2)


LAPLACE = m.Laplace(m.Count(), scale=3)
SEVERAL = m.Laplace(m.Histogram("city", ["a", "b"]), scale=3)
RELEASE = m.Count().measurement(PureDP, 1, loss=PureDP(1))
RELEASES = m.GroupBy({"city": ["a", "b"]}, m.Count()).measurement(PureDP, 1, loss=PureDP(1))
LAST = [Launch(m.Laplace(m.Count(), scale=9))]


def of_list(*queries: Any, of: Any = None) -> Any:
    """The best run of a list of queries."""
    return m.Best(m.Scripted(c.FiltCon(PureDP(1)), queries), "largest", GEOMETRIC, of=of)


NEVER_BUILT: dict[str, Callable[[], Any]] = {
    "fewer weights than groups": lambda: Weighted(_same, np.arange(1), SEVERAL.statistic),
    "more weights than groups": lambda: Weighted(_same, np.arange(5), m.Histogram("age", [1, 2])),
    "distances per row and unit": lambda: Distances((marginal(), marginal(UNIT))),
    "Gaussians per row and unit": lambda: GaussiansTogether([combined(), combined(UNIT)]),
    "a counter of units": lambda: m.TreeCounter(m.CountUnits(per=UNIT), rho=1),
    "a counter of units by its scale": lambda: m.TreeCounter(m.CountUnits(per=UNIT), scale=4),
    "a sum of squares of units": lambda: m.ToeplitzCounter(
        m.CountUnits(per=UNIT), scale=4, horizon=9
    ),
    "a counter of combined units": lambda: m.TreeCounter(combined(UNIT).statistic, rho=1),
    "a universe of 2**53": lambda: weights(2**53),
    "a universe that is too large": lambda: weights(MOST_ELEMENTS + 1),
    "no columns": lambda: Combinations((), ((),)),
    "no combinations": lambda: Combinations((Categories("city", ("a",)),), ()),
    "best of a field": lambda: m.Best(LAPLACE, "largest", GEOMETRIC, of="estimate"),
    "best of a place in a number": lambda: m.Best(LAPLACE, "largest", GEOMETRIC, of=0),
    "best of a place beyond": lambda: m.Best(SEVERAL, "largest", GEOMETRIC, of=2),
    "best of several numbers": lambda: m.Best([LAPLACE, SEVERAL], "largest", GEOMETRIC),
    "best of no estimate": lambda: m.Best(RELEASE, "largest", GEOMETRIC, of="value"),
    "best of several estimates": lambda: m.Best(RELEASES, "largest", GEOMETRIC),
    "best of what is lost": lambda: of_list(Launch(LAPLACE), PrivacyLossQuery()),
    "best of what is lost, as an estimate": lambda: of_list(PrivacyLossQuery(), of="estimate"),
    "best of a measure": lambda: of_list(Ask(0, MeasureQuery())),
    "best of what is left": lambda: of_list(Ask(0, RemainingQuery())),
    "best of several launches": lambda: of_list(LaunchMany([Launch(LAPLACE)])),
    "best of several answers": lambda: of_list(Launch(LAPLACE), Launch(SEVERAL)),
    "best of texts": lambda: m.Best(
        m.Top("city", 1, ["a"]).measurement(PureDP, 1, loss=PureDP(1)), "largest", GEOMETRIC
    ),
}


@pytest.mark.parametrize("build", NEVER_BUILT.values(), ids=NEVER_BUILT)
def test_it_is_not_built(build: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        build()


# Lists of queries.

JUNK: dict[str, Any] = {
    "a number": 7,
    "a text": "x",
    "a list": [Launch(GAUSSIAN)],
    "a mechanism": GAUSSIAN,
    "a statistic": m.Count(),
    "a batch": Update({"age": [1]}),
    "the end of a block": CloseBlock("a"),
    "a launch of nothing": Launch(3),
    "a launch of a statistic": Launch(m.Count()),
    "a claim that is too small": Launch(GAUSSIAN, ZCDP("1/99")),
    "another measure": Launch(m.PrivateKeys(m.DiscoveredKeys("city"), epsilon=1, delta="1e-3")),
    "an unknown child": Ask(5, "x"),
    "a child before its launch": Ask(0, "x"),
    "a child by name": Ask("0", "x"),
    "a child by a truth value": Ask(True, "x"),
    "no launches": LaunchMany([]),
    "several of nothing": LaunchMany([Launch(GAUSSIAN), 7]),
    "several questions": AskMany([m.Count()]),
    "a price of nothing": CanAfford(Launch(7)),
    "a loss of no records": PrivacyLossQuery("x"),
}
COMPOSITORS: dict[str, Any] = {
    "FiltCon": FILTER,
    "FiltSeq": c.FiltSeq(ZCDP(1)),
    "Filt": c.Filt(ZCDP(1)),
    "Individual": c.Individual(1),
    "ExPost": c.ExPost(PureDP(1)),
    "ConComp": c.ConComp([FILTER, GAUSSIAN]),
    "Parallel": c.Parallel(c.Partition("city", ["a"]), {"a": FILTER}),
    "Universal": c.Universal(ZCDP(1)),
}


def never_launched(mechanism: InteractiveMechanism[Any], script: list[Any]) -> None:
    """A list is refused before the charge, in a filter that could pay for it."""
    root = Queryable(c.FiltCon(mechanism.privacy_map(1)), dict(ROWS))
    with pytest.raises(QueryError, match=f"never answered: entry {len(script) - 1}"):
        root.launch(m.Scripted(mechanism, script))
    loss = root.privacy_loss()
    assert loss == loss.zero()


@pytest.mark.parametrize("compositor", COMPOSITORS.values(), ids=COMPOSITORS)
def test_a_list_of_junk_is_not_launched(compositor: InteractiveMechanism[Any]) -> None:
    for junk in JUNK.values():
        never_launched(compositor, [junk])
    with pytest.raises(TypeError, match="None"):
        m.Scripted(compositor, [None])


VECTOR = m.SparseVector(3, "1/10")
REDUCTION = m.LaplaceNoiseReduction(m.Count(), scales=[9, 3])
CHILDREN: dict[str, tuple[InteractiveMechanism[Any], list[Any]]] = {
    "measurement": (GAUSSIAN, [m.Count(), PrivacyLossQuery()]),
    "vector": (VECTOR, [7, m.Histogram("age", [1, 2]), AskMany([]), AskMany([m.Count(), 7])]),
    "counter": (m.TreeCounter(m.Count(), rho="1/100"), [7, m.Count()]),
    "reduction": (REDUCTION, [7, m.Total()]),
    "filter": (c.FiltCon(ZCDP("1/10")), [7, Ask(0, m.Count()), Launch(7)]),
    "fixed": (c.ConComp([VECTOR, LAPLACE]), [7, Ask(2, 7), Ask(1, 7), Ask(0, 7), Ask("a", 7)]),
    "universal": (c.Universal(ZCDP("1/10")), [7, Launch(GAUSSIAN, ZCDP(1))]),
    "weights": (
        weights(4) @ c.FiltCon(PureDP(1)),
        [7, m.LinearQuery(np.ones(3)), m.LinearQuery([2, 0, 0, 0]), m.LinearQuery(range(4))],
    ),
    "frugal": (m.Frugal() @ c.FiltCon(ZCDP("1/10")), [m.Estimate(m.Count(), -1)]),
    "synthetic": (m.Synthetic([{"city": ["a"]}]) @ c.FiltCon(ZCDP("1/10")), [m.Fit("x")]),
}


def test_a_person_over_a_measurement_passes_nothing_on() -> None:
    """A measurement answers once, when it starts; here the person takes that answer."""
    over = m.Synthetic([{"city": ["a", "b"]}], rounds=1) @ LAPLACE
    table = Queryable(c.FiltCon(PureDP(1)), ROWS, coins=SeededCoins(1), allow_seeded=True)
    with pytest.raises(QueryError, match="a measurement answers once"):
        table.launch(m.Scripted(over, [Launch(GAUSSIAN)]))
    assert table.privacy_loss() == PureDP(0)


@pytest.mark.parametrize("d_in", [c.FiltCon(PureDP(1)), -(2**53) - 1])
def test_a_report_at_no_number_is_refused_whatever_a_person_was_answered(d_in: Any) -> None:
    """What a noise reduction does depends on its answers, but no state reports at this d_in."""
    asked = [Launch(GAUSSIAN), Launch(GAUSSIAN), PrivacyLossQuery(d_in)]
    table = Queryable(c.FiltCon(ZCDP(9)), ROWS, coins=SeededCoins(1), allow_seeded=True)
    with pytest.raises(QueryError, match="entry 2"):
        table.launch(m.Scripted(m.BrownianNoiseReduction() @ c.FiltCon(ZCDP(9)), asked))
    assert table.privacy_loss() == ZCDP(0)


def test_a_launch_over_many_blocks_is_refused_also_through_a_person() -> None:
    """Its receipt has an account of each block. No answer was paid for when it is counted."""
    blocks = c.AtMostADay(ZCDP("1/100")) @ c.Blocks(c.FiltCon(ZCDP(1)))
    table = Queryable(blocks, [], coins=SeededCoins(1), allow_seeded=True)
    for day in range(200):
        table.feed([day], block=day)
        table.feed.close(day)
    with within_effort(characters=5_000), pytest.raises(QueryError, match="characters"):
        table.ask(LaunchOver(m.Gaussian(m.Count(), rho="1/1000"), Last(200)))
    assert table.ask(BlockLossQuery(7)) == ZCDP(0)


@pytest.mark.parametrize(("child", "junk"), CHILDREN.values(), ids=CHILDREN)
def test_a_child_is_not_asked_what_it_never_answers(child: Any, junk: list[Any]) -> None:
    wide = c.FiltCon(ZCDP(9))
    for query in junk:
        for script in (
            [Launch(child), Ask(0, query)],
            [LaunchMany([Launch(GAUSSIAN), Launch(child)]), Ask(1, query)],
            [Launch(c.FiltCon(ZCDP(8))), Ask(0, Launch(child)), Ask(0, Ask(0, query))],
        ):
            never_launched(wide, script)


def test_a_child_may_have_the_id_of_a_launch_that_was_refused() -> None:
    """The first vector is too dear, and child 0 is the second one."""
    dear = Launch(m.SparseVector(3, 9, monotone=True))
    script = [dear, Launch(VECTOR), Ask(0, m.Sum("age", -1, 1)), Ask(0, m.Count())]
    view = Queryable(c.FiltCon(ZCDP(1)), ROWS).launch(m.Scripted(c.FiltCon(ZCDP(1)), script))
    assert len(view) == 4


def test_weights_beyond_their_own_budget_are_not_launched() -> None:
    """They decline to start, so that no query would be answered."""
    mechanism = weights(4) @ c.FiltCon(PureDP("1/10"))
    for script in ([], [m.LinearQuery(np.ones(4))]):
        with pytest.raises(QueryError, match="declines to start"):
            Queryable(c.FiltCon(PureDP(9)), list(range(4))).launch(m.Scripted(mechanism, script))


# What fits no data.


@pytest.mark.parametrize("name", DATA)
def test_rows_are_divided_by_a_column_that_is_there(name: str) -> None:
    """The empty text stood for a function."""
    parallel = c.Parallel(c.Partition("", ["a"]), {"a": GAUSSIAN})
    root = Queryable(FILTER, DATA[name]())
    for act in (root.launch, root.can_afford):
        with pytest.raises(QueryError, match="there is no column ''"):
            act(parallel)
    with pytest.raises(QueryError, match="there is no column ''"):
        Queryable(parallel, DATA[name]())
    assert root.privacy_loss() == ZCDP(0)


def test_a_column_may_have_no_name() -> None:
    named = {"": np.array(["a", "b"])}
    parallel = c.Parallel(c.Partition("", ["a"]), {"a": m.Gaussian(m.Count(), rho=99)})
    assert Queryable(parallel, named).opening == (1,)


@pytest.mark.parametrize("name", DATA)
def test_a_counter_of_units_needs_their_column(name: str) -> None:
    """A table has public columns as arrays have, of which this was said."""
    counter = m.TreeCounter(m.Count(), rho="1/10", neighbours=UserLevel("absent", 2))
    root = Queryable(FILTER, DATA[name]())
    for each in (counter, c.ConComp([counter]), c.ConComp([c.ConComp([GAUSSIAN, counter])])):
        with pytest.raises(QueryError, match="no column 'absent'"):
            root.launch(each)
        with pytest.raises(QueryError, match="no column 'absent'"):
            Queryable(each, DATA[name]())
    with pytest.raises(QueryError, match="no column 'absent'"):
        Queryable(c.Blocks(FILTER, "absent", 2, unit_rows=2), DATA[name]())
    assert root.privacy_loss() == ZCDP(0)


def test_a_counter_of_groups_counts_the_rows_of_units() -> None:
    """The unit of what is grouped was left in, and every batch failed."""
    table = m.Table({"who": [1], "city": ["a"]}, privacy_unit="who", max_rows=2)
    counted = m.GroupBy({"city": ["a", "b"]}, m.Count(per=table.unit))
    counter = m.TreeCounter(counted, epsilon=10**6, horizon=3)
    assert counter.neighbours == UserLevel("who", 2)
    assert counter.privacy_map(1) == PureDP(10**6)
    for root in (c.FiltCon(PureDP(10**7)), None):
        q = Queryable(root or counter, table, coins=SeededCoins(1), allow_seeded=True)
        child = q.launch(counter) if root else q
        q.feed({"who": [5, 5, 5, 6], "city": ["a", "a", "b", "b"]})
        assert child.ask(m.Total()).tolist() == [2, 1]


def test_encoded_records_are_no_rows_of_a_table() -> None:
    """The sparse vector was charged at the launch, and no query was answered."""
    root = Queryable(c.FiltCon(PureDP(1)), m.Table(ROWS))
    with pytest.raises(QueryError, match="give a statistic of a table"):
        root.launch(weights(4) @ c.FiltCon(PureDP(1)))
    assert root.privacy_loss() == PureDP(0)


# Laws at their limits.


@pytest.mark.parametrize(
    "law",
    [m.TruncatedNegativeBinomial(1, "1/10000"), m.Threshold(25, "1/10000")],
    ids=["geometric", "threshold"],
)
def test_the_mean_of_the_geometric_law_is_exact(law: Any) -> None:
    """It was rounded above 10,000, which a threshold found out when it was to be drawn."""
    assert law.mean == 10_000
    assert SeededCoins(1).draw(law) > 0
    root = Queryable(c.FiltCon(PureDP(9)), ROWS)
    root.launch(m.Best(LAPLACE, "largest", law))
    assert root.privacy_loss() != PureDP(0)


# Work.

RANGE = '{"@":"range/1","start":0,"step":1,"stop":10000000}'
MEGABYTES = 4 * 2**20


def peak(act: Callable[[], object]) -> int:
    """The memory that is taken at most: copying ten million numbers takes 80 megabytes."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_range_is_not_copied() -> None:
    """A linear query took 0.9 s for 60 bytes, before it was refused."""
    of_four = weights(4)
    for given in (RANGE, f'{{"@":"list/1","items":[{RANGE},{RANGE}]}}', f"[{RANGE},[{RANGE}]]"):
        text = f'{{"@":"linear-query/1","weights":{given}}}'

        def refused(text: str = text) -> None:
            with pytest.raises(CodecError):
                QUERIES.decode(text)

        assert peak(refused) < MEGABYTES
    for each in (range(10**7), [range(10**7)], ([range(10**7)],)):
        assert peak(partial(m.LinearQuery, each)) < MEGABYTES
    person = Queryable(of_four @ c.FiltCon(PureDP(1)), ROWS["age"])
    with pytest.raises(QueryError, match="weights have shape"):
        person.ask(m.LinearQuery(range(10**7)))


NO_ROWS: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "text": "abc",
    "an object": object(),
    "a column": pd.Series([1, 2], name="age"),
    "columns of two lengths": {"age": [1, 2], "sex": [1]},
    "a number as a column": {"age": 5},
}


@pytest.mark.parametrize("name", NO_ROWS)
@pytest.mark.parametrize(
    "asked", [m.Count(), m.Sum("age", 0, 9), m.Count(m.column("age") > 3)], ids=str
)
def test_data_without_rows_are_refused_before_the_charge(name: str, asked: Any) -> None:
    root = Queryable(FILTER, NO_ROWS[name])
    with pytest.raises(QueryError, match=r"the data"):
        root.launch(m.Gaussian(asked, rho="1/9"))
    assert root.privacy_loss() == ZCDP(0)
