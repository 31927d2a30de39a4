"""What does not fit the data is refused before the charge, wherever a mechanism holds it.

`places` finds every statistic in the examples of the laws and of the codec by a walk of its own.
Each is replaced in turn by one of a column that the data do not have. At 1b177ec only statistics
in fields of the launched mechanism itself were checked: what `ConComp`, `Parallel`, `Universal`, a
person or a list of parts held was charged, and then failed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import polars as pl
import pytest

import composition as c
import mechanisms as m
import queryable as q
from mechanisms import column
from mechanisms.synthetic.scores import ComparedMarginal, Distances
from mechanisms.tables.requests.request import Categories
from queryable import (
    ZCDP,
    InteractiveMechanism,
    Launch,
    PersonInTheMiddle,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
)
from queryable.messages import AskMany, LaunchMany
from queryable.statistics import Checked, Releasable
from tests import encoded
from tests.laws import subjects
from tests.strategies import Courier

ABSENT = column("absent") > 0
ROWS = {"age": [20, 30, 40, 50], "city": ["a", "b", "a", "c"], "who": [1, 1, 2, 3]}
ARRAYS = {name: np.array(cells) for name, cells in ROWS.items()}
RECORDS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: ARRAYS,
    "lists": lambda: ROWS,
    "structured": lambda: np.rec.fromarrays(list(ARRAYS.values()), names=list(ARRAYS)),
    "polars": lambda: pl.DataFrame(ROWS),
    "table": lambda: m.Table(ROWS),
}
UNITS = {"units": lambda: m.Table(ROWS, privacy_unit="who", max_rows=2)}
Path = tuple[Any, ...]
pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def children(value: Any) -> Iterator[tuple[Any, Any]]:
    """What a value is made of, and where."""
    if attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            if field.init:
                yield field, getattr(value, field.name)
    elif isinstance(value, tuple | list):
        yield from enumerate(value)
    elif isinstance(value, dict | MappingProxyType):
        yield from value.items()


def replaced(value: Any, path: Path, new: Any) -> Any:
    """The value with something else at the end of a path."""
    if not path:
        return new
    [first, *rest] = path
    inner = dict(children(value))[first]
    other = replaced(inner, tuple(rest), new)
    if attrs.has(type(value)):
        return attrs.evolve(value, **{first.alias: other})
    if isinstance(value, tuple | list):
        return type(value)([other if place == first else each for place, each in enumerate(value)])
    return {**value, first: other}


def of_an_absent_column(statistic: Any) -> Any:
    """A statistic of the same shape that reads a column which is not there; None if it cannot."""
    if isinstance(statistic, Statistic):
        if statistic.shape is None:
            return m.Count(ABSENT)
        return m.Histogram("absent", list(range(*statistic.shape)))
    if "where" in {each.name for each in attrs.fields(type(statistic))}:
        return attrs.evolve(statistic, where=ABSENT)
    return None


def places(value: Any) -> Iterator[tuple[Path, Any]]:
    """Where a value holds a statistic, or keys of rows, and what may be there instead."""
    if isinstance(value, Categories):
        yield (), attrs.evolve(value, column="absent")
    if isinstance(value, Checked | Releasable) and attrs.has(type(value)):
        other = of_an_absent_column(value)
        if other is not None:
            yield (), other
    for where, inner in children(value):
        yield from (((where, *path), other) for path, other in places(inner))


GAUSSIAN = m.Gaussian(m.Count(), rho="1/10")
PARTS = c.Partition("city", ["a", "b"])
MORE = (
    m.Top("city", 1, ["a", "b"]).measurement(ZCDP, 1, loss=ZCDP("1/9")),
    m.Quantiles("age", "1/2", [1, 20, 30]).measurement(ZCDP, 1, loss=ZCDP("1/9")),
    m.Synthetic([{"city": ["a", "b"]}, {"age": [20]}]),
    m.ExponentialMechanism(
        Distances((ComparedMarginal(encoded.CITIES, np.array([64, 0]), 3, 5),)), 1
    ),
    m.Best([m.Gaussian(m.Count(), scale=9), GAUSSIAN], "largest", m.Poisson(3)),
    m.Scripted(
        c.FiltCon(ZCDP(1)),
        [
            Launch(GAUSSIAN),
            LaunchMany([Launch(c.ConComp([GAUSSIAN])), Launch(m.SparseVector(3, 1))]),
            q.Ask(3, m.Count()),
            q.Ask(3, AskMany([m.Count(), m.Count()])),
            q.CanAfford(Launch(GAUSSIAN)),
        ],
    ),
    c.Parallel(PARTS, {"a": c.ConComp([GAUSSIAN, GAUSSIAN]), "b": GAUSSIAN}),
    c.ConComp([Courier() @ c.ConComp([GAUSSIAN]), m.TreeCounter(m.Count(), rho=1)]),
)


def units_of(value: Any) -> set[Any]:
    """The privacy units that are named in a value."""
    found = {value} if isinstance(value, m.PrivacyUnit) else set[Any]()
    return found.union(*(units_of(each) for _, each in children(value)))


@cache
def opened(name: str) -> Any:
    """Data of a kind."""
    return (RECORDS | UNITS)[name]()


def over(value: Any) -> list[str]:
    """The kinds of data that an example is about."""
    return list(UNITS if units_of(value) else RECORDS)


def broken(kind: type) -> dict[str, Any]:
    """Examples of a kind, each with a statistic of an absent column in one place."""
    examples = [
        *(each.mechanism for each in subjects.SUBJECTS),
        *encoded.OTHERS,
        *(mechanism for mechanism, _ in encoded.SCRIPTS),
        *MORE,
    ]
    found = dict[str, Any]()
    for example in examples:
        if isinstance(example, kind):
            for path, other in places(example):
                if "axes" in {getattr(each, "name", each) for each in path}:
                    continue  # of `Frugal`: it asks of a column only what is asked of itself
                where = ".".join(getattr(each, "name", str(each)) for each in path)
                name = f"{type(example).__name__} {where} {type(other).__name__}"
                found.setdefault(name, replaced(example, path, other))
    return found


MECHANISMS = broken(InteractiveMechanism)
PERSONS = {name: each @ c.FiltCon(ZCDP(1)) for name, each in broken(PersonInTheMiddle).items()}
BROKEN = MECHANISMS | PERSONS


HOLD_NONE = {
    *("AtMostADay", "Blocks", "BrownianNoiseReduction", "Doubling", "ExPost", "Filt", "FiltCon"),
    "FirstGood",
    *("FiltSeq", "Individual", "Lost", "Odom", "OdomCon", "OdomSeq", "OpenDPMeasurement"),
    *("RandomizedResponse", "SparseVector", "Universal"),
}
"""What holds no statistic of a column: it is launched in them, asked, or reads values itself."""


def concrete(kind: type) -> Iterator[type]:
    """The classes of the packages that can be made."""
    for each in kind.__subclasses__():
        yield from concrete(each)
        own = each.__module__.partition(".")[0] in ("mechanisms", "composition", "curator")
        if own and not getattr(each, "__abstractmethods__", None) and each.__name__[0] != "_":
            yield each


def test_every_class_has_an_example() -> None:
    """A new mechanism or person needs one, with each place in which it holds a statistic."""
    kinds = {*concrete(InteractiveMechanism), *concrete(PersonInTheMiddle), q.Postprocessed}
    shown = {name.partition(" ")[0] for name in BROKEN}
    assert {each.__name__ for each in kinds} - HOLD_NONE == shown - HOLD_NONE
    assert len(BROKEN) >= 40


def assert_refused(handle: Queryable, act: Callable[[], Any]) -> None:
    """It is an error that names the column; nothing is charged, told or changed."""
    root = handle._root
    before = root.state, len(handle.view), len(handle.ledger())
    with pytest.raises(QueryError, match=r"absent|answers about batches"):
        act()
    assert root.state is before[0]
    assert (len(handle.view), len(handle.ledger())) == before[1:]


COMPOSITORS: dict[str, Any] = {
    "FiltCon": c.FiltCon(ZCDP(1)),
    "FiltSeq": c.FiltSeq(ZCDP(1)),
    "Filt": c.Filt(ZCDP(1)),
    "OdomCon": c.OdomCon(ZCDP),
    "OdomSeq": c.OdomSeq(ZCDP),
    "Odom": c.Odom(ZCDP),
    "ExPost": c.ExPost(PureDP(1)),
    "Individual": c.Individual(1),
    "Courier": Courier() @ c.FiltCon(ZCDP(1)),
    "Universal": c.Universal(ZCDP(1)),
}


@cache
def running(compositor: str, data: str) -> Queryable:
    """A compositor over data."""
    return Queryable(COMPOSITORS[compositor], opened(data))


def nested(mechanism: Any, data: str) -> Iterator[Any]:
    """A mechanism in everything that can hold it."""
    yield mechanism
    yield c.ConComp([GAUSSIAN, mechanism])
    yield Courier() @ c.ConComp([Courier() @ c.ConComp([mechanism])])
    yield m.Scripted(c.FiltCon(ZCDP(1)), [Launch(GAUSSIAN), Launch(mechanism)])
    if data != "units":
        yield c.Parallel(PARTS, {"a": GAUSSIAN, "b": mechanism})
    with suppress(TypeError, ValueError):  # what `Best` does not take
        yield m.Best(mechanism, lambda _: 0, m.Poisson(1))


def assert_nothing_is_launched(mechanism: Any, data: str, compositors: Sequence[str]) -> None:
    """As a root, and in compositors, by itself and in everything that can hold it."""
    for each in nested(mechanism, data):
        with pytest.raises(QueryError, match="absent"):
            Queryable(each, opened(data))
        for compositor in compositors:
            handle = running(compositor, data)
            assert_refused(handle, partial(handle.launch, each))
            if compositor == "FiltCon":
                assert_refused(handle, partial(handle.can_afford, each))
                assert_refused(handle, partial(handle.launch_many, [GAUSSIAN, each]))


def test_nothing_is_launched() -> None:
    """Each example over one kind of data, in one compositor."""
    for place, mechanism in enumerate(BROKEN.values()):
        data, compositors = over(mechanism), list(COMPOSITORS)
        compositor = compositors[place % len(compositors)]
        assert_nothing_is_launched(mechanism, data[place % len(data)], [compositor])


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_nothing_is_launched_in_any_compositor(name: str) -> None:
    for data in over(BROKEN[name]):
        assert_nothing_is_launched(BROKEN[name], data, list(COMPOSITORS))
