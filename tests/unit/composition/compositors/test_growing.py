"""Batches of records in each compositor: who gets them, who keeps a snapshot, who refuses."""

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np
import pytest

from composition import (
    ConComp,
    ExPost,
    Filt,
    FiltCon,
    FiltSeq,
    Odom,
    OdomCon,
    OdomSeq,
    Parallel,
    Partition,
    Universal,
)
from composition.compositors.fixed.parallel import Parallel as ParallelClass
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Frugal,
    Gaussian,
    Laplace,
    LaplaceNoiseReduction,
    PrivateMultiplicativeWeights,
    Refine,
    SparseVector,
    Synthetic,
    column,
)
from queryable import (
    SYSTEM,
    ZCDP,
    Coins,
    InteractiveMechanism,
    Launch,
    Loss,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    Refused,
    Statistic,
    UnprovenCompositionError,
    Update,
    UserLevel,
)
from queryable.checks.datasets import Described
from queryable.checks.protection import Protected
from queryable.data.growing import grown, snapshot
from queryable.data.later import made
from queryable.errors import RetiredChildError
from queryable.losses import group_size
from queryable.messages import AskMany, LaunchMany
from queryable.streams.levels import EventLevel, Growth
from tests.strategies import WORD, Size

LITTLE = PureDP("1/100")
BITS = "bits"


@attrs.frozen
class Taking(InteractiveMechanism[Any]):
    """Continual: answers "bits" with the records that it has, and 64 random bits."""

    charged: Loss = LITTLE
    seen: list[Any] = attrs.field(factory=list, eq=False, repr=False)
    name: str = ""
    neighbours: Any = EventLevel()
    from_any_history: bool = False

    @property
    def growth(self) -> Growth:  # type: ignore[override]
        return Growth(from_any_history=self.from_any_history)

    def loss(self, d_in: int) -> Loss:
        return self.charged.group(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return (dataset, 0), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        data, word = state
        if isinstance(query, Update):
            self.seen.append((self.name, query.records))
            return (grown(data, query.records), coins.draw(WORD)), None
        return state, (tuple(snapshot(data)), word)


def records(answer: Any) -> Any:
    return answer[0]


# Filters and odometers.


@pytest.mark.parametrize("kind", [Filt(PureDP(1)), Odom(PureDP)])
def test_measurements_see_what_is_there(kind: Any) -> None:
    q = Queryable(kind, [1])
    q.feed([2])
    assert q(Size()) == 2
    q.feed([3, 4])
    assert q.launch_many([Size(), Size()]) == (4, 4)


@pytest.mark.parametrize("kind", [FiltSeq(PureDP(1)), OdomSeq(PureDP)])
def test_a_retired_child_gets_nothing(kind: Any) -> None:
    """A batch reaches the last child only; the ones before it are gone."""
    seen: list[Any] = []
    q = Queryable(kind, [1])
    first = q(Taking(seen=seen, name="first"))
    q.feed([2])
    second = q(Taking(seen=seen, name="second"))
    q.feed([3])
    assert seen == [("first", [2]), ("second", [3])]
    assert records(second(BITS)) == (1, 2, 3)
    with pytest.raises(RetiredChildError):
        first(BITS)


@pytest.mark.parametrize("root", [FiltCon(PureDP(1)), OdomCon(PureDP)], ids=["filter", "odometer"])
def test_children_get_batches_in_launch_order(root: Any) -> None:
    """Also those that were launched together, and after other batches, and past failures."""
    seen: list[Any] = []
    q = Queryable(root, [1])
    q.feed([])
    q(Taking(seen=seen, name="a"))
    q(Size())
    q.feed([2])
    q.launch_many([Taking(seen=seen, name="b"), Size(), Taking(seen=seen, name="c")])
    q(Taking(seen=seen, name="d"))
    q.feed([3])
    assert [name for name, _ in seen] == ["a", "a", "b", "c", "d"]
    assert [records(q.children[child](BITS)) for child in (0, 2, 4, 5)] == [(1, 2, 3)] * 4


def test_whether_a_child_failed_at_a_batch_is_seen_when_it_is_asked() -> None:
    """Until then no answer depends on it, and its next answer is a failure like others."""

    class Fails(Taking):
        growth = Growth()

        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
            if len(query.records) == 2:
                raise ValueError
            return state, None

    told = []
    for batch in ([2, 3], [2]):
        q = Queryable(FiltCon(PureDP(1)), [1])
        child = q(Fails())
        q.feed(batch)
        q.feed([4])
        told.append((child.privacy_loss(), q.privacy_loss(), q.tree(), len(q.children)))
        with pytest.raises(MechanismFault):
            child(BITS)
    assert told[0] == told[1]


def test_several_launches_at_once_see_all_records() -> None:
    """And share the values of the data set with continual children among them."""
    filtered = FiltCon(PureDP(1))
    state, _ = filtered.init([1])
    state, _ = filtered.step(state, Update([2]))
    state, answers = filtered.step(state, LaunchMany([Launch(Taking()), Launch(Size())]))
    assert answers[1].answer == 2
    assert state.children[0].state[0] is made(state.own.data.rows)
    state, _ = filtered.step(state, Update([3]))
    assert snapshot(state.own.data.rows) == [1, 2, 3]
    assert state.children[0].state[0] == made(state.own.data.rows)


def test_a_noise_reduction_keeps_its_snapshot() -> None:
    """An ex-post child refines what it was launched on; others see all records."""
    q = Queryable(ExPost(PureDP(10**4)), [1, 2])
    size = Statistic(len, l1=1, l2=1)
    child = q(LaplaceNoiseReduction(size, scales=["1/1000", "1/2000"]))
    assert child(Refine()).value == 2
    watcher = q(Taking())
    q.feed([3])
    assert child(Refine()).value == 2
    assert records(watcher(BITS)) == (1, 2, 3)
    later = q(LaplaceNoiseReduction(size, scales=["1/1000"]))
    assert later(Refine()).value == 3


@pytest.mark.parametrize(
    "person",
    [
        BrownianNoiseReduction(),
        PrivateMultiplicativeWeights(4, records=9, epsilon=1, threshold=1, updates=1),
        Frugal(),
        Synthetic({"a": [1]}),
    ],
    ids=["brownian", "weights", "frugal", "synthetic"],
)
def test_a_person_over_one_data_set_keeps_it(person: Any) -> None:
    """Estimates that are refined, or answered from one table, are about the data at the launch."""
    q = Queryable(FiltCon(PureDP(10)), [1, 2])
    inner = q.launch(person @ FiltCon(PureDP(1)))
    q.feed([3])
    held = q._root.state.children[0].state.children["mechanism"].state  # type: ignore[attr-defined]
    assert snapshot(held.own.data.rows) == [1, 2]
    assert inner is not None
    alone = Queryable(person @ FiltCon(PureDP(1)), [1, 2])
    with pytest.raises(QueryError, match="one data set"):
        alone.feed([3])


# Compositors of fixed children.


def test_all_at_once_get_every_batch() -> None:
    seen: list[Any] = []
    parts = [Taking(seen=seen, name="a"), Size(), FiltCon(PureDP(1)), Taking(seen=seen, name="b")]
    q = Queryable(ConComp(parts), [1])
    q.feed([2])
    assert [name for name, _ in seen] == ["a", "b"]
    assert q.children[2](Size()) == 2
    children = q._root.state.children["root"].state.children  # type: ignore[attr-defined]
    assert made(children[2].state.own.data.rows) == children[0].state[0]
    q = Queryable(ConComp([Size(), Size()]), [1])
    with pytest.raises(QueryError, match="keeps the data"):
        q.feed([2])


def test_a_universal_mechanism_waits_with_all_records() -> None:
    q = Queryable(Universal(PureDP(1)), [1])
    q.feed([2])
    q.ask(Launch(Taking()))
    q.feed([3])
    assert records(q.ask(BITS)) == (1, 2, 3)
    q = Queryable(Universal(PureDP(1)), [1])
    q.feed([2], block="monday")
    q.feed.close("monday")
    assert q.ask(Launch(Size())) == 2
    assert q.feed([3]) is None


def test_a_universal_child_that_fails_is_retired() -> None:
    class Fails(Taking):
        growth = Growth()

        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
            raise ValueError

    q = Queryable(FiltCon(PureDP(10)), [1])
    child, other = q(Universal(PureDP(1))), q(Taking())
    child.ask(Launch(Fails()))
    q.feed([2])
    assert records(other(BITS)) == (1, 2)
    with pytest.raises(MechanismFault):
        child.ask(BITS)
    with pytest.raises(RetiredChildError):
        child.ask(BITS)


# Parts.


def split(budget: Any, **options: Any) -> Parallel:
    """Two parts by a column, each under this budget."""
    parts = dict.fromkeys(["a", "b"], budget if isinstance(budget, Taking) else FiltCon(budget))
    return Parallel(Partition("k", ["a", "b"]), parts, **options)


def rows(*keys: str) -> list[dict[str, str]]:
    return [{"k": key} for key in keys]


def test_pure_parts_get_their_own_records() -> None:
    """An empty part of a batch is a batch too."""
    q = Queryable(FiltCon(PureDP(10)), rows("a", "b", "b"))
    parts = q(split(PureDP(1)))
    q.feed(rows("b"))
    q.feed(rows("a", "c"))
    assert parts.children["a"](Size()) == 2
    assert parts.children["b"](Size()) == 3
    assert q(Size()) == 6
    # At several records the loss is that of a group: answers may tell where to put the next.
    parts = split(Taking(ZCDP("1/10"), from_any_history=True))
    assert parts.growth is not None
    q = Queryable(parts, rows("a", "b"))
    q.feed(rows("a"))
    assert len(records(q.children["a"](BITS))) == 2
    assert parts.privacy_map(1, ZCDP) == ZCDP("1/10")
    assert parts.privacy_map(3, ZCDP) == ZCDP("9/10")
    assert split(Taking(ZCDP("1/10"))).growth is None


def test_parts_that_are_not_pure_keep_the_data_and_say_why() -> None:
    """As a child they keep a snapshot; as the root they refuse batches, with the reason."""
    parts = split(ZCDP(1))
    assert parts.growth is None
    q = Queryable(FiltCon(ZCDP(2)), rows("a", "b"))
    child = q(parts)
    q.feed(rows("a"))
    assert child.children["a"](Size(ZCDP("1/100"))) == 1
    alone = Queryable(parts, rows("a", "b"))
    with pytest.raises(UnprovenCompositionError, match="which part to put the differing record"):
        alone.feed(rows("a"))
    assert alone.children["a"](Size(ZCDP("1/100"))) == 1


@attrs.frozen
class Flat(Taking):
    """Pure with a better zCDP that does not hold from every history; flat in the records."""

    growth = Growth()

    def privacy_map(self, d_in: int, measure: Any = None) -> Loss:
        return ZCDP("1/1000") if measure is ZCDP else PureDP(1)


def test_a_pure_part_counts_with_what_its_epsilon_converts_to() -> None:
    """A child that is seldom revealing has a small zCDP on average, and not once it says so."""
    parts = split(Flat())
    assert isinstance(parts, ParallelClass)
    assert parts.privacy_map(1, ZCDP) == PureDP(1).to(ZCDP)
    assert parts.privacy_map(2) == PureDP(2)
    assert parts.privacy_map(2, ZCDP) == PureDP(2).to(ZCDP)
    assert group_size(2, 1) == 2


def test_a_batch_without_the_key_changes_nothing() -> None:
    q = Queryable(split(PureDP(1)), {"k": ["a", "b"]})
    with pytest.raises(QueryError, match="nothing has changed"):
        q.feed({"j": ["a"]})
    q.feed({"k": ["a"]})
    with pytest.raises(QueryError):
        q.feed({"k": ["a"], "j": ["a"]})
    root = q._root.state.children["root"].state  # type: ignore[attr-defined]
    assert len(snapshot(root.children["a"].state.own.data.rows)["k"]) == 2


# Mechanisms.


@attrs.frozen(eq=False)
class Visits(Described):
    """Rows of patients: all rows of one patient are protected."""

    rows: tuple[Any, ...] = ()

    @property
    def protects(self) -> Protected:
        return Protected("patient", "all rows", "patient")

    def check(self, statistic: Any) -> None: ...

    def append(self, records: Any, block: Any = None) -> Any:
        if type(records) is not tuple:
            raise TypeError("give a tuple")
        return Visits((*self.rows, *records))

    def over(self, blocks: Iterable[Any]) -> Any:
        raise KeyError(blocks)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def test_a_described_data_set_grows_by_itself() -> None:
    q = Queryable(FiltCon(PureDP(1)), Visits((1,)))
    q.feed((2, 3))
    assert q(Size()) == 3
    with pytest.raises(QueryError, match="give a tuple; nothing has changed"):
        q.feed([4])
    fixed = Queryable(FiltCon(PureDP(1)), Still())
    with pytest.raises(QueryError, match="Still cannot grow"):
        fixed.feed([4])


class Still(Described):
    """A data set that does not say how it grows."""

    def check(self, statistic: Any) -> None: ...


@pytest.mark.parametrize(
    ("level", "right"),
    [(EventLevel(), False), (UserLevel("doctor", 4), False), (UserLevel("patient", 4), True)],
    ids=str,
)
def test_a_mechanism_protects_what_the_data_protect(level: Any, right: bool) -> None:
    """One about single records is refused over data that protect units, wherever it is inside."""
    mechanism = Taking(neighbours=level)
    q = Queryable(FiltCon(PureDP(1)), Visits())
    inner = q(FiltCon(PureDP("1/10")))
    ways: list[Any] = [
        lambda: q(mechanism),
        lambda: inner(mechanism),
        lambda: q(ConComp([Size(), mechanism])),
        lambda: q(Universal(LITTLE)).ask(Launch(mechanism)),
        lambda: q.launch_many([mechanism]),
        lambda: Queryable(mechanism, Visits()),
    ]
    for way in ways:
        if right:
            way()
        else:
            with pytest.raises(QueryError, match="protect all rows of one patient"):
                way()
    assert Queryable(FiltCon(PureDP(1)), [1])(mechanism) is not None


@pytest.mark.parametrize("outer", [FiltCon(PureDP(1)), Odom(PureDP), ExPost(PureDP(1))], ids=str)
@pytest.mark.parametrize(
    ("data", "mechanism", "says"),
    [
        (Visits(), Taking(), "protect all rows of one patient"),
        (Visits(), Taking(neighbours=UserLevel("doctor", 4)), "protect all rows of one patient"),
        ([1], Taking(neighbours=UserLevel("patient", 1)), "two records of each patient"),
        ({"age": [1]}, Laplace(Count(column("size") > 1), epsilon="1/10"), "size"),
    ],
)
def test_a_wrong_launch_cannot_be_afforded_either(
    outer: Any, data: Any, mechanism: Any, says: str
) -> None:
    """`can_afford` raises what the launch raises, and not only if the budget is too small."""
    q = Queryable(outer, data)
    for way in (q.can_afford, q.launch):
        with pytest.raises(QueryError, match=says):
            way(mechanism)


def test_noise_is_drawn_for_all_records() -> None:
    """Mechanisms of the packages read data that grew."""
    q = Queryable(FiltCon(ZCDP(10**9)), {"age": np.array([31, 47])})
    q.feed({"age": np.array([62])})
    assert q(Gaussian(Count(), rho=10**6)) == 3
    assert q.release(Count(), loss=ZCDP(10**6)).estimate == 3
    assert q(Laplace(Count(column("age") > 40), epsilon=1000)) == 2
    q = Queryable(FiltCon(PureDP(10**7)), {"age": np.array([31, 47])})
    search = q(SparseVector(4, epsilon=10**5, cutoff=2))
    old = Count(column("age") >= 40)
    assert not search(old)
    q.feed({"age": np.array([62, 58, 47])})
    assert search.ask(AskMany([old, Count(column("age") < 40), old])) == (True, False, True)
    q.feed({"age": np.array([62])})
    with pytest.raises(QueryError, match="size"):
        q(SparseVector(4, epsilon=1)).ask(Count(column("size") >= 40))
    state = q._root.state.children[0].state  # type: ignore[attr-defined]
    assert (state.left, state.dataset) == (0, None)
    assert isinstance(SparseVector(4, epsilon=1).step(state, old)[1], Refused)
