"""One conversation on two kernels: the runner, and compositors that run their children themselves.

The same random messages go to both, with the same coins and with the same fault in the same leaf.
Equal are: answers, errors, what is charged, live ids, counts of messages, states of leaves, what
the curator is told, and what is told to stand before data are read. Besides, on the runner: what
its log says leads to the same state, and an interrupt between any two instructions leaves a state
that the other kernel has after an interrupt of a leaf, or the old one.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from typing import Any, NamedTuple

import attrs
import numpy as np

from composition import FiltCon, FiltSeq, Individual, OdomCon, Parallel, Partition
from composition.compositors.children import BROKEN as OLD_BROKEN
from composition.compositors.fixed import FixedState
from composition.compositors.individual import IndividualState
from composition.compositors.state import CompositionState
from queryable import (
    SYSTEM,
    ZCDP,
    CanAfford,
    Coins,
    FromAnalyst,
    FromMechanism,
    InteractiveMechanism,
    Launch,
    LaunchMany,
    Loss,
    Measurement,
    MechanismFault,
    PrivacyLossQuery,
    QueryError,
    SeededCoins,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
    Update,
)
from queryable.advancing import Dead, advance, advance_with_update, begin
from queryable.audit.laws import snapshot
from queryable.conversation import LOST, Data, Later, Node, Run, made
from queryable.conversation.steps import BROKEN
from queryable.data.growing import snapshot as contents
from queryable.faults import Scope, enter, is_interrupt, what_stands
from queryable.messages import addressed, is_owners
from queryable.postprocessing import PostprocessedState
from tests.conversations import Filter, Private, Split, Through
from tests.strategies import WORD, Courier, Masker, Twice

ROWS = np.arange(12)
TINY = ZCDP("1/1000")


class Trigger:
    """Lets one leaf of a message fail, by its number from 1 on.

    After an interrupt the runner runs no leaf of the message; on the other kernel all fail.
    """

    def __init__(self) -> None:
        self.set(0, None)
        self.watch: Callable[[], object] = lambda: None

    def set(self, at: int, fault: Callable[[], BaseException] | None) -> None:
        """From now on, count anew."""
        self.count, self.at, self.fault = 0, at, fault

    def pull(self) -> None:
        """A leaf runs."""
        self.count += 1
        self.watch()
        if self.count == self.at and self.fault is not None:
            raise self.fault()
        self.go_on()

    def go_on(self) -> None:
        """Raise if a leaf before was interrupted."""
        if self.fault is not None and 0 < self.at < self.count + 1:
            fault = self.fault()
            if is_interrupt(fault):
                raise fault


TRIGGER = Trigger()


def parity(row: int) -> str:
    """The part of a row. To find the parts of all rows is a leaf as well."""
    if row == 0:
        with suppress(ValueError, QueryError, MechanismFault):  # it may be asked again for them
            TRIGGER.pull()
    return "odd" if row % 2 else "even"


PARTITION = Partition(parity, ("even", "odd"))


def _lost(d_in: int) -> ZCDP:
    return ZCDP(TINY.rho * d_in**2)


@attrs.frozen
class Bits(InteractiveMechanism[Any]):
    """Answers with random words; its state has the size of its data and the number of asks."""

    def loss(self, d_in: int) -> Loss:
        return _lost(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        TRIGGER.pull()
        return (len(dataset), 0), coins.draw(WORD)

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        TRIGGER.watch()
        TRIGGER.go_on()
        if query not in ("bits", "same"):
            raise UnknownQueryError("ask for 'bits'")
        TRIGGER.pull()
        size, count = state
        return (state if query == "same" else (size, count + 1)), coins.draw(WORD)


@attrs.frozen
class Sums(Bits):
    """Also takes batches, and has the sum of their sizes in its state."""

    continual = True
    from_any_history = True

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        TRIGGER.pull()
        return (0, 0), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if isinstance(query, Update):
            TRIGGER.pull()
            return (state[0] + len(query.records), state[1]), None
        return super().step(state, query, coins)


@attrs.frozen
class Word(Measurement):
    """One random word and the size of the data."""

    def loss(self, d_in: int) -> Loss:
        return _lost(d_in)

    def release(self, dataset: Any, coins: Coins) -> Any:
        TRIGGER.pull()
        return len(dataset), coins.draw(WORD)


@attrs.frozen
class Grumpy(Courier):
    """Forwards; finds fault with some answers, with some queries, and asks again about others."""

    def step(
        self, state: int, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[int, ToMechanism | ToAnalyst]:
        if isinstance(message, FromAnalyst) and state % 5 == 4:
            raise QueryError("not now")
        if isinstance(message, FromMechanism) and type(message.answer) is int:
            if message.answer % 4 == 0:
                raise ValueError(str(message.answer))
            if message.answer % 4 == 1:
                return state + 1, ToMechanism(PrivacyLossQuery())
            if message.answer % 4 == 2:
                return state + 1, ToMechanism("wrong")
        return super().step(state, message, coins)


LEAVES: dict[str, InteractiveMechanism[Any]] = {"bits": Bits(), "sums": Sums(), "word": Word()}
PERSONS = {each.__name__: each() for each in (Courier, Masker, Twice, Grumpy)}
FILTERS: dict[str, Callable[[ZCDP], Any]] = {
    "FiltCon": FiltCon,
    "FiltSeq": FiltSeq,
    "halting": lambda budget: FiltCon(budget, on_exceed="halt"),
    "few": lambda budget: FiltCon(budget, max_mechanisms=2),
}
Kind = tuple[Any, ...]


def real(kind: Kind) -> Any:
    """The mechanism that runs its children itself."""
    match kind:
        case "filter", name, budget:
            return FILTERS[name](budget)
        case ("odometer",):
            return OdomCon(ZCDP)
        case "person", name, inner:
            return PERSONS[name] @ real(inner)
        case "parallel", *parts:
            return Parallel(
                PARTITION, {n: real(p) for n, p in zip(PARTITION.names, parts, strict=True)}
            )
        case "private", rho:
            return Individual(rho)
    return LEAVES[kind[0]]


def talking(kind: Kind) -> Any:
    """The same as a conversation."""
    match kind:
        case ("filter", *_) | ("odometer",):
            return Filter(real(kind))
        case "person", name, inner:
            return Through(talking(inner), PERSONS[name])
        case "parallel", *parts:
            names = zip(PARTITION.names, parts, strict=True)
            return Split(real(kind), {name: talking(part) for name, part in names})
        case "private", _:
            return Private(real(kind))
    return LEAVES[kind[0]]


def random_kind(rng: np.random.Generator, depth: int = 3, *, calm: bool = False) -> Kind:
    """A random mechanism, at most so deep.

    Args:
        calm: whether a person is above. Then no person asks twice: if one below another is lost,
            the runner retires it alone, and the other kernel all persons above it too.
    """
    choice = rng.integers(10 if depth else 4)
    if choice < 2:
        return ("bits",)
    if choice < 4:
        return (("word",), ("sums",))[choice - 2]
    if choice < 7:
        name = list(FILTERS)[rng.integers(len(FILTERS))]
        return ("filter", name, ZCDP(f"{rng.integers(1, 9)}/1000"))
    if choice < 9:
        inner = random_kind(rng, depth - 1, calm=True)
        if inner[0] in ("word", "private"):
            inner = ("bits",)
        return ("person", list(PERSONS)[rng.integers(2 if calm else len(PERSONS))], inner)
    if rng.integers(2):
        return ("private", "1/250")
    # What an empty part is divided into is read without a row that could fail.
    parts = (random_kind(rng, depth - 1, calm=calm) for _ in range(2))
    return ("parallel", *(("bits",) if "parallel" in repr(each) else each for each in parts))


def random_root(rng: np.random.Generator) -> Kind:
    """A random mechanism that may be launched in."""
    inner: Kind = ("filter", "FiltCon", ZCDP("1/10"))
    match rng.integers(8):
        case 0:
            return ("odometer",)
        case 1 | 2:
            return ("person", list(PERSONS)[rng.integers(len(PERSONS))], inner)
        case 3:
            return ("private", "1/50")
        case 4:
            return ("parallel", inner, ("sums",))
    return inner


class Place(NamedTuple):
    """Where something lives, what it is, and whether a person or a parallel part is above it."""

    path: tuple[Any, ...]
    kind: str
    person: bool
    part: bool


ROOT = Place((), "", False, False)


def places(mechanism: Any, state: Any, at: Place = ROOT) -> Iterator[Place]:
    """All that lives below a conversation."""
    if type(state) is not Node:
        yield at._replace(kind="leaf")
    elif isinstance(mechanism, Through):
        if "mechanism" in state.children:
            inner = state.children["mechanism"]
            yield from places(inner.mechanism, inner.state, at._replace(person=True))
    else:
        divides = isinstance(mechanism, Split)
        yield at._replace(kind="parallel" if divides else "filter")
        for each, child in sorted(state.children.items(), key=lambda pair: str(pair[0])):
            below = at._replace(path=(*at.path, each), part=at.part or divides)
            yield from places(child.mechanism, child.state, below)


def random_query(rng: np.random.Generator, mechanism: Any, state: Any) -> tuple[Any, Any]:
    """A message to what lives, for the kernel of old and for the runner."""
    if mechanism.continual and rng.integers(6) == 0:
        batch = Update(ROWS[: rng.integers(0, 5)])
        return batch, batch
    found = list(places(mechanism, state))
    path, kind, person, part = found[rng.integers(len(found))]
    if rng.integers(20) == 0:
        path = (*path, 17)
    if kind == "leaf":
        inner = ("bits", "bits", "bits", "same", "wrong", PrivacyLossQuery(), Update(ROWS))[
            rng.integers(7)
        ]
        return addressed(path, inner), addressed(path, inner)
    if kind == "parallel":
        query = ("wrong", PrivacyLossQuery(2), PrivacyLossQuery())[rng.integers(3)]
        return addressed(path, query), addressed(path, query)
    kinds = [random_kind(rng, calm=person) for _ in range(rng.integers(1, 4))]
    kinds = [("bits",) if part and "parallel" in repr(each) else each for each in kinds]
    both = [[Launch(build(each)) for each in kinds] for build in (real, talking)]
    match rng.integers(8):
        case 0:
            made_of: list[Any] = [PrivacyLossQuery(), PrivacyLossQuery()]
        case 1:
            made_of = [CanAfford(each[0]) for each in both]
        case 2 | 3 | 4:
            made_of = [LaunchMany(each) for each in both]
        case _:
            made_of = [each[0] for each in both]
    old, new = (addressed(path, each) for each in made_of)
    return old, new


def old_picture(mechanism: Any, state: Any) -> Any:
    """The state of a mechanism that runs its children itself, by value."""

    def children(found: Any) -> Any:
        living = (
            (repr(i), c.messages, old_picture(c.mechanism, c.state)) for i, c in found.items()
        )
        return sorted(living, key=lambda child: child[0])

    if type(state) is Dead:
        return "dead"
    if state is OLD_BROKEN:
        return "broken"
    if type(state) is CompositionState:
        losses = [claim.loss for claim in state.claims.values()]
        about = (state.account.total(), losses, state.halted, _rows(state.dataset))
        return "filter", about, children(state.children)
    if type(state) is PostprocessedState:
        inner = old_picture(mechanism.mechanism, state.mechanism)
        return "person", state.asked, state.told, state.person, inner
    if type(state) is FixedState:
        return "parallel", children(state.children)
    if type(state) is IndividualState:
        accounts = None if state.books is None else made(state.books).accounts
        about = _books(state, accounts, len(state.mechanisms))
        return "private", about, children(state.children)
    return snapshot(state)


def _rows(dataset: Any) -> Any:
    return snapshot(contents(dataset))


def _books(state: Any, accounts: Any, launched: int) -> Any:
    return launched, state.owed, snapshot(accounts), state.arrived, _rows(state.dataset)


def new_picture(mechanism: Any, state: Any) -> Any:
    """The state of a conversation, by value, in the same words."""

    def children(found: Any) -> Any:
        living = (
            (repr(i), c.messages, new_picture(c.mechanism, c.state)) for i, c in found.items()
        )
        return sorted(living, key=lambda child: child[0])

    if state is None:
        return "dead"
    if state is BROKEN:
        return "broken"
    if type(state) is not Node:
        return snapshot(made(state))
    own = state.own
    if isinstance(mechanism, Filter):
        losses = [claim.loss for claim in own.claims.values()]
        about = (own.account.total(), losses, own.halted, _rows(made(own.data.rows)))
        return "filter", about, children(state.children)
    if isinstance(mechanism, Through):
        inner, person = state.children["mechanism"], state.children["person"]
        below = new_picture(inner.mechanism, inner.state)
        return "person", inner.messages, person.messages, person.state, below
    if isinstance(mechanism, Split):
        return "parallel", children(state.children)
    private = made(own.private)
    return (
        "private",
        _books(private, private.accounts, len(own.mechanisms)),
        children(state.children),
    )


@attrs.define
class Result:
    """What came of a message: an answer or an error, the state, the intents, and the faults."""

    told: Any
    state: Any
    picture: Any
    intents: list[Any]
    faults: list[str]
    interrupted: bool
    standing: list[Any] = attrs.field(factory=list)
    """What stands while each leaf runs, on the kernel that knows it then."""

    def stands(self) -> Any:
        """As an intent says it."""
        return (self.picture, self.told) if self.picture != "dead" else "dead"


def _error(error: QueryError) -> Any:
    return type(error).__name__


def _of(picture: Callable[[Any, Any], Any], mechanism: Any, moved: Any) -> Any:
    seen = picture(mechanism, moved[0]) if moved else "dead"
    return "dead" if seen == "dead" else (seen, moved[1])


def old_message(mechanism: Any, state: Any, query: Any, number: int) -> Result:
    """Send a message to compositors that run their children themselves."""
    scope, intents, coins = Scope(), list[Any](), SeededCoins(7)
    scope.before_reading = lambda: intents.append(
        _of(old_picture, mechanism, what_stands(scope.lost))
    )

    def watch() -> None:
        standing.append(_of(old_picture, mechanism, what_stands(scope.lost)))

    def run() -> Any:
        enter(scope)
        TRIGGER.watch = watch
        if is_owners(query):
            scope.before_reading = None
            return advance_with_update(mechanism, state, query, coins, number), None
        return advance(mechanism, state, query, coins, number)

    after, told, standing = state, None, list[Any]()
    try:
        after, told = copy_context().run(run)
    except QueryError as error:
        told = _error(error)
    except BaseException as error:
        if not is_interrupt(error):
            raise
    finally:
        TRIGGER.watch = lambda: None
    stopped = any(map(is_interrupt, scope.faults))
    if stopped and is_owners(query):
        after, told = state, None
    faults = sorted({type(each).__name__ for each in scope.faults})
    picture = old_picture(mechanism, after)
    return Result(told, after, picture, intents, faults, stopped, standing)


def new_run(mechanism: Any, state: Any, query: Any, number: int, **options: Any) -> Run:
    """The message on the runner."""
    coins = SeededCoins(7).spawn("root", number)
    return Run(mechanism, query, coins, state, **options)


def new_message(mechanism: Any, state: Any, query: Any, number: int) -> tuple[Result, Run]:
    """Send a message to a conversation."""
    intents: list[Any] = []

    def before(moved: Any) -> None:
        intents.append(_of(new_picture, mechanism, moved))

    run, scope = new_run(mechanism, state, query, number, before=before), Scope()

    def held() -> Any:
        enter(scope)
        return run()

    after, told = state, None
    try:
        moved = copy_context().run(held)
        after, told = (None, "dead") if moved is LOST else moved[:2]
    except QueryError as error:
        told = _error(error)
    except BaseException as error:
        if not is_interrupt(error):
            raise
    raised = [*scope.faults, *run.faults]
    stopped = any(map(is_interrupt, raised))
    faults = sorted({type(each).__name__ for each in raised})
    return Result(told, after, new_picture(mechanism, after), intents, faults, stopped), run


def begun(kind: Kind) -> tuple[Any, Any, Any, Any]:
    """Both kernels, started on the same data with the same coins: mechanisms and states."""
    TRIGGER.set(0, None)
    old, new = real(kind), talking(kind)
    state, opening = begin(old, ROWS, SeededCoins(7))
    moved = Run(new, Data(ROWS, Later.of(ROWS)), SeededCoins(7).spawn("root", 0))()
    assert moved is not LOST
    assert moved.answer == opening
    assert new_picture(new, moved.state) == old_picture(old, state)
    return old, state, new, moved.state
