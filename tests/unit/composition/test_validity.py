"""The table of what is proven, and its verdicts."""

from contextlib import suppress
from typing import Any

import attrs
import pytest

from composition import (
    VALIDITY,
    Basic,
    ConComp,
    ExPost,
    FiltCon,
    FiltSeq,
    OdomCon,
    OdomSeq,
    Parallel,
    Partition,
    Universal,
    validity,
)
from composition.rules import Accumulator
from composition.validity import as_markdown
from composition.verdicts import (
    COMPOSED,
    Cell,
    CompositionKind,
    Kind,
    Proven,
    Remark,
    Row,
    Unproven,
    Way,
    has_coin,
    kind_name,
    kind_of,
    loss_class,
)
from queryable import (
    FDP,
    RDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    InteractiveMechanism,
    Launch,
    Launched,
    PureDP,
    Queryable,
    UnprovenCompositionError,
    Update,
    explain,
)
from queryable.losses import RenyiCurve
from queryable.streams.levels import Growth
from tests.instances import BUDGETS, SMALL, rule_for
from tests.strategies import Courier, RandomWord, Toy

NO = Unproven("whether this holds is open", "do something else")


@attrs.frozen
class Growing(Toy):
    """A continual child with a coin at its launch, whose claim holds from every history."""

    growth = Growth(from_any_history=True)
    coin_at_launch = True

    def step(self, state: int, query: Any, coins: Any = SYSTEM) -> tuple[int, Any]:
        return (state + 100, None) if isinstance(query, Update) else super().step(state, query)


def children(kind: Kind, column: CompositionKind) -> InteractiveMechanism[Any]:
    """Return a child of this kind; in approximate zCDP it has a coin where the column needs one."""
    if column is CompositionKind.GROWING:
        return Growing(SMALL[kind])
    coined = kind is ApproxZCDP and column is not CompositionKind.SEQUENTIAL
    return (RandomWord if coined else Toy)(SMALL[kind])


def composed(kind: Kind, rule: Any, column: CompositionKind) -> InteractiveMechanism[Any]:
    """Return the compositor whose launches a cell is about."""
    child = children(kind, column)
    if rule is Way.PARTS:
        return Parallel(Partition("k", ["a", "b"]), {"a": child, "b": child})
    if column is CompositionKind.GROWING and kind is FDP and rule is Basic:
        return ConComp([child, child])
    if rule is Way.OPTIMAL:
        return ConComp([child, child], delta="1e-6")
    if column is CompositionKind.FIXED:
        return ConComp([child, child])
    if rule is Way.ONE:
        return Universal(BUDGETS[kind])
    if rule is Way.REALISED:
        return ExPost(BUDGETS[ApproxDP], slack="1e-7") if kind is ZCDP else ExPost(BUDGETS[kind])
    made, sequential = rule_for(rule, kind), column is CompositionKind.SEQUENTIAL
    if isinstance(made, Accumulator):
        return (OdomSeq if sequential else OdomCon)(made.measure, made)
    budget = BUDGETS[kind if rule is Basic else ApproxDP]
    return (FiltSeq if sequential else FiltCon)(budget, made)


def admits(compositor: InteractiveMechanism[Any], kind: Kind, column: CompositionKind) -> bool:
    """Return whether the compositor launches such a child, and passes batches to it."""
    if column is CompositionKind.GROWING:
        return grows(compositor, kind)
    if isinstance(compositor, ConComp | Parallel):
        with suppress(ValueError):  # curves of parts
            compositor.privacy_map(1)
        _, opening = compositor.init([{"k": "a"}])
        return all(isinstance(answer, Launched) for answer in opening)
    state, _ = compositor.init(None)
    _, answer = compositor.step(state, Launch(children(kind, column)))
    return isinstance(answer, Launched) or isinstance(compositor, Universal)


def grows(compositor: InteractiveMechanism[Any], kind: Kind) -> bool:
    """Return whether the compositor passes a batch to a child."""
    fixed = isinstance(compositor, ConComp | Parallel)
    state, _ = compositor.init([{"k": "a"}])
    if not fixed:
        state, _ = compositor.step(state, Launch(children(kind, CompositionKind.GROWING)))
    state, answer = compositor.step(state, Update([{"k": "b"}]))
    assert answer is None
    if isinstance(compositor, Universal):
        return bool(compositor.step(state, "bits")[1] == 100)
    child = "a" if isinstance(compositor, Parallel) else 0
    return bool(compositor.step(state, Ask(child, "bits"))[1] == 100)


ENTRIES = [
    (place, kind, rule, column)
    for place, row in enumerate(VALIDITY)
    for kind in row.children
    for rule in row.rules
    for column in CompositionKind
]


def proven(entry: tuple[int, Kind, Any, CompositionKind]) -> bool:
    return isinstance(VALIDITY[entry[0]].cell(entry[3]), Proven)


def said(entry: Any) -> str:
    place, kind, rule, column = entry
    return f"{place}-{kind.__name__}-{getattr(rule, '__name__', rule)}-{column.value}"


PROVEN = [entry for entry in ENTRIES if proven(entry)]
LEFT = [entry for entry in PROVEN if entry[3] in COMPOSED]


def with_cell(place: int, column: CompositionKind, cell: Cell) -> tuple[Row, ...]:
    """Return the table with one cell changed."""
    changed = attrs.evolve(VALIDITY[place], **{column.value: cell})
    return (*VALIDITY[:place], changed, *VALIDITY[place + 1 :])


@pytest.mark.parametrize("entry", LEFT, ids=said)
def test_a_cell_that_names_a_theorem_admits_a_launch_and_is_quoted(entry: Any) -> None:
    """This is tried for each kind of children and each rule of the row."""
    place, kind, rule, column = entry
    compositor = composed(kind, rule, column)
    assert admits(compositor, kind, column)
    cell = VALIDITY[place].cell(column)
    assert isinstance(cell, Proven)
    assert cell.theorem in compositor.guarantee().theorem
    assert "".join(cell.theorem.split()) in "".join(explain(compositor).split())


@pytest.mark.parametrize("entry", PROVEN, ids=said)
def test_without_its_cell_a_launch_is_refused(entry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell is set to "no", or its row is removed; compositors made earlier refuse too."""
    place, kind, rule, column = entry
    before = composed(kind, rule, column)
    gone = (*VALIDITY[:place], *VALIDITY[place + 1 :])
    for table in (with_cell(place, column, NO), gone):
        monkeypatch.setattr(validity, "VALIDITY", table)
        with pytest.raises(UnprovenCompositionError):
            admits(composed(kind, rule, column), kind, column)
        with pytest.raises(UnprovenCompositionError):
            admits(before, kind, column)


@pytest.mark.parametrize("entry", PROVEN, ids=said)
def test_a_cell_decides_about_its_own_launches_only(
    entry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every other cell set to "no" its launches are admitted; with all cells, none is."""
    place, kind, rule, column = entry
    none = {each.value: NO for each in CompositionKind}
    nothing = tuple(attrs.evolve(row, **none) for row in VALIDITY)
    needed = CompositionKind if column is CompositionKind.GROWING else [column]
    alone = attrs.evolve(
        nothing[place], **{each.value: VALIDITY[place].cell(each) for each in needed}
    )
    monkeypatch.setattr(validity, "VALIDITY", (*nothing[:place], alone, *nothing[place + 1 :]))
    assert admits(composed(kind, rule, column), kind, column)
    monkeypatch.setattr(validity, "VALIDITY", nothing)
    with pytest.raises(UnprovenCompositionError, match="is open; do something else"):
        admits(composed(kind, rule, column), kind, column)


@pytest.mark.parametrize("entry", [each for each in PROVEN if each not in LEFT], ids=said)
def test_a_batch_is_passed_on_exactly_if_the_last_column_names_a_theorem(
    entry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it nothing changes, and a compositor made then keeps the data as a child."""
    place, kind, rule, column = entry
    before = composed(kind, rule, column)
    assert before.growth is not None
    assert grows(before, kind)
    monkeypatch.setattr(validity, "VALIDITY", with_cell(place, column, NO))
    with pytest.raises(UnprovenCompositionError, match="is open; do something else"):
        grows(before, kind)
    after = composed(kind, rule, column)
    assert after.growth is None
    with pytest.raises(UnprovenCompositionError, match="is open; do something else"):
        grows(after, kind)


def test_a_vouched_rule_is_for_data_that_do_not_change() -> None:
    """Its author's theorem says nothing about batches."""

    @attrs.frozen
    class Mine(Basic):
        vouched_for = "Somebody 2025"

    own = FiltCon(PureDP(1), Mine())
    assert own.growth is None
    q = Queryable(own, [1])
    with pytest.raises(UnprovenCompositionError, match="its author vouches"):
        q.feed([2])


def test_every_combination_has_one_row() -> None:
    """Otherwise another row could replace a removed one."""
    combinations = [
        (kind, rule) for _, kind, rule, column in ENTRIES if column is CompositionKind.FIXED
    ]
    assert len(set(combinations)) == len(combinations)
    # A cell names its theorem, or the open problem and an alternative, or why it is not run.
    for row in VALIDITY:
        for column in CompositionKind:
            cell = row.cell(column)
            assert isinstance(cell, Proven | Unproven | Remark)
            match cell:
                case Proven(theorem, _):
                    assert theorem
                case Unproven(problem, instead):
                    assert problem
                    assert instead
                case Remark(text):
                    assert text


def test_the_table_is_printed_for_the_readme() -> None:
    table, *notes = as_markdown().split("\n\n")
    lines = table.splitlines()
    assert len(lines) == 2 + len(VALIDITY)
    for row, line in zip(VALIDITY, lines[2:], strict=True):
        cells = [row.cell(column) for column in CompositionKind]
        assert line == str(row)
        assert ("**no**" in line) == any(isinstance(cell, Unproven) for cell in cells)
    assert [note.split(":")[0] for note in notes] == [
        "*a coin pays the delta*",
        "*the claim holds from every history*",
    ]


COINED: list[tuple[Any, bool]] = [
    (Toy(ApproxZCDP("0.1", 0)), True),
    (Toy(ApproxDP("0.1", "1e-9")), True),
    (Toy(PureDP("0.1")), True),
    (Toy(ZCDP("0.1")), True),
    (RandomWord(ApproxZCDP("0.1", "1e-9")), True),
    (Courier() @ RandomWord(ApproxZCDP("0.1", "1e-9")), True),
    (FiltCon(ApproxZCDP("0.1", "1e-9")), True),
    (Toy(ApproxZCDP("0.1", "1e-9")), False),
    (Courier() @ Toy(ApproxZCDP("0.1", "1e-9")), False),
]


@pytest.mark.parametrize(("mechanism", "coined"), COINED)
def test_where_the_delta_comes_from(mechanism: Any, coined: bool) -> None:
    """Children interleave if delta comes from (epsilon, delta)-DP or a coin, or is 0."""
    assert has_coin(mechanism, 1) is coined


@pytest.mark.parametrize(
    ("measure", "name", "loss"),
    [
        (ZCDP, "ZCDP", ZCDP),
        (RDP.at(8), "RDP.at(alpha)", RDP),
        (RDP.at(2, 8), "RDP.at(alphas)", RenyiCurve),
    ],
)
def test_kinds_of_measures(measure: Any, name: str, loss: Any) -> None:
    assert kind_name(kind_of(measure)) == name
    assert loss_class(kind_of(measure)) is loss
