"""Random cases: a tree over two streams that are neighbours, and the exact laws of a view.

A `Case` has a root mechanism, the messages of an analyst and of the data's owner, and two streams
that differ in so many rows, or in all rows of so many units, as `whom` says of the root. Messages
are made along the run over one stream, so that most of them are legal, and are the same over the
other. The laws of the view are computed exactly, from all outcomes of all draws.
"""

from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import numpy as np

import composition as c
from mechanisms import TreeCounter
from queryable import ApproxDP, Launch, Launched, LaunchOver, PrivacyLossQuery, QueryError, Update
from queryable.audit import every_outcome, hashable
from queryable.audit.views.enumeration import CUT
from queryable.audit.views.keys import state_key
from queryable.checks.datasets import protects
from queryable.checks.held import held
from queryable.checks.protection import whom
from queryable.conversation.stepping import advance, begin
from queryable.data.growing import batch_of, form_of
from queryable.errors import MechanismFault
from queryable.losses import ExPostBound, Loss
from queryable.messages import CloseBlock, addressed, is_owners, unnested
from queryable.randomness.laws import Law as Drawn
from tests.attacks.hostile_units import Stop
from tests.audit.random_leaves import COLUMNS, UNIT, Reader, Row, Rows, columns_of
from tests.audit.random_trees import OURS, Maker, Mechanism, Place, Stream, places

F = Fraction
Law = dict[Hashable, Fraction]
Running = dict[tuple[int, tuple[Hashable, ...]], Fraction]
"""The probability of each number of a state, jointly with what was seen."""
MOST_VIEWS = 256
"""The most views, with their hidden states. A message that leads to more is left out."""
FAR = 10**6


# Noise of counters.


@attrs.frozen
class Near(Drawn[int]):
    """Two-sided geometric noise up to 3, and `FAR` in place of all noise beyond.

    The ratio of neighbouring chances is at most that of the noise that it stands for.
    """

    ratio: Fraction

    def sample(self, source: Any) -> int:
        raise NotImplementedError

    def outcomes(self) -> tuple[tuple[int, Fraction], ...]:
        p = self.ratio
        near = [(n, (1 - p) / (1 + p) * p ** abs(n)) for n in range(-3, 4)]
        return (*near, (FAR, 1 - sum((chance for _, chance in near), F(0))))


@attrs.frozen
class NearCoins:
    """Coins that draw `Near` in place of Laplace noise; so every law has few outcomes."""

    coins: Any

    def draw(self, law: Any, size: Any = None) -> Any:
        if law.outcomes() is None:
            law = Near(F(int(2 ** -float(law.scale**-1 * F("1.4427")) * 2**12) + 1, 2**12))
        return self.coins.draw(law, size)

    def spawn(self, child: Any, message: int) -> "NearCoins":
        return self


def is_far(answer: Any) -> bool:
    """Whether an answer has noise of `FAR`. What it tells beside is not compared."""
    if isinstance(answer, tuple):
        return any(map(is_far, answer))
    return isinstance(answer, int) and answer > FAR / 2


@attrs.frozen
class Batch:
    """The place of a batch in a stream; what arrives depends on the side."""

    place: int


@attrs.frozen
class Either:
    """What an adaptive analyst sends: one of two messages, by the last answer."""

    if_true: Any
    if_false: Any

    def sent(self, seen: tuple[Hashable, ...]) -> Any:
        """The message after what was seen."""
        return self.if_true if "True" in repr(seen[-1]) else self.if_false


FORMS = ("frame", "arrays", "rows in blocks", "units in blocks")


def data_of(form: str, rows: list[Row]) -> Any:
    if form == "frame":
        return columns_of(rows)
    if form == "arrays":
        columns: dict[str, Any] = columns_of(rows)
        for name in COLUMNS:
            cells = np.empty(len(rows), dtype=object)
            cells[:] = columns[name]
            columns[name] = cells
        return columns
    return Rows((), UNIT if form == "units in blocks" else None).append(columns_of(rows), 0)


@attrs.define
class Side:
    """One side of a case: the root over one stream, as its owner and an analyst use it.

    Equal states are stepped once, however many views lead there.
    """

    mechanism: Mechanism
    form: str
    stream: Stream
    states: list[Any] = attrs.field(factory=list)
    numbers: dict[Any, int] = attrs.field(factory=dict)
    dataset: Any = None

    def __attrs_post_init__(self) -> None:
        self.dataset = data_of(self.form, self.stream[0])

    def begun(self) -> Running:
        """The states and openings."""
        found: Running = {}
        for chance, (state, opening) in every_outcome(
            lambda coins: begin(self.mechanism, self.dataset, NearCoins(coins))
        ):
            _add(found, (self._number(state), (hashable(opening),)), chance)
        return found

    def after(self, running: Running, message: Any) -> tuple[Running, list[Any]]:
        """What follows a message, and the answers to it; nothing of what has become too much."""
        found: Running = {}
        known: dict[tuple[int, int], list[tuple[Fraction, int, Any]]] = {}
        answers = list[Any]()
        for (number, seen), chance in running.items():
            sent = message.sent(seen) if isinstance(message, Either) else message
            if (number, id(sent)) not in known:
                known[number, id(sent)] = steps = self._steps(number, sent)
                answers += [answer for _, _, answer in steps]
            for more, after, answer in known[number, id(sent)]:
                _add(found, (after, (*seen, hashable(answer))), chance * more)
            if len(found) > MOST_VIEWS:
                break
        return found, answers

    def _steps(self, number: int, message: Any) -> list[tuple[Fraction, int, Any]]:
        outcomes = every_outcome(
            lambda coins: self._moved(self.states[number], message, NearCoins(coins))
        )
        return [(chance, self._number(after), answer) for chance, (after, answer) in outcomes]

    def _moved(self, state: Any, message: Any, coins: Any) -> tuple[Any, Any]:
        """One message. Whether a batch was taken is not told, as at a root."""
        if isinstance(message, Batch):
            message = Update(columns_of(self.stream[message.place]), block=message.place)
        if not is_owners(message):
            try:
                return advance(self.mechanism, state, message, coins, 0)
            except QueryError as error:
                return state, ("wrong", str(error))
        with suppress(QueryError, MechanismFault):
            if isinstance(message, Update):
                form = form_of(self.dataset)
                message = Update(batch_of(form, message.records), message.block)
            return advance(self.mechanism, state, message, coins, 0)[0], None
        return state, None

    def _number(self, state: Any) -> int:
        with suppress(Exception, Stop):  # hostile cells in it
            key = state_key(state)
            if key not in self.numbers:
                self.numbers[key] = len(self.states)
                self.states.append(state)
            return self.numbers[key]
        self.states.append(state)
        return len(self.states) - 1

    def law(self, messages: Iterable[Any]) -> Law:
        """The exact law of the view."""
        running = self.begun()
        for message in messages:
            running, _ = self.after(running, message)
        return law_of(running)


def _add(found: dict[Any, Fraction], key: Any, chance: Fraction) -> None:
    found[key] = found.get(key, F(0)) + chance


def law_of(running: Running) -> Law:
    """The law of what was seen; views with noise beyond what is enumerated are `CUT`."""
    law: Law = {}
    for (_, seen), chance in running.items():
        _add(law, CUT if is_far(seen) else seen, chance)
    return law


# Cases.


def _named(stream: Stream) -> str:
    """A stream in words; some cells have no `repr`."""
    return str(
        [
            [(label, type(cell).__name__, type(part).__name__, x) for cell, part, x, label in rows]
            for rows in stream
        ]
    )


@attrs.frozen
class Case:
    """Two streams that are neighbours, the law of a view over each, and what is claimed of it.

    Attributes:
        kinds: what it is about, in words: compositors, persons, levels, forms of data.
    """

    mechanism: Mechanism
    form: str
    d_in: int
    unit: str | None
    stream: Stream = attrs.field(repr=_named)
    neighbour: Stream = attrs.field(repr=_named)
    messages: tuple[Any, ...]
    claims: tuple[Loss, ...]
    laws: tuple[Law, Law] = attrs.field(repr=False)

    @property
    def kinds(self) -> list[str]:
        """The compositors, persons and levels in it, and what kind of data it is over."""
        found = dict[str, None]()
        for each in held([self.mechanism, *_launches(self.messages)]):
            name = type(each).__name__
            found[f"{name} of units" if getattr(each, "unit", None) == UNIT else name] = None
            level = getattr(each, "neighbours", None)
            if isinstance(each, Reader | TreeCounter):
                found[str(type(level).__name__) + str(getattr(level, "max_records", ""))] = None
        batches = sum(isinstance(each, Batch) for each in self.messages)
        adaptive = any(isinstance(each, Either) for each in self.messages)
        about = (f"{batches} batches", self.form, f"d_in {self.d_in}", f"claim about {self.unit}")
        return [*found, *about, *["adaptive"] * adaptive]


def _launches(messages: Iterable[Any]) -> Iterator[Any]:
    for message in messages:
        if isinstance(message, Either):
            yield from _launches((message.if_true, message.if_false))
            continue
        launch = unnested(message)[1]
        if isinstance(launch, Launch | LaunchOver):
            yield launch.mechanism


def made(random: Random, top: str | None = None) -> Case | None:
    """A random case, with this kind of root; None if nothing is claimed, or nothing is asked."""
    make = Maker(random, top)
    cells = make.cells()
    try:
        root = make.root()
        stream, form, d_in = make.stream(cells), random.choice(FORMS), make.pick(1, 1, 1, 2)
        unit = whom(root, protects(data_of(form, stream[0]))).whose
    except OURS:
        return None
    extra = [make.row(cells, (1, -1)) for _ in range(d_in)]
    if unit is not None and any(row[-1] is None for row in extra):
        return None
    neighbour = [list(rows) for rows in stream]
    for row in extra:  # before or after the rows that both have
        batch = random.randrange(len(stream))
        stream[batch].insert(random.choice((0, len(stream[batch]))), row)
    if unit is not None:
        gone = {row[-1] for row in extra}
        neighbour = [[row for row in rows if row[-1] not in gone] for rows in stream]
    found = _talked(make, Side(root, form, stream), d_in)
    if found is None:
        return None
    messages, law, reported = found
    claims = list(reported)
    with suppress(*OURS):
        claims.append(root.privacy_map(d_in))
    if not claims:
        return None
    laws = law, Side(root, form, neighbour).law(messages)
    return Case(root, form, d_in, unit, stream, neighbour, messages, tuple(claims), laws)


def _talked(make: Maker, side: Side, d_in: int) -> tuple[tuple[Any, ...], Law, list[Loss]] | None:
    """Messages, most of them legal, the law of their view, and what is reported at the end."""
    running, known = side.begun(), list(places((), side.mechanism))
    messages, batch, told = list[Any](), 1, 0
    names: list[Any] = [0] if isinstance(side.dataset, Rows) else []
    rounds = make.pick(3, 4, 5)
    for number in range(rounds + 4):  # the last ones ask each mechanism for what it has to tell
        late = number - rounds
        if batch < len(side.stream) and (late >= 0 or make.chance(0.4)):
            for message in (Batch(batch), CloseBlock(batch)):
                running, _ = side.after(running, message)
                messages.append(message)
            names, batch = [*names, batch], batch + 1
            if len(running) > MOST_VIEWS:
                return None
            continue
        place = known[-1 - late] if 0 <= late < len(known) else make.random.choice(known[-3:])
        depth = 2 if late < 0 else 0
        message = addressed(place.path, make.message(place, names, depth))
        if make.chance(0.15):
            message = Either(message, addressed(place.path, make.message(place, names, depth)))
        after, answers = side.after(running, message)
        wrong = all(type(each) is tuple and each[:1] == ("wrong",) for each in answers)
        if len(after) > MOST_VIEWS or (wrong and make.chance(0.8)):
            continue
        running, told = after, told + (not wrong)
        messages.append(message)
        if not isinstance(message, Either):
            known += _launched(answers[0], place, message)
    if not told:
        return None
    report = PrivacyLossQuery(None if d_in == 1 else d_in)
    after, answers = side.after(running, report)
    if len(after) > MOST_VIEWS:
        return None
    first = answers[0]
    same = all(each == first for each in answers)
    return (*messages, report), law_of(after), _claimed(first) if same else []


def _claimed(report: Any) -> list[Loss]:
    """What a report that does not depend on answers claims of the view."""
    if isinstance(report, ExPostBound):
        return [ApproxDP(report.epsilon, report.delta)]
    return [report] if isinstance(report, Loss) else []


def _launched(answer: Any, place: Place, message: Any) -> list[Place]:
    """The places that a launch has opened."""
    launch = unnested(message)[1]
    if not isinstance(answer, Launched) or not isinstance(launch, Launch | LaunchOver):
        return []
    if isinstance(place.mechanism, c.Universal):
        return list(places(place.path, launch.mechanism))
    if answer.child is None:
        return []
    return list(places((*place.path, answer.child), launch.mechanism))


__all__ = ["Case", "Law", "made"]
