"""Compositors of all adaptive launches, and of all measures."""

from typing import Any

import pytest

from composition import Filt, FiltCon, FiltSeq, Odom, OdomCon, OdomSeq, Universal
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    CanAfford,
    InteractiveMechanism,
    Launch,
    MechanismFault,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
    UnknownQueryError,
    UnprovenCompositionError,
    Update,
)
from queryable.messages import CloseBlock
from tests.strategies import (
    ILLEGAL,
    ILLEGAL_LAUNCHES,
    TENTH,
    WORD,
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


def test_nesting_is_bounded_in_public() -> None:
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


def test_it_becomes_what_is_launched() -> None:
    """Its launch is answered with the mechanism's opening, the rest by the mechanism."""
    q = Queryable(Universal(TENTH), None)
    assert q.opening is None
    assert q.ask(Launch(Toy())) is None
    assert [q.ask("bits"), q.ask("bits")] == [0, 1]
    # A pure loss fits an approximate budget, at delta zero.
    q = Queryable(Universal(ApproxDP("0.1", 0)), None)
    q.ask(Launch(Toy()))
    assert q.ask("bits") == 0
    # It runs as the filter at its d_out.
    q = Queryable(Universal(TENTH), None)
    q.ask(Launch(OdomCon(PureDP), TENTH))
    child = q.ask(Launch(Toy()))
    assert child.ask("bits") == 0
    assert q.ask(Ask(0, "bits")) == 1
    q = Queryable(Universal(TENTH), None)
    assert isinstance(q.ask(Launch(RandomWord())), int)
    with pytest.raises(QueryError):
        q.ask("bits")


@pytest.mark.parametrize("query", ILLEGAL)
def test_before_the_choice_only_a_launch_is_accepted(query: Any) -> None:
    universal = Universal(TENTH)
    state, _ = universal.init(None, COINS)
    with pytest.raises(UnknownQueryError, match="one Launch first"):
        universal.step(state, query, COINS)


@pytest.mark.parametrize(
    "launch",
    [
        Launch(Toy(PureDP("0.2"))),
        Launch(Toy(), PureDP("0.2")),
        Launch(Toy(), PureDP("0.05")),
        Launch(Toy(ZCDP("0.001"))),
        Launch(OdomCon(PureDP)),
        Launch("a mechanism"),
    ],
)
def test_what_does_not_fit_chooses_nothing(launch: Any) -> None:
    """Too large, claimed too small, of a wrong measure, without a loss; then one that fits may."""
    q = Queryable(Universal(TENTH), None)
    with pytest.raises(QueryError):
        q.ask(launch)
    q.ask(Launch(Toy()))
    assert q.ask("bits") == 0


def test_the_budget_is_its_loss() -> None:
    """Before the choice and after, whatever was chosen, and grouped beyond d_in."""
    universal = Universal(PureDP(1), d_in=2)
    assert [universal.privacy_map(k) for k in range(5)] == [PureDP(k) for k in (0, 1, 1, 2, 2)]
    q = Queryable(FiltCon(PureDP(1)), None)
    child = q.launch(Universal(TENTH))
    child.ask(Launch(Toy(PureDP("0.01"))))
    assert (child.privacy_loss(), q.privacy_loss()) == (TENTH, TENTH)
    # A budget for two records takes what loses no more at two.
    with pytest.raises(PrivacyClaimError, match="does not fit"):
        Queryable(Universal(TENTH, d_in=2), None).ask(Launch(Toy()))
    Queryable(Universal(PureDP("0.2"), d_in=2), None).ask(Launch(Toy()))
    # It may be launched in a composition later, so what it becomes must compose.
    with pytest.raises(UnprovenCompositionError):
        Queryable(Universal(ApproxZCDP(1, "0.1")), None).ask(Launch(Toy(ApproxZCDP("0.1", "0.01"))))


def test_each_message_has_coins_of_its_own() -> None:
    """The launch and every ask after it draw apart, and replay."""
    universal = Universal(TENTH)
    state, _ = universal.init(None, COINS)
    answers = []
    for query in (Launch(RandomBits()), "bits", "bits"):
        state, answer = universal.step(state, query, COINS)
        answers.append(answer)
    assert answers == [COINS.spawn("launched", n).draw(WORD) for n in (1, 2, 3)]
    assert len(set(answers)) == 3


def test_batches_before_the_launch_count_as_messages() -> None:
    """They select the coins of what is launched, which reads them."""

    class Size(RandomBits):
        def init(self, dataset: Any, coins: Any = COINS) -> Any:
            return 0, (len(dataset), coins.draw(WORD))

    universal = Universal(TENTH)
    state, _ = universal.init([1], COINS)
    for query in (Update([2, 3]), CloseBlock("monday"), Update([4]), Launch(Size())):
        state, answer = universal.step(state, query, COINS)
    assert answer == (4, COINS.spawn("launched", 3).draw(WORD))
    assert universal.step(state, "bits", COINS)[1] == COINS.spawn("launched", 4).draw(WORD)


def test_it_fails_with_its_mechanism() -> None:
    q = Queryable(Universal(TENTH), None)
    q.ask(Launch(Faulty(raising(ValueError("secret")))))
    for _ in range(2):
        with pytest.raises(MechanismFault):
            q.ask("bits")
    # An error at the mechanism's start may depend on data.
    q = Queryable(Universal(TENTH), None)
    with pytest.raises(MechanismFault):
        q.ask(Launch(Faulty(raising(QueryError("secret")), at_launch=True, guarded=False)))
    with pytest.raises(MechanismFault):
        q.ask(Launch(Toy()))


class Empty(Toy):
    """It is false."""

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("first", [Toy(), Empty()], ids=repr)
def test_only_one_is_launched(first: Toy) -> None:
    """A second launch is a query to the first mechanism, whatever `bool` says of that one."""
    q = Queryable(Universal(TENTH), None)
    q.ask(Launch(first))
    with pytest.raises(UnknownQueryError, match="bits"):
        q.ask(Launch(Toy()))
    assert q.ask("bits") == 0
