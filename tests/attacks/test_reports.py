"""Reports and pictures reveal nothing about the data, and no report is too small."""

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import ConComp, FiltCon, Parallel, Partition, Rogers2016
from mechanisms import Count, Laplace, SparseVector, column
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    FromAnalyst,
    FromMechanism,
    InteractiveError,
    InteractiveMechanism,
    Launch,
    Launched,
    Loss,
    PersonInTheMiddle,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    Statistic,
    SystemCoins,
    ToAnalyst,
    ToMechanism,
    UnprovenCompositionError,
)
from queryable.checks.protection import ROW
from queryable.display.history import TreeHistory
from queryable.display.text import as_text
from tests.strategies import Toy


@attrs.frozen
class Meter(PersonInTheMiddle[None]):
    """Answers `PrivacyLossQuery` with a loss that contains a noisy count."""

    def init(self) -> None:
        return None

    def step(self, state: None, message: Any, coins: Any) -> Any:
        match message:
            case FromAnalyst(PrivacyLossQuery()):
                return None, ToMechanism(Launch(Laplace(Count(), epsilon=1)))
            case FromMechanism(Launched(None, count)):
                return None, ToAnalyst(PureDP(max(count, 0)))
            case FromAnalyst(query):
                return None, ToMechanism(query)
            case FromMechanism(answer):
                return None, ToAnalyst(answer)


def test_a_part_cannot_answer_through_the_report_of_the_whole() -> None:
    """The charge for such an answer would be lost, so the declared loss is reported instead."""
    parts = Partition(lambda record: "all", ["all"])
    whole = Parallel(parts, {"all": Meter() @ FiltCon(PureDP(1))})
    q = Queryable(whole, list(range(1234)))
    assert [q.privacy_loss() for _ in range(5)] == [PureDP(1)] * 5


def test_a_rule_that_reports_its_budget_does_not_at_other_records() -> None:
    """At a hundred records the children lose more than the budget, and it says so."""
    q = Queryable(FiltCon(ApproxDP(1, "1e-6"), Rogers2016()), [1])
    q(Laplace(Count(), epsilon="0.1"))
    assert q.privacy_loss() == ApproxDP(1, "1e-6")
    assert ApproxDP(10, "1e-6") <= q.privacy_loss(100)


@attrs.frozen
class Optimist(Toy):
    """(10, 1e-6)-DP, and states approximate zCDP that does not follow from it."""

    def privacy_map(self, d_in: int, measure: Any = None) -> Loss:
        better = ApproxZCDP("0.1", "1e-6")
        return better if measure is ApproxZCDP else ApproxDP(10, "1e-6")


@pytest.mark.parametrize("child", [Optimist(), ConComp([Optimist(), Optimist()])])
def test_the_open_cell_is_refused_however_it_is_wrapped(child: Any) -> None:
    """An interactive child known only as approximate zCDP composes under no theorem."""
    q = Queryable(FiltCon(ApproxZCDP(1, "1e-3")), None)
    with pytest.raises(UnprovenCompositionError):
        q(child)


@attrs.frozen
class Deaf(Toy):
    """A mechanism whose map ignores the measure."""

    def privacy_map(self, d_in: int, measure: Any = None) -> Loss:
        return ZCDP("0.005")


def test_a_part_must_answer_in_the_measure_asked_for() -> None:
    """A rho read as an epsilon would be too small a claim."""
    q = Queryable(FiltCon(PureDP(1)), [1, 2])
    with pytest.raises(PrivacyClaimError):
        q(Parallel(Partition(lambda record: "all", ["all"]), {"all": Deaf()}))


def test_mechanisms_of_parts_cannot_be_taken_away() -> None:
    """The claim depends on them."""
    whole = Parallel(Partition(lambda record: "all", ["all"]), {"all": Toy()})
    with pytest.raises((AttributeError, TypeError)):
        whole.mechanisms.clear()  # type: ignore[attr-defined]


def test_numpy_says_nothing_about_the_data() -> None:
    """A statistic that divides by a zero in the data prints no warning; here it would raise."""
    logs = Statistic(lambda data: int((np.log(data) > 0).sum()), l1=1, l2=1)
    assert isinstance(Queryable(Laplace(logs, epsilon=1), np.array([0.0, 2.0])).opening, int)


def test_a_callback_that_leaves_tells_the_analyst_nothing() -> None:
    """What `on_fault` raises is swallowed, or raised anew and bare."""

    def broken(data: Any) -> int:
        raise ValueError(f"secret {data}")

    def leave(fault: BaseException) -> None:
        sys.exit(1)

    q = Queryable(FiltCon(PureDP(1)), ["alice"], on_fault=leave)
    with pytest.raises(SystemExit) as caught:
        q(Laplace(Statistic(broken, l1=1, l2=1), epsilon="0.1"))
    frame = caught.value.__traceback__
    while frame is not None:
        inside = "queryable" in frame.tb_frame.f_globals.get("__name__", "")
        assert not (inside and "secret" in repr(frame.tb_frame.f_locals))
        frame = frame.tb_next


def test_a_fork_that_python_was_not_told_of_repeats_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values drawn ahead belong to the process that drew them."""
    coins, law = SystemCoins(), DiscreteLaplace(Fraction(10**9))
    for _ in range(300):
        coins.draw(law)
    ahead = {value for pool in coins._pools._pools.values() for value in pool}
    assert len(ahead) > 100
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    drawn = {coins.draw(law) for _ in range(100)}
    assert len(drawn & ahead) < 3


# Pictures of an interaction show only what its answers contain.
#
# Two runs over neighbouring data whose answers are forced to be equal, by noise that makes up for
# the difference; their states differ. Whatever is shown of them must be the same to the letter.


HERE = {"age": [30, 40, 50], "part": ["a", "a", "b"]}
GONE = {"age": [40, 50], "part": ["a", "b"]}


@attrs.define
class Scripted:
    """Coins whose draws are written down."""

    draws: list[Any]

    def draw(self, law: Any, size: Any = None) -> Any:
        return self.draws.pop(0)

    def spawn(self, child: Any, message: int) -> "Scripted":
        return self


def failing(data: Any) -> int:
    raise ValueError(f"there are {len(data['age'])}")


def session(data: Any, draws: list[int], mechanism: InteractiveMechanism[Any]) -> Queryable:
    """A count, a failure, a sparse vector, parts, a refusal; `draws` make up for the data."""
    q = Queryable(mechanism, data, coins=Scripted(draws), allow_seeded=True)
    assert q.launch(Laplace(Count(), scale=10), name="count") == 7
    with suppress(InteractiveError):
        q.launch(Laplace(Statistic(failing, l1=1, l2=1), scale=10))
    sparse = q.launch(SparseVector(20, "0.1", cutoff=2))
    assert sparse.ask(Count(column("age") >= 30)) is False
    parts = Partition("part", ["a", "b"])
    filters = {name: FiltCon(PureDP("0.2")) for name in ("a", "b")}
    parallel = q.launch(Parallel(parts, filters))
    assert parallel.children["a"].launch(Laplace(Count(), scale=10)) == 5
    with suppress(InteractiveError):
        q.launch(Laplace(Count(), epsilon=100))
    return q


#          count  threshold  comparison  part
WITH = [4, 1, 0, 3]
WITHOUT = [5, -2, 4, 4]

SHOWN: dict[str, Callable[[Queryable], str]] = {
    "tree": lambda q: q.tree(),
    "html": lambda q: q._repr_html_(),
    "ledger": lambda q: q.ledger().to_json(),
    "ledger text": lambda q: str(q.ledger()),
    "ledger csv": lambda q: q.ledger().to_csv(),
    "ledger html": lambda q: q.ledger().to_html(),
    "explanation": lambda q: q.explain(),
    "repr": repr,
    "a part": lambda q: q.children[3].children["a"].tree(),
    "frame": lambda q: q.ledger().to_pandas().to_csv(),
}


@pytest.mark.parametrize("mechanism", [FiltCon(PureDP(2)), FiltCon(ZCDP(1))], ids=str)
@pytest.mark.parametrize("shown", SHOWN)
def test_equal_answers_give_equal_pictures(shown: str, mechanism: Any) -> None:
    here, gone = session(HERE, [*WITH], mechanism), session(GONE, [*WITHOUT], mechanism)
    assert SHOWN[shown](here) == SHOWN[shown](gone)


def test_a_picture_of_states_would_differ() -> None:
    """The states of the runs above differ in their noise."""

    def noise(q: Queryable) -> int:
        return int(q._root._now.state.children[2].state.threshold_noise)

    here = session(HERE, [*WITH], FiltCon(PureDP(2)))
    gone = session(GONE, [*WITHOUT], FiltCon(PureDP(2)))
    assert noise(here) != noise(gone)


def test_everything_shown_is_a_function_of_the_view() -> None:
    """A history made of the exchanges alone, without handle or state, is the same."""
    q = session(HERE, [*WITH], FiltCon(PureDP(2)))
    again = TreeHistory(q._root.mechanism, q.view.opening, enumerate(q.view), {0: "count"})
    assert as_text(again.root, ROW) == q.tree()


def test_no_value_of_the_data_is_shown() -> None:
    secret = {"age": [31337, 31337, 31337], "part": ["a", "a", "b"]}
    q = session(secret, [*WITH], FiltCon(PureDP(2)))
    for show in SHOWN.values():
        assert not re.search("31337|there are", show(q))
