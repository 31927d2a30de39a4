"""The order of a launch; several in one message are the same as one after the other."""

from collections.abc import Callable, Iterable
from fractions import Fraction
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
    Whitehouse2023,
)
from mechanisms import Count, Laplace, LaplaceNoiseReduction, Refine, SparseVector, column
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    Failed,
    Halted,
    InteractiveMechanism,
    Launch,
    Launched,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
    Statistic,
    UnknownQueryError,
)
from queryable.checks.datasets import Described
from queryable.errors import RetiredChildError
from queryable.messages import LaunchMany
from queryable.statistics import IntegerStatistic
from tests.strategies import Courier, Faulty, RandomBits, RandomWord, Recorder, Toy, raising

LITTLE, MUCH = PureDP("1/100"), PureDP(50)
ROWS: dict[str, Any] = {"age": np.arange(20), "part": ["x", "y"] * 10}
FAULT = Faulty(raising(ValueError("secret")), at_launch=True, charged=LITTLE)
BITS, WORD = RandomBits(LITTLE), RandomWord(LITTLE)
MIXED: tuple[Any, ...] = (BITS, WORD, FAULT, Toy(MUCH), FiltCon(LITTLE), WORD, BITS)
"""Interactive mechanisms, measurements, a failure, and one that does not fit."""

TREES: dict[str, tuple[Callable[[], InteractiveMechanism[Any]], tuple[Any, ...]]] = {
    "FiltCon": (lambda: FiltCon(PureDP(1)), MIXED),
    "Whitehouse2023": (lambda: FiltCon(ApproxDP(1, "1e-6"), rule=Whitehouse2023()), MIXED),
    "FiltSeq": (lambda: FiltSeq(PureDP(1)), MIXED),
    "FiltSeq, a measurement last": (lambda: FiltSeq(PureDP(1)), (BITS, BITS, WORD)),
    "Filt": (lambda: Filt(PureDP("1/25")), (WORD, WORD, Recorder([], MUCH), WORD)),
    "Odom": (lambda: Odom(PureDP), (WORD, WORD)),
    "OdomCon": (lambda: OdomCon(PureDP), MIXED),
    "OdomSeq": (lambda: OdomSeq(PureDP), MIXED),
    "a limit": (lambda: FiltCon(PureDP(1), max_mechanisms=3), MIXED),
    "halting": (lambda: FiltCon(PureDP(1), on_exceed="halt"), MIXED),
    "halting at once": (lambda: FiltCon(PureDP(1), on_exceed="halt"), (Toy(MUCH), WORD)),
    "ExPost": (
        lambda: ExPost(PureDP(1)),
        (WORD, LaplaceNoiseReduction(Statistic(len, l1=1, l2=1), scales=[9, 3]), BITS, Toy(MUCH)),
    ),
    "ExPost, charged at launch": (lambda: ExPost(PureDP(1)), MIXED),
    "a person": (lambda: Courier() @ FiltCon(PureDP(1)), MIXED),
    "a person of persons": (lambda: Courier() @ (Courier() @ FiltCon(PureDP(1))), MIXED),
    "universal": (lambda: Universal(PureDP(2)), (FiltCon(PureDP(1)), BITS, WORD, Toy(MUCH))),
}
NESTED: dict[str, Callable[[], tuple[InteractiveMechanism[Any], list[Any], tuple[Any, ...]]]] = {
    "root": lambda: (FiltCon(PureDP(3)), [], ()),
    "child": lambda: (FiltCon(PureDP(3)), [FiltCon(PureDP(1))], (0,)),
    "grandchild": lambda: (FiltCon(PureDP(3)), [FiltCon(PureDP(2)), FiltCon(PureDP(1))], (0, 0)),
    "behind persons": lambda: (
        FiltCon(PureDP(3)),
        [Courier() @ FiltCon(PureDP(2)), Courier() @ FiltSeq(PureDP(1))],
        (0, 0),
    ),
    "a part": lambda: (
        Parallel(Partition("part", ["x", "y"]), {"x": FiltCon(PureDP(1)), "y": BITS}),
        [],
        ("x",),
    ),
    "fixed": lambda: (ConComp([FiltCon(PureDP(1)), BITS]), [], (0,)),
    "below ex post": lambda: (ExPost(PureDP(3)), [FiltCon(PureDP(1))], (0,)),
}


def planted(mechanism: InteractiveMechanism[Any], nested: Iterable[Any] = ()) -> Queryable:
    """A tree with replayable coins, with filters launched one in another."""
    root = Queryable(mechanism, ROWS, coins=SeededCoins(7), allow_seeded=True)
    handle = root
    for each in nested:
        handle = handle.launch(each)
    return root


def one_by_one(root: Queryable, path: tuple[Any, ...], launches: Iterable[Any]) -> list[Any]:
    """The answers of single launches, with values in place of exceptions."""
    answers = []
    for each in launches:
        query: Any = Launch(each)
        for child in reversed(path):
            query = Ask(child, query)
        try:
            answers.append(root.ask(query))
        except (QueryRefusedError, QueryError) as error:
            answers.append(error)
        except Exception as error:
            answers.append(error)
    return answers


def shown(root: Queryable) -> tuple[Any, ...]:
    """All that an analyst sees of a tree, without the last report."""
    return (
        root.view.exchanges,
        len(root.view),
        [each.receipts for each in root.view],
        [getattr(each.answer, "receipt", None) for each in root.view],
        list(root.ledger()),
        root.ledger().to_json(),
        root.tree(),
        root.explain(),
        sorted(root.children, key=str),
    )


def same(several: tuple[Any, ...], single: list[Any]) -> None:
    """Each entry is the answer of its launch, or the value in place of its exception."""
    assert len(several) == len(single)
    for one, other in zip(several, single, strict=True):
        match one:
            case Refused(reason) | Halted(reason):
                assert isinstance(other, QueryRefusedError | QueryError)
                assert getattr(other, "reason", str(other)) == reason
            case Failed():
                assert type(other).__name__ == "MechanismFault"
            case _:
                assert repr(one) == repr(other)


@pytest.mark.parametrize("name", TREES)
def test_several_launches_are_launches_one_after_the_other(name: str) -> None:
    """Answers, view, receipts, ledger, tree, explanation, and what can be asked afterwards."""
    build, launches = TREES[name]
    together, alone = planted(build()), planted(build())
    several = together.launch_many(launches)
    same(several, one_by_one(alone, (), launches))
    assert shown(together) == shown(alone)
    assert together.privacy_loss() == alone.privacy_loss()
    for child in range(len(launches)):
        for query in ("bits", Launch(WORD), Refine()):
            outcomes = []
            for root in (together, alone):
                try:
                    outcomes.append(repr(root.ask(Ask(child, query))))
                except Exception as error:
                    outcomes.append(f"{type(error).__name__}: {error}")
            assert outcomes[0] == outcomes[1]
    assert shown(together) == shown(alone)


@pytest.mark.parametrize("name", NESTED)
def test_they_may_be_nested(name: str) -> None:
    """In a child, below a grandparent, behind persons, and in a part of the data."""
    root, nested, path = NESTED[name]()
    together, alone = planted(root, nested), planted(root, nested)
    query: Any = LaunchMany([Launch(each) for each in MIXED])
    for child in reversed(path):
        query = Ask(child, query)
    same(together.ask(query), one_by_one(alone, path, MIXED))
    assert shown(together) == shown(alone)


def test_a_wrong_entry_changes_nothing_and_is_named() -> None:
    """Whatever is wrong with it, and wherever it is."""
    runs: list[str] = []
    q = planted(FiltCon(PureDP(1)))
    good = Launch(Recorder(runs, LITTLE))
    for kind, wrong in (
        (QueryError, Launch(3)),
        (QueryError, "launch"),
        (QueryError, Recorder(runs, LITTLE)),
        (QueryError, Launch(Laplace(Count(column("height") > 3), epsilon="1/9"))),
        (PrivacyClaimError, Launch(Recorder(runs, LITTLE), PureDP("1/1000"))),
        (PrivacyClaimError, Launch(Recorder(runs, ZCDP(1)))),
        (QueryError, LaunchMany([good])),
    ):
        with pytest.raises(kind, match="entry 1: ") as caught:
            q.ask(LaunchMany([good, wrong, good]))
        assert type(caught.value) is kind
    for empty in ([], (), None, "launches", {1: 2}, iter([good]), range(3)):
        with pytest.raises(QueryError, match="LaunchMany"):
            q.ask(LaunchMany(empty))
    with pytest.raises(QueryError, match="entry 0"):
        planted(Filt(PureDP(1))).launch_many([BITS])
    assert (runs, len(q.view), q.privacy_loss()) == ([], 0, PureDP(0))


def test_a_compositor_with_a_launch_of_its_own_launches_several_by_it() -> None:
    """Its `_launch` is not passed by, and is given all launches of a message."""
    seen = []

    class Own(FiltCon):
        def _launch(self, own: Any, ordered: Any) -> Any:
            seen.append(len(ordered.orders))
            return super()._launch(own, ordered)

    q = planted(Own(PureDP(1)))
    assert [type(each) for each in q.launch_many([WORD, WORD])] == [int, int]
    assert type(q(WORD)) is int
    assert {*seen} == {2, 1}
    own = Own(PureDP(1))
    state, answers = own.step(own.init(ROWS)[0], LaunchMany([Launch(WORD), Launch(BITS)]))
    assert [each.child for each in answers] == [None, 1]
    assert state.own.account.total() == PureDP("1/50")


def test_where_a_child_is_charged_as_it_answers_nothing_is_charged_ahead() -> None:
    """`ExPost` checks all entries, and then says that they are to be sent one by one."""
    reduction = LaplaceNoiseReduction(Statistic(len, l1=1, l2=1), scales=[9, 3])
    mechanism = ExPost(PureDP(1))
    state, _ = mechanism.init(ROWS)
    with pytest.raises(UnknownQueryError, match="one after the other"):
        mechanism.step(state, LaunchMany([Launch(WORD), Launch(reduction)]))
    with pytest.raises(QueryError, match="entry 1") as caught:
        mechanism.step(state, LaunchMany([Launch(reduction), Launch(3)]))
    assert type(caught.value) is QueryError


class Ages(Described):
    """A described dataset that notes what is prepared and evaluated."""

    def __init__(self, log: list[Any], fault: BaseException | None = None) -> None:
        self.log, self.fault = log, fault

    def check(self, statistic: IntegerStatistic) -> None:
        if isinstance(statistic, Size) and statistic.number < 0:
            raise ValueError("negative")

    def prepare(self, statistics: Iterable[IntegerStatistic]) -> None:
        self.log.append(("prepare", tuple(statistics)))
        if self.fault is not None:
            raise self.fault


@attrs.frozen
class Size(IntegerStatistic):
    """A statistic that notes its evaluation."""

    number: int
    l1 = l2 = Fraction(1)
    shape = None

    def value(self, dataset: Any) -> int:
        dataset.log.append(self.number)
        return self.number


def noisy(number: int, epsilon: Any = "1/10") -> Laplace:
    return Laplace(Size(number), epsilon=epsilon)


def test_the_data_prepare_what_was_admitted() -> None:
    """Statistics of admitted measurements, once, in order, and before any is evaluated."""
    log: list[Any] = []
    q = Queryable(FiltCon(PureDP(1)), Ages(log))
    search = SparseVector(3, "1/10")
    answers = q.launch_many([noisy(1), noisy(9, 5), search, noisy(2), noisy(2), WORD])
    assert log == [("prepare", (Size(1), Size(2), Size(2))), 1, 2, 2]
    assert isinstance(answers[1], Refused)
    log.clear()
    q.launch_many([noisy(4), WORD])  # one alone has nothing to gain
    q.launch_many([noisy(9, 5), noisy(9, 5)])
    assert log == [4]
    # A wrong entry is found by the public description.
    log: list[Any] = []
    q = Queryable(FiltCon(PureDP(1)), Ages(log))
    with pytest.raises(QueryError, match="entry 2: negative"):
        q.launch_many([noisy(1), noisy(2), noisy(-1)])
    assert (log, q.privacy_loss()) == ([], PureDP(0))


def test_what_a_failed_and_an_interrupted_preparation_leave() -> None:
    """The curator is told; each statistic is evaluated on its own."""
    log: list[Any] = []
    fault, told = ValueError("joint scan"), list[BaseException]()
    q = Queryable(FiltCon(PureDP(1)), Ages(log, fault), on_fault=told.append)
    assert all(isinstance(each, int) for each in q.launch_many([noisy(1), noisy(2)]))
    assert log[1:] == [1, 2]
    assert told == [fault]
    log: list[Any] = []
    q = Queryable(FiltCon(PureDP(1)), Ages(log, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        q.launch_many([noisy(1), SparseVector(3, "1/10"), noisy(2)])
    assert len(log) == 1
    assert [each.answer for each in q.view] == [Failed()] * 3
    assert [row.outcome for row in q.ledger()] == ["failed"] * 3
    assert q.privacy_loss() == PureDP("3/10") == q.ledger()[-1].total
    assert not q.children


@pytest.mark.parametrize("kind", [FiltCon, FiltSeq])
def test_what_ran_before_an_interrupt_is_kept(kind: Any) -> None:
    """What comes after it is charged, has failed, and does not run."""
    runs: list[str] = []
    recorder = Recorder(runs, LITTLE)
    interrupted = Faulty(raising(KeyboardInterrupt()), True, charged=LITTLE)
    q = planted(kind(PureDP(1)))
    with pytest.raises(KeyboardInterrupt):
        q.launch_many([WORD, BITS, interrupted, recorder], names=["a", "b", "c", "d"])
    answers = q.view.answers
    assert runs == []
    assert [type(each) for each in answers] == [Launched, Launched, Failed, Failed]
    assert q.privacy_loss() == PureDP("4/100")
    if kind is FiltCon:
        assert isinstance(q.ask(Ask(1, "bits")), int)
    else:
        with pytest.raises(RetiredChildError):
            q.ask(Ask(1, "bits"))
    assert q.launch(WORD, name="a") == answers[0].answer  # and is not charged again
    assert q.privacy_loss() == PureDP("4/100")
