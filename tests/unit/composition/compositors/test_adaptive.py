"""Behaviour common to filters and odometers: order of a launch, ids, asks, reports, depth."""

from typing import Any

import pytest

from composition import Filt, FiltCon, FiltSeq, Odom, OdomCon, OdomSeq
from queryable import (
    SYSTEM,
    ZCDP,
    Ask,
    CanAfford,
    InteractiveMechanism,
    Launch,
    Launched,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)
from queryable.errors import UnknownChildError
from tests.strategies import (
    ILLEGAL,
    ILLEGAL_LAUNCHES,
    TENTH,
    BrokenMap,
    Courier,
    Faulty,
    RandomBits,
    RandomWord,
    Recorder,
    RecordingDataset,
    Toy,
    raising,
)

COINS = SeededCoins(1)
COMPOSITIONS: dict[str, InteractiveMechanism[Any]] = {
    "FiltCon": FiltCon(PureDP(1)),
    "OdomCon": OdomCon(PureDP),
    "FiltSeq": FiltSeq(PureDP(1)),
    "OdomSeq": OdomSeq(PureDP),
    "Filt": Filt(PureDP(1)),
    "Odom": Odom(PureDP),
}


@pytest.fixture(params=COMPOSITIONS)
def composition(request: pytest.FixtureRequest) -> InteractiveMechanism[Any]:
    """Every adaptive compositor."""
    return COMPOSITIONS[request.param]


def test_the_data_are_not_touched_before_a_launch_is_paid_for() -> None:
    """A refused, unproven, falsely claimed or wrong launch runs no mechanism and reads no data."""
    runs: list[str] = []
    data = RecordingDataset()
    q = Queryable(FiltCon(PureDP("0.25"), max_mechanisms=2), data)
    for launch in (
        lambda: q(Recorder(runs, PureDP("0.3"))),
        lambda: q(Recorder(runs), PureDP("0.05")),
        lambda: q(Recorder(runs), ZCDP(1)),
        lambda: q(Recorder(runs, ZCDP(1))),
        lambda: q(BrokenMap(map=lambda d_in, measure: raising(ValueError())(None))),
        lambda: q.launch(Recorder),
        lambda: q.launch(Statistic(len, l1=1, l2=1)),
    ):
        with pytest.raises((QueryRefusedError, QueryError)):
            launch()
    q.can_afford(Recorder(runs))
    q.privacy_loss(2)
    assert data.touched == []
    assert runs == []
    assert q(Recorder(runs)) == 3
    assert data.touched == ["len"]
    q(RandomWord())
    with pytest.raises(QueryRefusedError, match="count limit"):
        q(Recorder(runs))
    assert (runs, data.touched) == (["recorder"], ["len"])


def test_a_refusal_by_a_hair_mentions_floats() -> None:
    """A refusal by less than 1e-9 says that a sum of floats may be to blame; others do not."""
    filtered = FiltCon(PureDP(0.3))
    state, _ = filtered.init(None)
    _, near = filtered.step(state, Launch(Toy(PureDP(0.1 + 0.2))))
    _, far = filtered.step(state, Launch(Toy(PureDP(0.31))))
    assert "floats" in near.reason
    assert "floats" not in far.reason


def test_every_launch_takes_the_next_id(composition: InteractiveMechanism[Any]) -> None:
    """Measurements and failures use an id too; refused and wrong launches do not."""
    state, _ = composition.init(None)
    state, _ = composition.step(state, Launch(RandomWord()), COINS)
    state, _ = composition.step(state, Launch(RandomWord()), COINS)
    for wrong in ILLEGAL_LAUNCHES:
        with pytest.raises(QueryError):
            composition.step(state, wrong, COINS)
    assert set(state.own.claims) == {0, 1}
    if not composition.noninteractive:  # type: ignore[attr-defined]
        state, answer = composition.step(state, Launch(Toy()), COINS)
        assert answer == Launched(2, None)


def test_a_measurement_is_not_asked(composition: InteractiveMechanism[Any]) -> None:
    """A query to its id is an unknown child."""
    state, _ = composition.init(None)
    state, _ = composition.step(state, Launch(RandomWord()), COINS)
    with pytest.raises(UnknownChildError):
        composition.step(state, Ask(0, "bits"), COINS)


def test_wrong_queries_are_query_errors(composition: InteractiveMechanism[Any]) -> None:
    """Nonsense of every kind, at every depth, is a clear `QueryError` and changes nothing."""
    state, _ = composition.init(None)
    state, _ = composition.step(state, Launch(RandomWord()), COINS)
    if not composition.noninteractive:  # type: ignore[attr-defined]
        state, _ = composition.step(state, Launch(RandomBits()), COINS)
    before = (state.own.account, dict(state.own.claims), dict(state.children))
    children: tuple[Any, ...] = (*ILLEGAL, -1, 99, "1", 1.0, 0)
    wrong = [
        *ILLEGAL,
        *ILLEGAL_LAUNCHES,
        *[CanAfford(each) for each in ILLEGAL],
        *[CanAfford(each) for each in ILLEGAL_LAUNCHES],
        *[Ask(child, "bits") for child in children],
        *[Ask(1, each) for each in ILLEGAL],
        *[PrivacyLossQuery(d_in) for d_in in ("1", True, -1, 1.5, (1,))],
        Launch(Toy(), "0.1"),
        Launch(Toy(), PureDP),
        Ask(1, Launch(Toy())),
    ]
    for query in wrong:
        with pytest.raises(QueryError) as caught:
            composition.step(state, query, COINS)
        assert str(caught.value)
    assert before == (state.own.account, dict(state.own.claims), dict(state.children))


@pytest.mark.parametrize("kind", [FiltCon(PureDP(1)), OdomCon(PureDP)], ids=str)
@pytest.mark.parametrize("d_in", [0, 1, 2, 3])
def test_the_loss_for_groups_composes_the_childrens_maps(kind: Any, d_in: int) -> None:
    """At d_in=k each child's own map at k is composed, whatever was claimed for it."""

    class Flat(Toy):
        """Loses no more for two records than for one."""

        def loss(self, d_in: int) -> PureDP:
            return TENTH

    q = Queryable(kind, None)
    q(Flat())
    q(Toy(PureDP("0.2")))
    q(RandomWord(), PureDP("0.3"))
    expected = {0: "0", 1: "0.6", 2: "0.7", 3: "1"}
    assert q.privacy_loss(d_in) == PureDP(expected[d_in])


def test_the_unit_of_a_budget_may_be_a_group() -> None:
    """At d_in=2 launches are charged, and by default reported, for two records."""
    q = Queryable(FiltCon(PureDP(1), d_in=2), None)
    q(RandomWord())
    assert q.privacy_loss() == PureDP("0.2") == q.privacy_loss(2)
    assert q.privacy_loss(1) == TENTH
    assert FiltCon(PureDP(1), d_in=2).privacy_map(1) == PureDP(1)
    assert FiltCon(PureDP(1), d_in=2).privacy_map(3) == PureDP(2)


@pytest.mark.parametrize("kind", [FiltCon, FiltSeq])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("d_in", 0),
        ("d_in", True),
        ("d_in", -1),
        ("max_mechanisms", -1),
        ("max_mechanisms", True),
        ("max_depth", -1),
        ("max_depth", 151),
        ("max_depth", float("nan")),
        ("d_in", "1"),
    ],
)
def test_bad_counts_are_refused_at_construction(kind: Any, field: str, value: Any) -> None:
    """Counts are checked when the compositor is made; the message names the parameter."""
    with pytest.raises((ValueError, TypeError), match=field):
        kind(PureDP(1), **{field: value})


def test_nesting_is_bounded_in_public() -> None:
    """At max_depth a query passes; one level deeper is a `QueryError` and nothing is retired."""
    q = Queryable(FiltCon(PureDP(1), max_depth=3), None)
    chain = [q]
    for _ in range(3):
        chain.append(chain[-1](FiltCon(PureDP(1))))
    deepest = chain[-1](Toy())
    with pytest.raises(QueryError, match="max_depth=3"):
        deepest.ask("bits")
    assert chain[-1].privacy_loss() == TENTH


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: Courier() @ m])
def test_the_default_depth_fits_the_stack(wrap: Any) -> None:
    """A hundred levels, persons between them too, answer within Python's recursion limit."""
    q = Queryable(wrap(FiltCon(PureDP(1))), None)
    for _ in range(99):
        q = q(wrap(FiltCon(PureDP(1))))
    assert q(RandomWord())
    assert q.privacy_loss() == TENTH


def test_old_states_stay_usable() -> None:
    """An old state gives the same answers after later messages."""
    composition = FiltCon(PureDP("0.2"))
    start, _ = composition.init(None)
    first, _ = composition.step(start, Launch(RandomBits()), COINS.spawn("root", 1))
    second, word = composition.step(first, Ask(0, "bits"), COINS.spawn("root", 2))
    third, _ = composition.step(second, Launch(Faulty(raising(ValueError()))), SYSTEM)
    composition.step(third, Ask(1, "bits"), SYSTEM)
    assert composition.step(first, Ask(0, "bits"), COINS.spawn("root", 2)) == (second, word)
    assert composition.step(start, PrivacyLossQuery())[1] == PureDP(0)
    assert composition.step(first, CanAfford(Launch(Toy())))[1] is True
    assert composition.step(third, CanAfford(Launch(Toy())))[1] is False


def test_a_claim_is_frozen_at_launch() -> None:
    """A map that grows after the launch does not change what was charged for it."""
    calls: list[int] = []

    def growing(d_in: int, measure: Any) -> PureDP:
        calls.append(d_in)
        return PureDP(len(calls)) if d_in == 1 else PureDP(5)

    q = Queryable(FiltCon(PureDP(10)), None)
    child = q(BrokenMap(map=growing))
    assert [q.privacy_loss(), child.privacy_loss(), q.privacy_loss()] == [PureDP(1)] * 3
    assert calls == [1]
