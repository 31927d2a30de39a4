"""`OpenDPMeasurement` over a stand-in: what is refused, when, and what an analyst sees."""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import curator
from composition import Blocks, ConComp, FiltCon, OdomCon
from curator.codec import CodecError, encode
from mechanisms import Best, Laplace, Poisson, Scripted, SparseVector, Table
from mechanisms.opendp import OpenDPMeasurement
from mechanisms.opendp.invoking import OpenDPDraw, plain
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    InteractiveMechanism,
    Launch,
    MechanismFault,
    PersonInTheMiddle,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
    Statistic,
    UnprovenCompositionError,
    UserLevel,
    explain,
    interact,
    rehearse,
)
from queryable.audit import MaxDivergence, NotEnumerable, audit, on_neighbours, view_law, worst_case
from queryable.errors import ForeignNoiseError, HandleError, PrivacyClaimError
from queryable.messages import LaunchMany
from queryable.postprocessing import FromAnalyst, ToAnalyst, ToMechanism
from queryable.view import truncated_view
from tests.stored import KEY, STORED
from tests.unit.mechanisms.opendp import stand_in as odp
from tests.unit.mechanisms.opendp.stand_in import in_place_of_opendp

__all__ = ["in_place_of_opendp"]

DATA = [1.0, 2.0, 3.0]
SECRET = "the patient is 47"
SIZE = Statistic(len, l1=1, l2=1)


def half(count: int) -> float:
    return count / 2


def bridged(function: Any = None, privacy_map: Any = half, **known: Any) -> OpenDPMeasurement:
    """A measurement of the stand-in as a mechanism."""
    own = {name: known.pop(name) for name in ("domain", "metric", "measure") if name in known}
    more = () if function is None else (function,)
    return OpenDPMeasurement(odp.Measurement(*more, map=privacy_map, **own), **known)


def on_data(act: Callable[[list[float]], Any]) -> Callable[[list[float]], Any]:
    """What a measurement answers: 0 on an empty example, and otherwise what `act` does."""
    return lambda values: act(values) if values else 0.0


def raises(error: BaseException) -> Callable[[list[float]], Any]:
    def act(values: list[float]) -> Any:
        raise error

    return on_data(act)


@pytest.mark.parametrize(
    ("measure", "distance", "loss"),
    [
        (odp.PURE, lambda d: d * 0.1, PureDP(Fraction(0.1))),
        (odp.ZCDP, lambda d: d * d * 0.1, ZCDP(Fraction(0.1))),
        (odp.approximate(odp.PURE), lambda d: (d * 0.1, 1e-6), ApproxDP(0, 0)),
        (odp.approximate(odp.ZCDP), lambda d: (d * 0.1, 1e-6), ApproxZCDP(0, 0)),
    ],
)
def test_the_map_is_the_claim(measure: Any, distance: Any, loss: Any) -> None:
    """Of the float as it is: 0.1 is above one tenth."""
    mechanism = bridged(privacy_map=distance, measure=measure)
    if isinstance(loss, ApproxDP | ApproxZCDP):
        loss = type(loss)(Fraction(0.1), Fraction(1e-6))
    assert mechanism.privacy_map(1) == loss
    assert mechanism.privacy_map(0) == loss.zero()
    table = Queryable(OdomCon(type(loss)), DATA)
    assert table(mechanism) == 3.0
    assert table.privacy_loss() == loss
    assert table.privacy_loss(3) == mechanism.privacy_map(3)


def test_units_lose_what_their_records_lose() -> None:
    mechanism = bridged(column="a", neighbours=UserLevel("who", 3))
    assert mechanism.privacy_map(2) == PureDP(3)
    rows = {"a": [5, 6, 7, 8, 9], "who": [1, 1, 1, 1, 2]}
    table = Queryable(FiltCon(PureDP(2)), rows)
    assert table(mechanism) == 4.0
    assert table.privacy_loss() == PureDP("3/2")
    assert mechanism.measurement.invoked[-1] == [5.0, 6.0, 7.0, 9.0]


@pytest.mark.parametrize(
    ("error", "words", "make"),
    [
        (TypeError, "input metric", lambda: bridged(metric=odp.Named("ChangeOneDistance()"))),
        (TypeError, "output measure", lambda: bridged(measure=odp.Named("SmoothedMaxDivergence"))),
        (TypeError, "input domain", lambda: bridged(domain=None)),
        (ValueError, "3 records", lambda: bridged(domain=odp.Vectors(size=3))),
        (TypeError, "measurement is 7", lambda: OpenDPMeasurement(7)),
        (TypeError, "label is ''", lambda: bridged(label="")),
        (TypeError, "example is 'a'", lambda: bridged(example="a")),
        (ValueError, "not in the measurement's input domain", lambda: bridged(example=["a"])),
        (ValueError, "give public values.*ZeroD", lambda: bridged(lambda x: 1 / len(x))),
        (PrivacyClaimError, "gave nan", lambda: bridged(privacy_map=lambda d: nan)),
        (PrivacyClaimError, "gave inf", lambda: bridged(privacy_map=lambda d: inf)),
        (PrivacyClaimError, "gave -1", lambda: bridged(privacy_map=lambda d: -1.0)),
        (PrivacyClaimError, "gave 1", lambda: bridged(privacy_map=lambda d: 1)),
        (PrivacyClaimError, "should not fall", lambda: bridged(privacy_map=lambda d: 1 / d)),
        (PrivacyClaimError, "gave nan", lambda: bridged(privacy_map=[0.0, 1.0, nan].__getitem__)),
        (PrivacyClaimError, "at 1 records: Zero", lambda: bridged(privacy_map=lambda d: d / 0)),
        (UnprovenCompositionError, "no theorem here", lambda: OpenDPMeasurement(odp.Odometer())),
        (UnprovenCompositionError, "holds a function", lambda: bridged(lambda x: half)),
        (UnprovenCompositionError, "holds a function", lambda: bridged(lambda x: [1, {"a": half}])),
        (UnprovenCompositionError, "holds a object", lambda: bridged(lambda x: object())),
    ],
)  # fmt: skip
def test_what_is_refused_when_it_is_made(error: Any, words: str, make: Callable[[], Any]) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_map_may_fall_where_it_was_not_looked_at() -> None:
    """The launch is refused, and nothing is read."""
    falls = bridged(privacy_map=lambda d: 5.0 if d != 100 else 4.0, column="a",
                    neighbours=UserLevel("who", 100))  # fmt: skip
    table = Queryable(FiltCon(PureDP(9)), {"a": DATA, "who": DATA})
    with pytest.raises(PrivacyClaimError, match="should not fall"):
        table(falls)
    assert table.privacy_loss() == PureDP(0)
    assert falls.measurement.invoked == [[]]


def test_an_example_may_be_needed() -> None:
    mechanism = bridged(lambda x: 1 / len(x), example=[3.0, 1.0])
    assert mechanism.measurement.invoked == [[1.0, 3.0]]
    assert Queryable(FiltCon(PureDP(1)), DATA)(mechanism) == 1 / 3


def test_the_example_is_not_private() -> None:
    array = np.array([1.0, 2.0])
    assert bridged(example=array).example == (1.0, 2.0)
    Queryable(FiltCon(PureDP(1)), {"a": array})
    with pytest.raises(TypeError, match="make up the example"):
        bridged(example=array)


OTHER_DATA: dict[str, tuple[Callable[[], Any], str]] = {
    "mapping": (lambda: {"a": DATA}, "name the column"),
    "matrix": (lambda: np.zeros((2, 2)), "name the column"),
    "table": (lambda: Table({"a": DATA}), "does not fit the table"),
    "units": (
        lambda: Table({"a": DATA, "who": [1, 1, 2]}, privacy_unit="who", max_rows=2),
        "does not fit the table",
    ),
}


@pytest.mark.parametrize("name", OTHER_DATA)
def test_other_data_are_refused_before_the_charge(name: str) -> None:
    data, words = OTHER_DATA[name]
    mechanism = bridged()
    table = Queryable(FiltCon(PureDP(1)), data())
    with pytest.raises(QueryError, match=words):
        table(mechanism)
    assert table.privacy_loss() == PureDP(0)
    assert mechanism.measurement.invoked == [[]]


def test_blocks_of_units_charge_for_all_rows_of_a_unit() -> None:
    """Two of each count, so that the map is taken at two records."""
    rows = {"a": DATA, "who": [1, 1, 2]}
    table = Queryable(Blocks(FiltCon(PureDP(9)), unit="who", unit_rows=2), rows)
    table.feed(rows, block="monday")
    table.feed.close("monday")
    assert table.launch_over(bridged(column="a"), ["monday"]) == 3.0
    assert table.privacy_loss() == PureDP(1)


def test_what_a_budget_does_not_cover_is_not_read() -> None:
    mechanism = bridged()
    table = Queryable(FiltCon(PureDP("1/4")), DATA)
    assert not table.can_afford(mechanism)
    with pytest.raises(Exception, match="insufficient budget"):
        table(mechanism)
    assert mechanism.measurement.invoked == [[]]


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
    assert type(plain(answer)) is type(given)


def test_the_order_of_keys_tells_nothing() -> None:
    one, other = {"b": 1, "a": 2, 3: 0}, {3: 0, "a": 2, "b": 1}
    assert [*plain(one).items()] == [*plain(other).items()]
    with pytest.raises(TypeError, match="holds a function"):
        plain({half: 1})


def test_batches_that_arrived_are_read() -> None:
    table = Queryable(FiltCon(PureDP(1)), DATA)
    table.feed([4.0])
    assert table(bridged()) == 4.0


def test_arrays_are_answers_of_their_own() -> None:
    array = np.arange(3)
    found = plain(array)
    assert (found == array).all()
    assert found is not array
    for held in (np.array([half]), np.array([1, None], dtype=object), np.datetime64("2024-01-01")):
        with pytest.raises(TypeError):
            plain(held)


def test_equal_names_are_answered_once() -> None:
    mechanism = bridged()
    table = Queryable(FiltCon(PureDP(1)), DATA)
    assert table(mechanism, name="size") == table(mechanism, name="size")
    assert table.privacy_loss() == PureDP("1/2")
    with pytest.raises(QueryError, match="size"):
        table(bridged(), name="size")
    assert mechanism == mechanism  # noqa: PLR0124
    assert mechanism != bridged()
    assert hash(mechanism) == hash(mechanism)


def test_it_is_explained_as_theirs() -> None:
    for text in (
        explain(bridged(column="a", label="visits")),
        (table := Queryable(FiltCon(PureDP(1)), DATA)) and table(bridged()) and table.explain(),
    ):
        words = " ".join(text.split())
        assert "none here: the claim is the word of OpenDP 0.0" in words
        assert "the privacy map is true of the measurement's function" in words
    assert bridged(column="a", label="visits").public_name == "visits of a"
    assert "OpenDP measurement" in table.tree()


SEEDED: dict[str, Callable[[OpenDPMeasurement], Any]] = {
    "a launch": Launch,
    "several": lambda it: LaunchMany([Launch(Laplace(SIZE, scale=9)), Launch(it)]),
    "an analysis": lambda it: Launch(Scripted(FiltCon(PureDP(1)), [Launch(it)])),
    "in a child": lambda it: Launch(ConComp([it, SparseVector(1, epsilon="1/9")])),
    "the best": lambda it: Launch(Best(it, "largest", Poisson(1))),
}


@pytest.mark.parametrize("name", SEEDED)
def test_seeded_coins_are_refused_before_the_charge(name: str) -> None:
    mechanism = bridged()
    table = Queryable(FiltCon(PureDP(9)), DATA, coins=SeededCoins(1), allow_seeded=True)
    with pytest.raises(ForeignNoiseError, match="these coins do not decide it"):
        table.ask(SEEDED[name](mechanism))
    assert len(table.view) == 0
    assert table.privacy_loss() == PureDP(0)
    assert mechanism.measurement.invoked == [[]]


def test_it_may_be_a_root() -> None:
    assert Queryable(bridged(), DATA).opening == 3.0
    with pytest.raises(ValueError, match="these coins do not decide it"):
        Queryable(bridged(), DATA, coins=SeededCoins(1), allow_seeded=True)


class Own(PersonInTheMiddle):
    """A person that launches something of its own choice."""

    def __init__(self, chosen: InteractiveMechanism[Any]) -> None:
        self.chosen = lambda: chosen  # where nothing looks for it

    def init(self) -> Any:
        return None

    def step(self, state: Any, message: Any, coins: Any) -> Any:
        if isinstance(message, FromAnalyst):
            return state, ToMechanism(Launch(self.chosen()))
        return state, ToAnalyst(message.answer)


def test_what_is_chosen_late_fails_closed() -> None:
    """Its charge stands, since something else might have been read before."""
    mechanism = bridged()
    chosen = Own(mechanism) @ FiltCon(PureDP(1))
    table = Queryable(chosen, DATA, coins=SeededCoins(1), allow_seeded=True)
    with pytest.raises(MechanismFault):
        table.ask("anything")
    assert mechanism.measurement.invoked == [[]]


def test_no_root_of_a_curator_runs_it(tmp_path: Path) -> None:
    """Its coins are computed from a key, so that it can be opened and run again."""
    handle = curator.open(
        tmp_path / "a.db", FiltCon(PureDP(1)), DATA, name="a", key=KEY, codec=STORED
    )
    with pytest.raises(ForeignNoiseError, match="ledger"):
        handle(bridged())
    assert handle.privacy_loss() == PureDP(0)
    with pytest.raises(CodecError, match="its noise is not from the curator's coins"):
        encode(Launch(bridged()))
    with pytest.raises(CodecError, match="stays in its owner's process"):
        curator.open(tmp_path / "a.db", bridged(), DATA, name="b", key=KEY, codec=STORED)


def test_runs_with_seeded_coins_say_so() -> None:
    mechanism = bridged()
    seeded = SeededCoins(1)
    launched: Any = lambda view: None if len(view) else Launch(mechanism)  # noqa: E731
    for act in (
        lambda: interact(mechanism, DATA, lambda view: None, seeded),
        lambda: interact(FiltCon(PureDP(1)), DATA, launched, seeded),
        lambda: truncated_view(OdomCon(PureDP), DATA, launched, PureDP(9), seeded),
        lambda: audit(mechanism, [(DATA, DATA[1:])], coins=seeded, samples=8),
        lambda: mechanism.init(DATA, seeded),
    ):
        with pytest.raises(ForeignNoiseError):
            act()
    assert mechanism.measurement.invoked == [[]]
    assert interact(FiltCon(PureDP(1)), DATA, launched)[0].answer.answer == 3.0


def test_exact_audits_say_so() -> None:
    mechanism = bridged()
    launch = Launch(mechanism)
    for act in (
        lambda: view_law(mechanism, DATA, lambda view: None),
        lambda: view_law(mechanism, DATA, lambda view: None, tail="1/9"),
        lambda: view_law(FiltCon(PureDP(1)), DATA, lambda view: None if len(view) else launch),
        lambda: worst_case(FiltCon(PureDP(1)), DATA, DATA[1:], [launch], 1, MaxDivergence()),
    ):
        with pytest.raises(NotEnumerable, match="OpenDP measurement, which is not stated here"):
            act()
    assert mechanism.measurement.invoked == [[]]


def test_samples_refute_a_wrong_map() -> None:
    """An audit by samples needs no law: it finds that nothing hides the size."""
    verdict = audit(bridged(), [(DATA, DATA[1:])], samples=2000)
    assert verdict.refuted
    assert "samples" in str(verdict)


def test_an_analysis_is_not_held_again_on_neighbours() -> None:
    table = Queryable(FiltCon(PureDP(1)), DATA)
    table(bridged())
    with pytest.raises(HandleError, match="noise is drawn by another library"):
        on_neighbours(table, 10)


def test_a_rehearsal_runs_it_on_the_sample() -> None:
    """With noise of OpenDP: it is public, and nothing is computed again."""
    mechanism = bridged()
    assert rehearse(mechanism, DATA).opening == 3.0
    assert rehearse(FiltCon(PureDP(1)), DATA, [Launch(mechanism)]).answers[0].answer == 3.0


def test_it_interleaves_as_any_measurement() -> None:
    table = Queryable(FiltCon(PureDP(2)), DATA)
    search = table(SparseVector(100, epsilon="1/4"))
    one = table(bridged())
    assert not search(SIZE)
    inner = table(FiltCon(PureDP("1/2")))
    assert (one, inner(bridged()), table(bridged())) == (3.0, 3.0, 3.0)
    assert table.privacy_loss() == PureDP("7/4")
    assert table.ask(Ask(0, SIZE)) is not None


def test_a_draw_has_no_hash() -> None:
    """It holds the data: a cache of laws must not keep it."""
    mechanism = bridged()
    draw = OpenDPDraw(mechanism.measurement, mechanism._records, DATA)
    with pytest.raises(TypeError, match="unhashable"):
        hash(draw)
    assert "1.0" not in repr(draw)
