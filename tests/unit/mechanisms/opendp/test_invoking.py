"""What comes of an answer, a failure, a warning and an interrupt of OpenDP, over a stand-in."""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from threading import Thread
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms.opendp.invoking import OpenDPDraw, plain
from queryable import (
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
)
from tests.unit.mechanisms.opendp.stand_in import (
    DATA,
    SECRET,
    bridged,
    half,
    in_place_of_opendp,
    on_data,
    raises,
)

__all__ = ["in_place_of_opendp"]


FAILING = {
    "an exception": raises(ValueError(SECRET)),
    "an error of ours": raises(QueryError(SECRET)),
    "no exception": raises(BaseException(SECRET)),
    "a function": on_data(lambda values: half),
    "a function inside": on_data(lambda values: [1.0, {"a": lambda: values}]),
    "an array of functions": on_data(lambda values: np.array([half])),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_says_only_that_it_happened(name: str, capfd: Any) -> None:
    """And keeps the charge, also where the answer could be asked further."""
    told: list[BaseException] = []
    table = Queryable(FiltCon(PureDP(1)), DATA, on_fault=told.append)
    with pytest.raises(MechanismFault) as raised:
        table(bridged(FAILING[name]))
    assert str(raised.value) == str(MechanismFault())
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert len(told) == 1
    assert table.privacy_loss() == PureDP("1/2")
    shown = table.tree() + table.explain() + str(table.view) + "".join(capfd.readouterr())
    assert SECRET not in shown


def test_warnings_are_not_shown() -> None:
    """OpenDP's quote values."""
    mechanism = bridged(on_data(lambda values: warnings.warn(SECRET, stacklevel=1)))
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert Queryable(FiltCon(PureDP(1)), DATA)(mechanism) is None
    assert shown == []


def unraised(error: BaseException) -> Callable[[list[float]], Any]:
    """A function for which C prints what a callback raised, and goes on."""

    def act(values: list[float]) -> float:
        sys.unraisablehook(SimpleNamespace(exc_value=error, err_msg=SECRET))  # type: ignore[arg-type]
        return 7.0

    return on_data(act)


def test_an_interrupt_in_a_callback_is_one() -> None:
    """Python would print it, and OpenDP would go on; the charge stands, and the child is lost."""
    before = sys.unraisablehook
    table = Queryable(FiltCon(PureDP(1)), DATA)
    with pytest.raises(KeyboardInterrupt) as raised:
        table(bridged(unraised(KeyboardInterrupt(SECRET))))
    assert raised.value.args == ()
    assert table.privacy_loss() == PureDP("1/2")
    assert sys.unraisablehook is before


@pytest.mark.parametrize("then", [lambda values: 1.0, raises(ValueError(SECRET))])
def test_an_interrupt_waits_until_the_call_is_over(then: Any) -> None:
    ended = []

    def interrupted(values: list[float]) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        ended.append(len(values))
        return then(values)

    before = signal.getsignal(signal.SIGINT)
    table = Queryable(FiltCon(PureDP(1)), DATA)
    with pytest.raises(KeyboardInterrupt) as raised:
        table(bridged(on_data(interrupted)))
    assert raised.value.args == ()
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert ended == [3]
    assert table.privacy_loss() == PureDP("1/2")
    assert signal.getsignal(signal.SIGINT) is before


def test_no_interrupt_is_waited_for_in_other_threads() -> None:
    """Python raises them in the main one."""
    table, found = Queryable(FiltCon(PureDP(1)), DATA), list[Any]()
    thread = Thread(target=lambda: found.append(table(bridged())))
    thread.start()
    thread.join()
    assert found == [3.0]


def test_what_a_callback_raises_is_not_printed(capfd: Any) -> None:
    assert Queryable(FiltCon(PureDP(1)), DATA)(bridged(unraised(BaseException(SECRET)))) == 7.0
    assert capfd.readouterr() == ("", "")


def test_the_hook_of_other_threads_stays(monkeypatch: Any) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)

    def elsewhere(values: list[float]) -> float:
        thread = Thread(target=lambda: sys.unraisablehook("theirs"))
        thread.start()
        thread.join()
        return 1.0

    Queryable(FiltCon(PureDP(1)), DATA)(bridged(on_data(elsewhere)))
    assert seen == ["theirs"]


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ([1, 2.5, "a", None, True, b"x"], (1, 2.5, "a", None, True, b"x")),
        ({"a": [1], 2: (3,)}, {"a": (1,), 2: (3,)}),
        (np.float64(2.5), 2.5),
        (np.str_("a"), "a"),
    ],
)
def test_plain_answers(answer: Any, given: Any) -> None:
    assert plain(answer) == given
    assert type(plain(answer)) is (MappingProxyType if type(given) is dict else type(given))


def test_an_answer_that_is_given_again_cannot_be_changed() -> None:
    mechanism = bridged(on_data(lambda values: {"a": [np.arange(2)]}))
    table = Queryable(FiltCon(PureDP(1)), DATA)
    answer = table.launch(mechanism, name="once")
    with pytest.raises(TypeError, match="does not support item assignment"):
        answer["b"] = 1
    with pytest.raises(ValueError, match="read-only"):
        answer["a"][0][0] = 7
    assert [*table.launch(mechanism, name="once")] == ["a"]


def test_the_order_of_keys_tells_nothing() -> None:
    one, other = {"b": 1, "a": 2, 3: 0}, {3: 0, "a": 2, "b": 1}
    assert [*plain(one).items()] == [*plain(other).items()]
    with pytest.raises(TypeError, match="holds a function"):
        plain({half: 1})


def test_arrays_are_answers_of_their_own() -> None:
    array = np.arange(3)
    found = plain(array)
    assert (found == array).all()
    assert found is not array
    for held in (np.array([half]), np.array([1, None], dtype=object), np.datetime64("2024-01-01")):
        with pytest.raises(TypeError):
            plain(held)


def test_a_draw_has_no_hash() -> None:
    """It holds the data: a cache of laws must not keep it."""
    mechanism = bridged()
    draw = OpenDPDraw(mechanism.measurement, mechanism._records, DATA)
    with pytest.raises(TypeError, match="unhashable"):
        hash(draw)
    assert "1.0" not in repr(draw)
