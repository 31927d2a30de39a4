"""Noise that does not come from coins: what coins would have to decide it is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import curator
from composition import ConComp, FiltCon, OdomCon
from curator.codec import CodecError, encode
from mechanisms import Best, Laplace, Poisson, Scripted, SparseVector
from mechanisms.opendp import OpenDPMeasurement
from queryable import (
    InteractiveMechanism,
    Launch,
    MechanismFault,
    PersonInTheMiddle,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
    interact,
    rehearse,
)
from queryable.audit import MaxDivergence, NotEnumerable, audit, on_neighbours, view_law, worst_case
from queryable.errors import ForeignNoiseError, HandleError
from queryable.messages import LaunchMany
from queryable.postprocessing import FromAnalyst, ToAnalyst, ToMechanism
from queryable.view import truncated_view
from tests.stored import KEY, STORED
from tests.unit.mechanisms.opendp.stand_in import DATA, bridged, in_place_of_opendp

__all__ = ["in_place_of_opendp"]

SIZE = Statistic(len, l1=1, l2=1)


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
