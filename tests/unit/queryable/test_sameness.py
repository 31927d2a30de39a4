"""Launches by name: what counts as the same, and that the same is not charged again."""

import threading
from fractions import Fraction
from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, LinearQuery, RandomizedResponse, column
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
from queryable.sameness import difference, mark
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
]


@pytest.mark.parametrize(("one", "other", "same"), PAIRS)
def test_what_counts_as_the_same(one: Any, other: Any, same: bool) -> None:
    assert (mark(one) == mark(other)) is same
    assert (difference(mark(one), mark(other)) == "") is same


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
