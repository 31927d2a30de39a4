"""Whatever can be launched is charged for its own neighbours, and `explain` says whose they are.

A tree is a leaf at some level, in some wrapper, launched in some compositor over some data. The
leaves answer which records they count. Noise of scale 1 on a histogram of these would lose exactly
the number of records by which two answers differ. So for streams that differ as `explain` says,
these numbers add up to at most the charge, or the tree has to be refused.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from random import Random
from typing import Any

import attrs
import pytest

import composition
from composition import (
    Blocks,
    ConComp,
    ExPost,
    Filt,
    FiltCon,
    FiltSeq,
    Individual,
    Odom,
    OdomCon,
    OdomSeq,
    Parallel,
    Partition,
    Universal,
)
from mechanisms import Scripted
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    LaunchOver,
    Loss,
    Measurement,
    PureDP,
    Queryable,
    QueryError,
    Update,
    UserLevel,
)
from queryable.checks.held import held
from queryable.data.growing import snapshot
from queryable.losses import ExPostBound
from queryable.messages import OWNERS
from queryable.streams.levels import DataLevel, EventLevel, Growth
from queryable.view import View
from tests.audit import random_leaves as leaves
from tests.audit.random_leaves import COLUMNS, PART, UNIT, of_units, rows_in
from tests.audit.random_leaves import Rows as InBlocks
from tests.audit.random_trees import Still
from tests.strategies import Courier

Row = tuple[str, str, int]
Rows = list[Row]
Stream = list[Rows]  # the initial rows, then batches: each of a block of its own

PARTS = Partition(PART, ["a", "b"])
MUCH = PureDP(1000)


def columns_of(rows: Rows) -> dict[str, list[Any]]:
    return leaves.columns_of((*row, row[0]) for row in rows)


@attrs.frozen
class SeenNow(Measurement[Any]):
    """The records at its launch; the units that have any, where the data protect units."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in)

    def release(self, dataset: Any, coins: Coins) -> Any:
        rows = rows_in(dataset)
        return sorted({row[0] for row in rows}) if of_units(dataset) else rows


@attrs.frozen
class Seen(InteractiveMechanism[Any]):
    """The records that count so far, at a level of its own, or of the class of its data."""

    level: Any
    grows: bool = True

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        return Growth() if self.grows else None

    @property
    def neighbours(self) -> Any:
        return self.level

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * getattr(self.level, "max_records", 1))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (of_units(dataset), rows_in(dataset)), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if isinstance(query, Update):
            return (state[0], [*state[1], *rows_in(query.records)]), None
        if isinstance(query, OWNERS):
            return state, None
        if query != "seen":
            raise QueryError("ask what it has seen")
        return state, self._counted(*state)

    def _counted(self, units: bool, rows: Rows) -> Any:
        if isinstance(self.level, UserLevel):
            place, counted = COLUMNS.index(self.level.column), Counter[str]()
            kept = []
            for row in rows:
                counted[row[place]] += 1
                if counted[row[place]] <= self.level.max_records:
                    kept.append(row)
            return kept
        if units and isinstance(self.level, DataLevel):
            return sorted({row[0] for row in rows})
        return rows


@attrs.frozen
class Box(InteractiveMechanism[Any]):
    """A mechanism of a site that runs the one in its field, however that is stored."""

    held: Any
    grows: bool = False

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        return Growth() if self.grows else None

    @property
    def _inner(self) -> InteractiveMechanism[Any]:
        inner: InteractiveMechanism[Any] = self.held["it"][0]
        return inner

    def privacy_map(self, d_in: int, measure: Any = None) -> Loss:
        return self._inner.privacy_map(d_in, measure)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return self._inner.init(dataset if self.grows else snapshot(dataset), coins)

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return self._inner.step(state, query, coins)


def directly(query: Any) -> Any:
    return query


STILL = Seen(DataLevel(), False)
NO_GROWTH = FiltCon(ApproxDP(1, "1e-9"))
"""A part with which a `Parallel` keeps the data."""

WRAPPERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bare": (directly, directly),
    "person": (lambda it: Courier() @ it, directly),
    "still person": (lambda it: Still() @ it, directly),
    "ConComp": (lambda it: ConComp([it]), partial(Ask, 0)),
    "ConComp with a filter": (lambda it: ConComp([it, FiltCon(PureDP(1))]), partial(Ask, 0)),
    "ConComp with a still one": (
        lambda it: ConComp([Seen(DataLevel(), False), it]),
        partial(Ask, 1),
    ),
    "Parallel": (lambda it: Parallel(PARTS, {"a": it, "b": it}), partial(Ask, "a")),
    "still Parallel": (lambda it: Parallel(PARTS, {"a": it, "b": NO_GROWTH}), partial(Ask, "a")),
    "Scripted": (lambda it: Scripted(it, ["seen"]), directly),
    "box": (lambda it: Box({"it": (it,)}), directly),
    "growing box": (lambda it: Box({"it": [it]}, True), directly),
    "person in ConComp in still person": (
        lambda it: Still() @ ConComp([Courier() @ it]),
        partial(Ask, 0),
    ),
}

LEAVES: dict[str, Any] = {
    "data": Seen(DataLevel()),
    "data, still": Seen(DataLevel(), False),
    "event": Seen(EventLevel()),
    "user 1": Seen(UserLevel(UNIT, 1)),
    "user 1, still": Seen(UserLevel(UNIT, 1), False),
    "user 2": Seen(UserLevel(UNIT, 2)),
    "user 1 of another column": Seen(UserLevel(PART, 1)),
    "user 2 of another column": Seen(UserLevel(PART, 2)),
    "Blocks": Blocks(FiltCon(PureDP(1))),
    "Blocks of units 1 1": Blocks(FiltCon(PureDP(1)), UNIT),
    "Blocks of units 2 1": Blocks(FiltCon(PureDP(1)), UNIT, 2),
    "Blocks of units 1 2": Blocks(FiltCon(PureDP(2)), UNIT, unit_rows=2),
    "Blocks of units 2 2": Blocks(FiltCon(PureDP(2)), UNIT, 2, unit_rows=2),
}


@attrs.frozen
class Run:
    """A root, how the mechanism is launched there, and the claim that covers what it answers."""

    root: Queryable
    launch: Callable[[], Any]
    claim: Callable[[], Loss]


Compositor = Callable[[Any, Any], Run]


def alone(mechanism: Any, data: Any) -> Run:
    root = Queryable(mechanism, data)
    return Run(root, lambda: root, lambda: mechanism.privacy_map(1))


def launched(outer: Callable[[Any], Any], below: Callable[[Any], Any] = directly) -> Compositor:
    """What is launched in a root, or in a child of it."""

    def over(mechanism: Any, data: Any) -> Run:
        root = Queryable(outer(mechanism), data)
        at = below(root)
        return Run(root, lambda: at.launch(mechanism), at.privacy_loss)

    return over


def by_universal(mechanism: Any, data: Any) -> Run:
    root = Queryable(Universal(mechanism.privacy_map(1)), data)

    def launch() -> Any:
        root.ask(Launch(mechanism))
        return root

    return Run(root, launch, lambda: mechanism.privacy_map(1))


def over_blocks(outer: Any, *, filtered: bool = False) -> Compositor:
    """What is launched over closed blocks, perhaps in a filter there."""

    def over(mechanism: Any, data: Any) -> Run:
        root = Queryable(outer, data)

        def launch() -> Any:
            if not filtered:
                return root.launch_over(mechanism, CLOSED)
            return root.launch_over(FiltCon(mechanism.privacy_map(1)), CLOSED).launch(mechanism)

        return Run(root, launch, root.privacy_loss)

    return over


CLOSED = ["1", "2"]
IN_BLOCKS = {
    "Blocks": over_blocks(Blocks(FiltCon(MUCH))),
    "Blocks of units 1 1": over_blocks(Blocks(FiltCon(MUCH), UNIT)),
    "Blocks of units 2 2": over_blocks(Blocks(FiltCon(MUCH), UNIT, 2, unit_rows=2)),
    "filter in Blocks": over_blocks(Blocks(FiltCon(MUCH)), filtered=True),
    "filter in Blocks of units": over_blocks(Blocks(FiltCon(MUCH), UNIT), filtered=True),
}
COMPOSITORS: dict[str, Compositor] = {
    "alone": alone,
    "FiltCon": launched(lambda it: FiltCon(MUCH)),
    "FiltCon with a delta": launched(lambda it: FiltCon(ApproxDP(1000, "1/2"))),
    "FiltSeq": launched(lambda it: FiltSeq(MUCH)),
    "Filt": launched(lambda it: Filt(MUCH)),
    "OdomCon": launched(lambda it: OdomCon(PureDP)),
    "OdomSeq": launched(lambda it: OdomSeq(PureDP)),
    "Odom": launched(lambda it: Odom(PureDP)),
    "ExPost": launched(lambda it: ExPost(MUCH)),
    "Individual": launched(lambda it: Individual(it.privacy_map(1, ZCDP).rho)),
    "Universal": by_universal,
    "person": launched(lambda it: Courier() @ FiltCon(MUCH)),
    "still person": launched(lambda it: Still() @ FiltCon(MUCH)),
    "FiltCon in FiltCon": launched(lambda it: FiltCon(MUCH), lambda q: q.launch(FiltCon(MUCH))),
    "FiltCon in ConComp": launched(lambda it: ConComp([FiltCon(MUCH)]), lambda q: q.opening[0]),
    "FiltCon in Parallel": launched(
        lambda it: Parallel(PARTS, {"a": FiltCon(MUCH)}), lambda q: q.opening[0]
    ),
    **IN_BLOCKS,
}


def frame(stream: Stream) -> Any:
    return columns_of(stream[0])


def visits(stream: Stream, whose: str | None = None) -> Any:
    """Data with a block already, so that mechanisms which keep the data may read it."""
    return InBlocks((), whose).append(columns_of(stream[0]), block="0")


DATA: dict[str, Callable[[Stream], Any]] = {
    "frame": frame,
    "rows in blocks": visits,
    "units in blocks": partial(visits, whose=UNIT),
}


def fed(root: Queryable, stream: Stream) -> None:
    """Feed the batches, each in a block that is closed, if the root knows blocks and batches."""
    for place, rows in enumerate(stream[1:], 1):
        with suppress(QueryError):
            try:
                root.feed(columns_of(rows), block=str(place))
                root.feed.close(str(place))
            except QueryError:
                root.feed(columns_of(rows))


def answers(run: Run, wraps: Callable[[Any], Any], stream: Stream, *, late: bool) -> list[Any]:
    """What the leaf answers about a stream, if it is launched before the batches or after them."""
    child = None if late else run.launch()
    fed(run.root, stream)
    child = run.launch() if late else child
    if isinstance(child, View):  # a script has asked
        return [child[-1].answer]
    found = []
    for query in ("seen", *(LaunchOver(SeenNow(), [name]) for name in ("0", *CLOSED))):
        with suppress(QueryError):
            found.append(child.ask(wraps(query)))
    return found


def distance(one: list[Any], other: list[Any]) -> int:
    """By how many records the answers differ, all together."""
    pairs = [(Counter(these), Counter(those)) for these, those in zip(one, other, strict=True)]
    return sum((a - b).total() + (b - a).total() for a, b in pairs)


PROTECTED_ONE = re.compile(r"Protected: one (\w+):")


def explained_unit(root: Queryable) -> str | None:
    """The column whose units `explain` says that the claim is about; None for single records."""
    said = " ".join(root.explain().split())
    found = PROTECTED_ONE.search(said)
    assert found is not None, said
    unit = None if found[1] in ("row", "record") else found[1]
    guaranteed = said[: found.start()].partition("Guaranteed: ")[2]
    whole = f"one {found[1]}{'' if unit is None else ' with all its rows'} "
    assert f"adding or removing {whole}" in guaranteed or "no bound is fixed" in guaranteed
    assert f"protects one {found[1]}:" in root.tree()
    return unit


def neighbours_of(stream: Stream, extra: Row, place: tuple[int, int], unit: str | None) -> Stream:
    """A neighbour: with one record more, or without the records of the unit of `extra`."""
    if unit is not None:
        column = COLUMNS.index(unit)
        return [[row for row in rows if row[column] != extra[column]] for rows in stream]
    batch, row = place[0], min(place[1], len(stream[place[0]]))
    changed = [*stream[batch][:row], extra, *stream[batch][row:]]
    return [*stream[:batch], changed, *stream[batch + 1 :]]


Pair = tuple[Stream, Row, tuple[int, int]]

DISPLACED: list[Pair] = [
    ([[], [("u", "a", 0)], [("u", "a", 1)]], ("u", "b", 2), (0, 0)),
    ([[], [("u", "a", 0)], [("u", "a", 1), ("u", "b", 0)]], ("u", "b", 2), (1, 0)),
    ([[("u", "a", 1), ("u", "b", 3)], [("v", "a", 0)], [("u", "a", 1)]], ("u", "a", 2), (0, 0)),
]
"""Streams in which one record more takes the place of others."""


def random_pairs(seed: int, count: int) -> Iterator[Pair]:
    random = Random(seed)

    def row() -> Row:
        return random.choice("uuv"), random.choice("ab"), random.randrange(3)

    for _ in range(count):
        stream = [[row() for _ in range(random.randrange(4))] for _ in range(3)]
        yield stream, row(), (random.randrange(3), random.randrange(3))


def violations(
    leaf: str, wrapper: str, compositor: str, data: str, pairs: list[Pair], *, late: bool
) -> tuple[int, list[str]]:
    """The number of pairs that were compared, none if it is refused, and what is wrong."""
    compared, wrong = 0, []
    make, wraps = WRAPPERS[wrapper]
    for stream, extra, place in pairs:
        try:
            mechanism = make(LEAVES[leaf])
            run = COMPOSITORS[compositor](mechanism, DATA[data](stream))
            unit = explained_unit(run.root)
            here = answers(run, wraps, stream, late=late)
            other = neighbours_of(stream, extra, place, unit)
            there = answers(
                COMPOSITORS[compositor](mechanism, DATA[data](other)), wraps, other, late=late
            )
        except (QueryError, ValueError, TypeError):  # it cannot be built, or is refused
            continue
        compared += 1
        claim = run.claim()
        if isinstance(claim, ExPostBound):
            claim = PureDP(claim.epsilon)
        lost = PureDP(distance(here, there))
        if not lost.to(claim.measure) <= claim:
            who = "row" if unit is None else unit
            wrong.append(
                f"{leaf}, {wrapper}, {compositor}, {data}: {lost} for {claim} of one {who}"
            )
    return compared, wrong


def found(
    compositor: str,
    leaves: list[str],
    wrappers: list[str],
    pairs: list[Pair],
    when: tuple[bool, ...] = (False, True),
) -> int:
    """The number of comparisons, after a check that no claim is below what was lost.

    Args:
        when: whether it is launched after the batches.
    """
    compared, wrong = 0, []
    for leaf, wrapper, data, late in product(leaves, wrappers, DATA, when):
        if late or compositor not in IN_BLOCKS:
            some, false = violations(leaf, wrapper, compositor, data, pairs, late=late)
            compared, wrong = compared + some, wrong + false
    assert wrong == []
    return compared


def test_every_compositor_is_tried() -> None:
    """A new one launches what has to be charged for its own neighbours, or is one of `WRAPPERS`."""
    public = [getattr(composition, name) for name in composition.__all__]
    kinds = {each for each in public if isinstance(each, type)}
    tried = [make(STILL) for make, _ in WRAPPERS.values()]
    tried += [make(STILL, frame([[]])).root._root.mechanism for make in COMPOSITORS.values()]
    missing = {each for each in kinds if issubclass(each, InteractiveMechanism)}
    assert missing - {type(each) for each in held(tried)} == set()


NARROW = ["user 1", "Blocks of units 1 1"]
LOOKED_THROUGH = ["still person", "still Parallel", "box", "Scripted"]


@pytest.mark.parametrize("compositor", COMPOSITORS)
def test_claims_about_units_are_charged_for_what_the_data_protect(compositor: str) -> None:
    """Each compositor, with claims about a unit of which one record counts.

    They were charged for rows behind a person or a box that keeps the data, in `Blocks`, and in a
    `Parallel` that does not grow; and `explain` of a root said that they are about one row.
    """
    leaves, wrappers = [*NARROW, "data"], ["bare", *LOOKED_THROUGH]
    assert found(compositor, leaves, wrappers, DISPLACED[:1], (True,)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("compositor", COMPOSITORS)
def test_every_level_in_every_wrapper_is_charged_for_its_own_neighbours(compositor: str) -> None:
    """All levels, wrappers and data, on chosen and on random streams."""
    pairs = [*DISPLACED, *random_pairs([*COMPOSITORS].index(compositor), 3)]
    assert found(compositor, [*LEAVES], [*WRAPPERS], pairs) > 100
