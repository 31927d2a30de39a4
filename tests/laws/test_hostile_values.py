"""Every public call with one hostile argument raises only our errors, quickly, and harms no tree.

An object whose own methods raise may raise from a constructor that must call them (to iterate, to
compare or to call the object). It may not raise from an error message or from a live tree.
"""

import importlib
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import curator
from composition import FiltCon
from queryable import (
    SYSTEM,
    Ask,
    CanAfford,
    Coins,
    InteractiveError,
    InteractiveMechanism,
    Launch,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    SeededCoins,
)
from queryable.messages import AskMany, LaunchMany
from tests import instances
from tests.hostile import MAKERS, HostileError
from tests.instances import NOT_CALLED
from tests.laws.hostile_curator import CURATOR, LEDGER
from tests.strategies import RandomBits

CALLS = {**instances.CALLS, "curator": CURATOR}
OURS = (ValueError, TypeError, InteractiveError)
SECONDS = 6  # of processor time, which does not depend on the load
UNTRIED = {"dataset", "sample", "x", "x_prime", "pairs", "path"}  # data raise as they are
USED = {"adversary", "encode", "function", "key", "kind", "progress", "run", "divergence"}  # code
OWN = {name for name in MAKERS if name.startswith(("raising", "lying list", "every"))}
OWN -= {"raising repr"}
QUICK = list(MAKERS)[::9]
PUBLIC = {"queryable", "queryable.losses", "queryable.audit", "mechanisms", "composition"}
PUBLIC |= {
    "composition.advice.plot",
    "curator",
}  # of other modules, the names that users construct are called

CASES = [(module, name, argument) for module in CALLS for name in CALLS[module]
         for argument in CALLS[module][name] if argument not in UNTRIED | USED]  # fmt: skip


class TooLongError(BaseException):
    """A call took too long."""


@contextmanager
def at_once() -> Iterator[None]:
    """Fail a call that takes too long, if the interpreter can be interrupted."""

    def stop(*_: object) -> None:
        raise TooLongError

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def complaint(call: Callable[[], Any], label: str) -> str:
    """A description of what is wrong with a call's failure; empty if nothing is."""
    try:
        with at_once(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except OURS:
        pass
    except HostileError:
        return "" if label in OWN else f"{label}: its own error"
    except MemoryError:
        return "" if label == "huge range" else f"{label}: MemoryError"
    except BaseException as error:
        return f"{label}: {type(error).__name__}"
    return ""


def complaints(module: str, name: str, argument: str, labels: Any) -> list[str]:
    function, right = getattr(importlib.import_module(module), name), CALLS[module][name]

    def with_value(label: str) -> Callable[[], Any]:
        value = MAKERS[label]()
        return lambda: function(**{**right, argument: value})

    found = (complaint(with_value(label), label) for label in labels)
    return [each for each in found if each]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some texts are names of files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name", "argument"), CASES)
def test_every_argument_of_every_call(module: str, name: str, argument: str) -> None:
    assert complaints(module, name, argument, MAKERS) == []


def test_some_values_in_every_argument() -> None:
    found = {
        (name, argument): complaints(module, name, argument, QUICK[index % 15 :: 15])
        for index, (module, name, argument) in enumerate(CASES)
    }
    assert {case: each for case, each in found.items() if each} == {}


@pytest.mark.parametrize("argument", ["mechanism", "codec", "key"])
def test_nothing_is_made_of_a_wrong_root(argument: str) -> None:
    """No event is appended, neither to a root that is there nor to a new one."""
    before = {root: len(events) for root, events in LEDGER.events.items()}
    for label in MAKERS.keys() - OWN - {"every attribute"}:
        value = MAKERS[label]()
        for name in ("shown", *(() if isinstance(value, InteractiveMechanism) else ("another",))):
            wrong = {**CURATOR["open"], "ledger": LEDGER, "name": name, argument: value}
            with pytest.raises((*OURS, OSError)):
                curator.open(**wrong)
    assert {root: len(events) for root, events in LEDGER.events.items()} == before


@pytest.mark.parametrize("module", CALLS)
def test_everything_public_is_called(module: str) -> None:
    """Each call is valid without a hostile value."""
    loaded = importlib.import_module(module)
    own = [name for name, each in vars(loaded).items()
           if not name.startswith("_") and getattr(each, "__module__", "") == module]  # fmt: skip
    names = set(getattr(loaded, "__all__", own)) if module in PUBLIC else set()
    everywhere = {name for calls in CALLS.values() for name in calls}
    missing = names - everywhere - NOT_CALLED
    assert not missing, f"add an instance of {sorted(missing)} to tests/instances"
    for name, right in CALLS[module].items():
        getattr(loaded, name)(**right)


@attrs.frozen
class Careful(RandomBits):
    """Checks the type of a query first, because a hostile value controls its comparison."""

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return super().step(state, query if type(query) is str else None, coins)


def trees() -> tuple[Queryable, Queryable, Any, Any]:
    """Two analyses with equal coins, each with a live child."""
    pair = [
        Queryable(FiltCon(PureDP(9)), np.arange(20), coins=SeededCoins(1), allow_seeded=True)
        for _ in range(2)
    ]
    children = [q.launch(Careful(PureDP(1)), name="bits") for q in pair]
    return pair[0], pair[1], children[0], children[1]


@pytest.mark.parametrize("label", MAKERS)
def test_a_live_tree_answers_as_if_it_had_not_been_asked(label: str) -> None:
    """A hostile query raises only our errors, costs nothing, and changes no later answer."""
    asked, left_alone, child, other = trees()
    value = MAKERS[label]()
    runs = isinstance(value, InteractiveMechanism)
    calls: list[Callable[[], Any]] = [
        lambda: asked.ask(value),
        lambda: child.ask(value),
        lambda: asked.ask(Ask(value, "no bits")),
        lambda: asked.ask(Ask(0, value)),
        lambda: asked.ask(Ask(0, Ask(value, value))),
        lambda: asked.ask(PrivacyLossQuery(value)),
        lambda: asked.ask(CanAfford(value)),
        lambda: asked.privacy_loss(value),
        lambda: asked.can_afford(value),
        lambda: asked.can_afford(RandomBits(), value),
        lambda: asked.launch(RandomBits(PureDP(100)), value),
        lambda: asked.launch(RandomBits(PureDP(100)), name=value),
        lambda: asked.ask(Launch(RandomBits(PureDP(100)), value)),
        lambda: asked.ask_many(value),
        lambda: child.ask_many([value, value]),
        lambda: asked.ask(AskMany(value)),
        lambda: asked.ask(Ask(0, AskMany([value]))),
        lambda: asked.ask(LaunchMany(value)),
        lambda: asked.launch_many([Launch(RandomBits(PureDP(100)), value)]),
        lambda: asked.launch_many([RandomBits(PureDP(100))], names=value),
        lambda: asked.launch_many([RandomBits(PureDP(100))], names=[value]),
        lambda: asked.release_many(value, loss=PureDP(1)),
        lambda: asked.release_many([value], loss=PureDP(100)),
    ]
    if not (runs or label == "launch"):
        calls += [lambda: asked.launch(value), lambda: asked.ask(Launch(value))]
        calls += [lambda: asked.launch_many(value), lambda: asked.launch_many([value])]
        calls += [lambda: asked.ask(LaunchMany([value])), lambda: asked.ask_many([value])]
    for index, call in enumerate(calls):
        said = complaint(call, "")
        assert not said, (label, index, said)
    assert asked.privacy_loss() == left_alone.privacy_loss() == PureDP(1)
    assert child.ask("bits") == other.ask("bits")
    first, second = (q.launch(RandomBits(PureDP(1))) for q in (asked, left_alone))
    assert first.ask("bits") == second.ask("bits")
