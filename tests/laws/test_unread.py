"""No compositor reads data: it does all but run leaves on data that raise at any access."""

from typing import Any

import pytest

import composition
from composition import (
    AtMostADay,
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
from composition.compositors.individual import individual
from mechanisms import Count, Gaussian
from queryable import (
    ZCDP,
    CanAfford,
    Failed,
    InteractiveMechanism,
    Launch,
    MechanismFault,
    Postprocessed,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
)
from queryable.audit.views.scripts import snapshot
from queryable.conversation import LOST, Moved, Ready, leaves
from queryable.data.growing import Grown
from queryable.messages import Answer, MeasureQuery, Query, RemainingQuery
from tests.instances import instance
from tests.strategies import RandomBits, Toy


def _read(*_: Any) -> Any:
    raise AssertionError("a compositor reads data")


class Unread(list[Any]):
    """Records of a public form, a list, of which every access raises."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":  # by which `isinstance` tells forms apart
            return Unread
        if not hasattr(list, name):  # no list has it, whatever its records are
            raise AttributeError(name)
        return _read(self)

    __len__ = __iter__ = __getitem__ = __contains__ = __eq__ = __ne__ = _read
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __mul__ = __rmul__ = __reversed__ = _read
    __repr__ = __str__ = __reduce_ex__ = __reduce__ = __copy__ = __deepcopy__ = _read
    __hash__ = _read  # type: ignore[assignment]


def parity(record: Any) -> str:
    """The part of a record."""
    return "even" if record % 2 == 0 else "odd"


PARTS = Partition(parity, ["even", "odd"])
COMPOSITORS = [
    each
    for name in composition.__all__
    if isinstance(each := getattr(composition, name), type)
    and issubclass(each, InteractiveMechanism)
    and each.converses
    and each not in (AtMostADay, Postprocessed)
]


def made(kind: type[Any]) -> Any:
    """The instance of a compositor; that of `Parallel` would need data with columns."""
    if kind is Parallel:
        return Parallel(PARTS, {"even": Toy(), "odd": FiltCon(PureDP(1))})
    if kind is ConComp:
        return ConComp([Toy(), RandomBits()])
    return instance(kind)


SOME = PureDP("1/9")
QUERIES: tuple[Query, ...] = (
    MeasureQuery(),
    RemainingQuery(),
    PrivacyLossQuery(1),
    CanAfford(Launch(Toy(SOME))),
    Launch(Toy(SOME)),
    Launch(Gaussian(Count(), rho="1/9")),
    Launch(FiltCon(ZCDP("1/9"))),
    Launch(Parallel(PARTS, {"even": Toy(SOME)})),
    PrivacyLossQuery(1),
)


def test_all_compositors_are_walked() -> None:
    named = {ConComp, Filt, FiltCon, FiltSeq, ExPost, Individual, Odom, OdomCon, OdomSeq, Parallel}
    assert named | {Blocks, Universal} <= set(COMPOSITORS)


def steps(mechanism: InteractiveMechanism[Any], dataset: Any) -> list[Answer]:
    """What it answers to all queries; one that it does not know changes nothing."""
    state, opening = mechanism.init(dataset, SeededCoins(1))
    answers = [opening]
    for place, query in enumerate(QUERIES):
        try:
            state, answer = mechanism.step(state, query, SeededCoins(place))
        except (QueryError, MechanismFault) as error:
            answer = type(error), str(error)
        answers.append(answer)
        assert repr(state)
    return answers


@pytest.mark.parametrize("kind", COMPOSITORS, ids=lambda kind: kind.__name__)
def test_a_compositor_reads_nothing(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves fail before they run; what is answered is what it answers on any data."""

    def failed(step: Any, *_: Any) -> Any:
        """What came of a leaf that failed; values are made when they are needed."""
        return (Moved(None, None), None) if type(step) is Ready else (LOST, ValueError())

    monkeypatch.setattr(leaves, "read", failed)
    mechanism = made(kind)
    answers = steps(mechanism, Unread())
    assert snapshot(answers) == snapshot(steps(mechanism, [1, 2, 3, 4]))
    if kind is Parallel:
        assert answers[0][0] == Failed()  # the other part is a filter, which reads nothing


def test_a_filter_over_closed_blocks_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its start is announced to no journal, so that nothing may be read for it."""
    reads = watched(monkeypatch, Grown, "over")
    q = Queryable(Blocks(FiltCon(PureDP(1))), [])
    q.feed([1, 2, 3], block="monday")
    q.feed.close("monday")
    inner = q.launch_over(FiltCon(PureDP("1/2")), ["monday"])
    assert reads == []
    inner.launch(Toy(SOME))
    inner.launch(Toy(SOME))
    assert len(reads) == 1


def test_a_filter_in_individual_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records pay for it when something in it, or a later launch, first needs them."""
    reads = watched(monkeypatch, individual, "paid_for")
    q = Queryable(Individual(1), [1, 2, 3])
    inner = q.launch(FiltCon(ZCDP("1/2")))
    assert reads == []
    q.launch(Gaussian(Count(), rho="1/9"))
    assert len(reads) == 2
    inner.launch(Gaussian(Count(), rho="1/9"))
    assert len(reads) == 2


def watched(patch: pytest.MonkeyPatch, module: Any, name: str) -> list[object]:
    """The calls of a function that reads."""
    calls: list[object] = []
    real = getattr(module, name)

    def noted(*args: Any) -> Any:
        calls.append(args)
        return real(*args)

    patch.setattr(module, name, noted)
    return calls
