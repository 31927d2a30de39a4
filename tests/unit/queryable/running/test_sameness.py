"""Launches by name: what counts as the same, and that the same is not charged again."""

import re
import sys
import threading
from collections import OrderedDict, defaultdict
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property, partial
from math import floor
from types import ModuleType, SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, LinearQuery, RandomizedResponse, column
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import (
    ZCDP,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    ReentrantQueryError,
    Statistic,
)
from queryable.answers import NoisyInt
from queryable.running.sameness import difference, mark
from tests.strategies import Faulty, RandomBits, Toy, raising

CELL = """
def helper(data):
    return len(data) + offset
mechanism = Gaussian(Statistic(lambda data: helper(data) + {inside}, l1=1, l2=1), scale=10)
"""


def run_cell(inside: int = 0, offset: int = 0, above: str = "") -> Any:
    """What a notebook does: the same source again, new function objects, one namespace each."""
    names = {"Gaussian": Gaussian, "Statistic": Statistic, "offset": offset, "__name__": "__main__"}
    exec(compile(above + CELL.format(inside=inside), "<cell>", "exec"), names)
    return names["mechanism"]


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


def test_a_name_is_a_name_in_its_own_filter() -> None:
    q = fresh()
    q.launch(Toy(), name="x")
    team = q.launch(FiltCon(ZCDP("0.5")), name="team")
    team.launch(RandomBits(), name="x")
    assert [row.name for row in q.ledger()] == ["x", "team", "x"]


def test_a_refused_launch_may_be_tried_again() -> None:
    q = Queryable(FiltCon(PureDP("0.15")), None)
    for _ in range(2):
        with pytest.raises(QueryRefusedError):
            q.launch(Toy(PureDP(1)), name="x")
    q.launch(Toy(), name="x")
    assert q.privacy_loss() == PureDP("0.1")


def test_a_failed_launch_fails_again_and_is_charged_once() -> None:
    faults: list[BaseException] = []
    q = Queryable(FiltCon(PureDP(1)), None, on_fault=faults.append)
    broken = raising(ValueError())
    for _ in range(3):
        with pytest.raises(MechanismFault):
            q.launch(Faulty(broken, at_launch=True), name="x")
    assert q.privacy_loss() == PureDP("0.1")
    assert len(faults) == 1


def test_an_interrupted_launch_was_charged_and_stays_failed() -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    broken = Faulty(raising(KeyboardInterrupt()), at_launch=True)
    with pytest.raises(KeyboardInterrupt):
        q.launch(broken, name="x")
    with pytest.raises(MechanismFault):
        q.launch(Faulty(broken.function, at_launch=True), name="x")
    assert q.privacy_loss() == PureDP("0.1")


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


def test_a_name_is_no_way_around_reentrance() -> None:
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


def test_a_question_has_no_name() -> None:
    with pytest.raises(QueryError, match="only launches"):
        fresh()("bits", name="x")


def test_a_cell_that_is_run_again_makes_the_same_mechanism() -> None:
    """Other function objects, from lines that have moved."""
    first, again = run_cell(), run_cell(above="\n\n# a comment\n")
    assert first != again
    assert mark(first) == mark(again)
    q = fresh()
    assert q.launch(first, name="n") == q.launch(again, name="n")
    assert len(q.view) == 1


@pytest.mark.parametrize(
    ("other", "where"),
    [
        (run_cell(inside=1), "function.code"),
        (run_cell(offset=1), "function.helper.offset"),
    ],
)
def test_a_cell_that_was_edited_makes_another(other: Any, where: str) -> None:
    """By a constant in a lambda, or by a global that a function it calls reads."""
    assert where in difference(mark(run_cell()), mark(other))


def test_what_a_function_read_then_counts_not_what_it_reads_now() -> None:
    limits = [10]

    def small(data: Any) -> int:
        return sum(each < limits[0] for each in data)

    q = fresh()
    mechanism = Gaussian(Statistic(small, l1=1, l2=1), scale=10)
    q.launch(mechanism, name="small")
    assert q.launch(mechanism, name="small") is not None
    limits[0] = 2
    with pytest.raises(QueryError, match="limits"):
        q.launch(mechanism, name="small")


def adding(more: int) -> Any:
    return lambda data: len(data) + more


@attrs.frozen
class Parameters:
    array: Any
    more: Any


@attrs.frozen
class Uncompared:
    """A field that its author takes out of comparisons, as one does with arrays."""

    function: Any = attrs.field(eq=False)


class Derived(Gaussian):
    """Derived by hand, so that its parameter is no field."""

    def __init__(self, statistic: Any, scale: int) -> None:
        super().__init__(statistic, scale=1)
        object.__setattr__(self, "real", scale)


class Text(str):
    __slots__ = ("tag",)

    tag: int


def tagged(text: str, tag: int) -> Text:
    """Equal to the text, whatever the tag."""
    result = Text(text)
    result.tag = tag
    return result


EAST = timezone(timedelta(hours=5))

PAIRS = [
    (Count(column("a") >= 3), Count(column("a") >= 3), True),
    (Count(column("a") >= 3), Count(column("a") >= 4), False),
    (Count(column("a") >= 3), Count(column("a") >= 3.0), False),
    (adding(1), adding(1), True),
    (adding(1), adding(2), False),
    (lambda data, n=1: n, lambda data, n=1: n, True),
    (lambda data, n=1: n, lambda data, n=2: n, False),
    (partial(adding, 1), partial(adding, 1), True),
    (partial(adding, 1), partial(adding, 2), False),
    (len, len, True),
    (len, sum, False),
    (np.array([1, 2]), np.array([1, 2]), True),
    (np.array([1, 2]), np.array([1, 3]), False),
    (np.array([1, 2]), np.array([1.0, 2.0]), False),
    (np.array(["a", None], dtype=object), np.array(["a", None], dtype=object), True),
    (LinearQuery(np.ones(3)), LinearQuery(np.ones(3)), True),
    (LinearQuery(np.ones(3)), LinearQuery(np.zeros(3)), False),
    (
        Parameters([1, {"k": {2}}], Fraction(1, 3)),
        Parameters([1, {"k": {2}}], Fraction(1, 3)),
        True,
    ),
    (Parameters([1, {"k": {2}}], 1), Parameters([1, {"k": {3}}], 1), False),
    (float("nan"), float("nan"), True),
    (0.0, -0.0, False),
    (True, 1, False),
    (np.int64(3), np.int64(3), True),
    (object(), object(), False),
    ([1, 2], (1, 2), False),
    ("a", b"a", False),
    (Decimal("1.0"), Decimal("1.00"), False),
    (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 5, tzinfo=EAST), False),
    (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC), True),
    (tagged("a", 1), tagged("a", 1), False),
    (NoisyInt(3, DiscreteLaplace(2)), 3, True),
    (defaultdict(int, a=1), defaultdict(int, a=1), True),
    (defaultdict(int, a=1), defaultdict(list, a=1), False),
    (OrderedDict(a=1), {"a": 1}, False),
    (np.zeros(2, dtype="i4, i8"), np.zeros(2, dtype="i4, i8"), True),
    (np.zeros(2, dtype=[("a", "i4")]), np.zeros(2, dtype=[("b", "i4")]), False),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0]), False),
    (Uncompared(adding(1)), Uncompared(adding(1)), True),
    (Uncompared(adding(1)), Uncompared(adding(2)), False),
    (Derived(Count(), 3), Derived(Count(), 3), True),
    (Derived(Count(), 3), Derived(Count(), 4), False),
]


@pytest.mark.parametrize(("one", "other", "same"), PAIRS)
def test_what_counts_as_the_same(one: Any, other: Any, same: bool) -> None:
    assert (mark(one) == mark(other)) is same
    assert (difference(mark(one), mark(other)) == "") is same


class Holder:
    """Neither attrs value nor dataclass; what is kept to be quick does not count."""

    __slots__ = ("__dict__", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit

    @cached_property
    def doubled(self) -> int:
        return 2 * self.limit

    def small(self, data: Any) -> int:
        return sum(each < self.doubled for each in data)

    def __call__(self, data: Any) -> int:
        return self.small(data)


class Settings:
    limit = 3
    lower = staticmethod(floor)


SCRIPT = """
import settings_of_a_test as settings
def plain(data):
    return settings.limit + Settings.limit
def imports(data):
    from settings_of_a_test import limit
    return limit
def attributed(data):
    return attributed.limit
attributed.limit = 3
@cache
def cached(n):
    return n < settings.limit
"""


@pytest.fixture(name="script")
def a_script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a notebook has defined, and what it reads."""
    settings: Any = ModuleType("settings_of_a_test")
    settings.limit = 3
    monkeypatch.setitem(sys.modules, "settings_of_a_test", settings)
    monkeypatch.setattr(Settings, "limit", 3)
    holder = Holder(3)
    names = {"Settings": Settings, "cache": cache, "__name__": "__main__", "holder": holder}
    names["method"] = holder.small
    names["pattern"] = re.compile("a+")
    names["array"] = np.ma.array([1, 2], mask=[0, 1])
    names["space"] = SimpleNamespace(limit=3)
    exec(SCRIPT, names)
    return SimpleNamespace(**names)


CHANGES = [
    ("plain", lambda script: setattr(script.settings, "limit", 4), "plain.settings.limit"),
    ("plain", lambda script: setattr(Settings, "limit", 4), "plain.Settings.limit"),
    ("imports", lambda script: setattr(script.settings, "limit", 4), "import settings"),
    ("attributed", lambda script: setattr(script.attributed, "limit", 4), "attributes"),
    ("cached", lambda script: setattr(script.settings, "limit", 4), "cached.__wrapped__.settings"),
    ("holder", lambda script: setattr(script.holder, "limit", 4), "holder.limit"),
    ("holder", lambda script: setattr(script.holder, "more", 4), "holder"),
    ("method", lambda script: setattr(script.holder, "limit", 4), "method.self.limit"),
    ("array", lambda script: script.array.mask.__setitem__(0, True), "array"),
    ("space", lambda script: setattr(script.space, "limit", 4), "space.limit"),
    ("pattern", lambda script: setattr(script, "pattern", re.compile("b")), "pattern"),
]


@pytest.mark.parametrize(("name", "change", "where"), CHANGES)
def test_what_was_changed_in_place_is_another(
    script: Any, name: str, change: Any, where: str
) -> None:
    """Objects, modules and classes that a function reads; as long as they stay, it is the same."""

    def taken() -> Any:
        held = getattr(script, name)
        namespace = {name: held, "__name__": "__main__"}
        exec(f"function = lambda data: {name}", namespace)
        return mark(namespace["function"])

    first, again = taken(), taken()
    assert first == again
    if name == "holder":
        assert script.holder.doubled == 6
        assert first == taken()
    change(script)
    assert where in difference(first, taken())


def test_what_cannot_be_read_is_never_the_same() -> None:
    """Such as a lock, or a generator that has gone on since."""
    lock = threading.Lock()
    assert mark(lock) != mark(lock)
    assert "lock" in difference(mark(lambda data: lock), mark(lambda data: lock))


def test_nothing_is_read_of_a_queryable() -> None:
    """A function may refer to one, whose state is private."""
    q = fresh()
    before = mark(lambda data: q)
    q.launch(Toy())
    assert before == mark(lambda data: q)


def test_a_value_is_marked_as_it_was() -> None:
    values = [1, 2]
    before = mark(values)
    values.append(3)
    assert before != mark(values)


def test_what_contains_itself_has_a_mark() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert mark(loop) == mark(loop)

    def recursive(n: int) -> int:
        return recursive(n - 1) if n else 0

    assert mark(recursive) == mark(recursive)


def test_a_class_defined_again_is_another() -> None:
    def define() -> Any:
        @attrs.frozen
        class Own(Toy):
            pass

        return Own()

    assert difference(mark(define()), mark(define()))


def test_a_difference_tells_names_and_not_what_they_hold() -> None:
    """A function may close over private data; an error is public."""

    def over(held: Any) -> Any:
        return Statistic(lambda data: held, l1=1, l2=1)

    for one, other in (({"alice": 1}, {"alice": 2}), ([1, 2], [1, 3]), ({"a": {1}}, {"b": {1}})):
        assert difference(mark(over(one)), mark(over(other))) == "function.held"


class Prickly:
    """Does not let itself be read."""

    def __repr__(self) -> str:
        raise ValueError("the patient is 47")


def test_what_cannot_be_marked_cannot_have_a_name() -> None:
    held = {Prickly(), Prickly()}
    q = fresh()
    mechanism = Gaussian(Statistic(lambda data: len(held), l1=1, l2=1), scale=10)
    with pytest.raises(QueryError, match="cannot have a name") as caught:
        q.launch(mechanism, name="x")
    assert caught.value.__context__ is None
    assert len(q.view) == 0
    q.launch(mechanism)
