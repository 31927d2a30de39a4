"""Named launches: which mechanisms are equal, and that an equal one is not charged again."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import pytest

from composition import ConComp, FiltCon, OdomCon, ViaRenyi, Whitehouse2023
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    ExponentialMechanism,
    Gaussian,
    Histogram,
    Laplace,
    LinearQuery,
    RandomizedResponse,
    SparseVector,
    Sum,
    column,
)
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Statistic,
)
from queryable.answers.noisy import NoisyInt
from queryable.errors import ReentrantQueryError
from queryable.running.sameness import difference, mark
from tests.strategies import Faulty, RandomBits, Toy, raising


def fresh() -> Queryable:
    return Queryable(FiltCon(ZCDP(1)), [1, 2, 3])


def test_the_same_again_is_not_charged_again() -> None:
    q = fresh()
    answers = {q.launch(RandomizedResponse(bool, odds=2), name="coin") for _ in range(30)}
    assert len(answers) == 1
    assert len(q.view) == len(q.ledger()) == 1
    child = q.launch(RandomBits(), name="bits")
    child.ask("bits")
    assert q(RandomBits(), name="bits") is child
    assert q.privacy_loss().rho < 1
    assert q.children[1] is child


def test_another_mechanism_or_d_out_under_the_name_is_refused() -> None:
    q = fresh()
    q.launch(Toy(), name="toy")
    before = q.privacy_loss()
    for wrong in (
        lambda: q.launch(RandomBits(), name="toy"),
        lambda: q.launch(Toy(), PureDP("0.2"), name="toy"),
    ):
        with pytest.raises(QueryError, match=r"another mechanism.*nothing has been charged"):
            wrong()
    with pytest.raises(QueryError, match=r"differ in mechanism\.charged\.epsilon"):
        q.launch(Toy(PureDP("0.3")), name="toy")
    assert q.privacy_loss() == before
    assert len(q.ledger()) == 1


def test_each_filter_has_names_of_its_own() -> None:
    q = fresh()
    q.launch(Toy(), name="x")
    team = q.launch(FiltCon(ZCDP("0.5")), name="team")
    team.launch(RandomBits(), name="x")
    assert [row.name for row in q.ledger()] == ["x", "team", "x"]
    with pytest.raises(QueryError, match="only launches"):
        fresh()("bits", name="x")
    q = Queryable(FiltCon(PureDP("0.15")), None)
    for _ in range(2):
        with pytest.raises(QueryRefusedError):
            q.launch(Toy(PureDP(1)), name="x")
    q.launch(Toy(), name="x")
    assert q.privacy_loss() == PureDP("0.1")


@pytest.mark.parametrize(
    ("fault", "first"),
    [(ValueError(), MechanismFault), (KeyboardInterrupt(), KeyboardInterrupt)],
    ids=["failed", "interrupted"],
)
def test_a_failed_launch_fails_again_and_is_charged_once(
    fault: BaseException, first: type[BaseException]
) -> None:
    faults: list[BaseException] = []
    q = Queryable(FiltCon(PureDP(1)), None, on_fault=faults.append)
    broken = raising(fault)
    for kind in (first, MechanismFault, MechanismFault):
        with pytest.raises(kind):
            q.launch(Faulty(broken, at_launch=True), name="x")
    assert q.privacy_loss() == PureDP("0.1")
    assert len(faults) == 1


def test_threads_that_launch_one_name_are_charged_once() -> None:
    q = Queryable(FiltCon(PureDP(1000)), None)
    seen: list[Any] = []

    def work() -> None:
        seen.extend(q.launch(RandomBits(), name=f"n{i}").opening for i in range(30))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert q.privacy_loss() == PureDP(3)
    assert len(set(seen)) == 30


def test_a_named_launch_from_inside_a_query_is_refused() -> None:
    q = fresh()
    q.launch(Toy(), name="x")
    faults: list[BaseException] = []
    outer = Queryable(FiltCon(PureDP(1)), None, on_fault=faults.append)
    outer.launch(Toy(), name="x")
    with pytest.raises(MechanismFault):
        outer.launch(Faulty(lambda data: outer.launch(Toy(), name="x"), at_launch=True))
    assert [type(fault) for fault in faults] == [ReentrantQueryError]


@pytest.mark.parametrize("name", ["", "  ", 3, b"x"])
def test_a_name_is_a_string(name: Any) -> None:
    with pytest.raises(QueryError, match="name"):
        fresh().launch(Toy(), name=name)


def old(data: Any) -> int:
    return len(data)


MECHANISMS: list[Callable[[], Any]] = [
    lambda: Gaussian(Count(column("age") >= 65), rho="1/500"),
    lambda: Laplace(Sum("cost", 0, 100, where=~(column("a") == "x")), epsilon="1/10"),
    lambda: Laplace(Histogram("clinic", ["north", "south"]), scale=3),
    lambda: Gaussian(Statistic(old, l1=1, l2=1), scale=2),
    lambda: RandomizedResponse(bool, odds=3),
    lambda: ExponentialMechanism(Statistic(old, l1=1, l2=1, shape=(4,)), epsilon=1),
    lambda: SparseVector(threshold=10, epsilon="1/5", sensitivity=4),
    lambda: BrownianNoiseReduction() @ FiltCon(ZCDP("1/20")),
    lambda: FiltCon(ApproxDP(1, "1e-6"), rule=Whitehouse2023("1e-6")),
    lambda: FiltCon(ApproxDP(1, "1e-6"), rule=ViaRenyi([2, 8])),
    lambda: FiltCon(RDP(8, 1), d_in=2, max_mechanisms=3),
    lambda: OdomCon(ZCDP),
    lambda: ConComp([RandomizedResponse(bool, odds=3), FiltCon(PureDP(1))]),
]


@pytest.mark.parametrize("build", MECHANISMS)
def test_a_cell_that_is_run_again_makes_an_equal_mechanism(build: Callable[[], Any]) -> None:
    first, again = build(), build()
    assert first is not again
    assert difference(mark(first), mark(again)) == ""


def test_the_mechanisms_of_the_library_differ_from_one_another() -> None:
    marks = [mark(build()) for build in MECHANISMS]
    assert len(set(marks)) == len(marks)


def test_a_function_is_equal_to_itself_alone() -> None:
    """The error says what to write instead of a lambda that is made again."""
    q = fresh()

    def launch(function: Any) -> Any:
        return q.launch(Gaussian(Statistic(function, l1=1, l2=1), scale=10), name="n")

    assert launch(old) == launch(old)
    with pytest.raises(QueryError, match=r"statistic\.function.*column\('age'\) >= 40.*once"):
        launch(lambda data: len(data) + 1)
    assert len(q.ledger()) == 1


@attrs.frozen
class Parameters:
    array: Any
    more: Any


@attrs.frozen
class Uncompared:
    """A field that its author takes out of comparisons, as one does with arrays."""

    value: Any = attrs.field(eq=False)


class Derived(Gaussian):
    """Derived without attrs, so that its parameter is no field."""

    def __init__(self, statistic: Any, scale: int) -> None:
        super().__init__(statistic, scale=1)
        object.__setattr__(self, "real", scale)


class Text(str):
    __slots__ = ()


class Obliging:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__

    def method(self, data: Any) -> int:
        return 0


EAST = timezone(timedelta(hours=5))
ONE = Obliging()
PAIRS = [
    (Count(column("a") >= 3), Count(column("a") >= 3), True),
    (Count(column("a") >= 3), Count(column("a") >= 4), False),
    (Count(column("a") >= 3), Count(column("a") >= 3.0), False),
    (old, old, True),
    (lambda data: 1, lambda data: 1, False),
    (partial(old, 1), partial(old, 1), False),
    (ONE.method, ONE.method, True),
    (ONE.method, Obliging().method, False),
    (len, len, True),
    (len, sum, False),
    (np.array([1, 2]), np.array([1, 2]), True),
    (np.array([1, 2]), np.array([1, 3]), False),
    (np.array([1, 2]), np.array([1.0, 2.0]), False),
    (np.array([1, 2]), np.array([[1, 2]]), False),
    (np.array(["a", None], dtype=object), np.array(["a", None], dtype=object), True),
    (np.array([ONE], dtype=object), np.array([Obliging()], dtype=object), False),
    (Parameters([1, {"k": {2}}], "a"), Parameters([1, {"k": {2}}], "a"), True),
    (LinearQuery(np.ones(3)), LinearQuery(np.ones(3)), True),
    (LinearQuery(np.ones(3)), LinearQuery(np.zeros(3)), False),
    (Parameters([1, {"k": {2}}], 1), Parameters([1, {"k": {3}}], 1), False),
    (float("nan"), float("nan"), True),
    (0.0, -0.0, False),
    (True, 1, False),
    (1, 1.0, False),
    (1, Fraction(1), False),
    ([True], [1], False),
    ({True}, {1}, False),
    ({1: "a"}, {True: "a"}, False),
    (np.int64(3), np.int64(3), True),
    (np.int64(3), 3, False),
    (object(), object(), False),
    (ONE, ONE, True),
    (ONE, Obliging(), False),
    ([1, 2], (1, 2), False),
    ("a", b"a", False),
    (Decimal("1.0"), Decimal("1.00"), False),
    (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 5, tzinfo=EAST), False),
    (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC), True),
    (Text("a"), "a", False),
    (NoisyInt(3, DiscreteLaplace(2)), 3, True),
    (np.zeros(2, dtype="i4, i8"), np.zeros(2, dtype="i4, i8"), True),
    (np.zeros(2, dtype=[("a", "i4")]), np.zeros(2, dtype=[("b", "i4")]), False),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0]), False),
    (Uncompared(1), Uncompared(1), True),
    (Uncompared(1), Uncompared(2), False),
    (Derived(Count(), 3), Derived(Count(), 4), False),
    (MappingProxyType({"a": [1]}), MappingProxyType({"a": [1]}), True),
    (MappingProxyType({"a": [1]}), MappingProxyType({"a": [2]}), False),
    (MappingProxyType({"a": 1}), {"a": 1}, False),
]


@pytest.mark.parametrize(("one", "other", "same"), PAIRS)
def test_values_are_equal_if_their_types_and_contents_are(one: Any, other: Any, same: bool) -> None:
    assert (mark(one) == mark(other)) is same
    assert (difference(mark(one), mark(other)) == "") is same


def test_a_mark_is_a_snapshot() -> None:
    values = [1, 2]
    before = mark(values)
    values.append(3)
    assert before != mark(values)

    def define() -> Any:
        @attrs.frozen
        class Own(Toy):
            pass

        return Own()

    assert difference(mark(define()), mark(define())) == "the mechanism's class"
    # A function may close over private data, and an error is public.

    def over(held: Any) -> Any:
        return Statistic(lambda data: held, l1=1, l2=1)

    assert difference(mark(over("alice")), mark(over("bob"))) == "function"
    one, other = (Parameters({"alice": age}, 0) for age in (1, 2))
    assert difference(mark(one), mark(other)) == "array"


@attrs.frozen
class Holding(Toy):
    """A toy with one more field."""

    held: Any = attrs.field(default=None, kw_only=True)


class Hostile(type):
    """A metaclass whose classes cannot be compared or hashed."""

    def __eq__(cls, other: object) -> bool:
        raise ValueError("the patient is 47")

    def __hash__(cls) -> int:
        raise ValueError("the patient is 47")


class Prickly(metaclass=Hostile):
    """An object whose class cannot be compared."""


class Uncomparable:
    """An object that cannot be compared, and notes each attempt."""

    def __init__(self) -> None:
        self.compared = 0

    def __eq__(self, other: object) -> bool:
        self.compared += 1
        raise ValueError("the patient is 47")

    def __hash__(self) -> int:
        self.compared += 1
        raise ValueError("the patient is 47")


def test_no_comparison_of_the_user_runs() -> None:
    value = Uncomparable()
    q = fresh()
    for _ in range(2):
        q.launch(Toy(charged=PureDP("0.1")), name="x")
        q.launch(Holding(held=value), name="y")
    with pytest.raises(QueryError, match="another mechanism"):
        q.launch(Holding(held=Uncomparable()), name="y")
    assert value.compared == 0
    assert len(q.ledger()) == 2


def looping() -> Any:
    loop: list[Any] = [1]
    loop.append(loop)
    return loop


@pytest.mark.parametrize("held", [Prickly(), looping()], ids=["hostile class", "in itself"])
def test_what_cannot_be_compared_cannot_have_a_name(held: Any) -> None:
    q = fresh()
    with pytest.raises(QueryError, match="cannot have a name") as caught:
        q.launch(Holding(held=held), name="x")
    assert caught.value.__context__ is None
    assert len(q.view) == 0
    q.launch(Holding(held=held))
