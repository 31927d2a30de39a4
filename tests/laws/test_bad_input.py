"""Bad input has an error of ours: it names the argument or the remedy, and no library raises it.

Every public call and method is made with one argument that is wrong, missing, or exchanged with
another one. An error is ours if the last line that ran is a `raise` in one of the packages. What
Python says of a missing argument names it, so it may stay.
"""

import importlib
import linecache
import signal
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from fractions import Fraction
from functools import partial
from inspect import Parameter, signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from composition import FiltCon, budget
from mechanisms import (
    Count,
    DiscoveredKeys,
    Gaussian,
    GroupBy,
    Keys,
    Mean,
    SparseVector,
    Table,
    column,
    when,
)
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    InteractiveError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    SeededCoins,
)
from tests import instances
from tests.laws.hostile_curator import CURATOR

ROOT = Path(__file__).parent.parent.parent
PACKAGES = tuple(
    f"{ROOT / name}/" for name in ("queryable", "mechanisms", "composition", "curator")
)
ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError, InteractiveError)
VALUES: dict[str, Any] = {
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "-1/3": Fraction(-1, 3),
    "10**400": 10**400,
    "10**5000": 10**5000,
    "True": True,
    "1j": 1j,
    "empty text": "",
    "text": "some words",
    "bytes": b"x",
    "[]": [],
    "{}": {},
    "()": (),
    "[None]": [None],
    "[1, 'a']": [1, "a"],
    "(1, 2, 3)": (1, 2, 3),
    "{'a': None}": {"a": None},
    "object": object(),
    "class": Count,
    "function": len,
    "array": np.array([1.0, np.nan]),
    "0-d array": np.array(1),
    "NaT": np.datetime64("NaT"),
    "loss": ZCDP(1),
    "mechanism": Gaussian(Count(), scale=3),
    "statistic": Mean("a", 0, 1),
    "column": column("a"),
    "predicate": column("a") > 3,
    "slice": slice(None),
}
CODE = {"function", "adversary", "encode", "kind", "progress", "run", "divergence", "key"}
DATA = {"dataset", "sample", "x", "x_prime", "pairs"}
"""Arguments that are the user's own code or data, whose errors are shown as they are."""
SHOWN = {("queryable.rehearse", "mechanism")}
"""What runs on public sample data: its own errors are shown."""
SECONDS = 6


def ours(error: BaseException) -> bool:
    """Whether the error was raised by a `raise` of the packages, and says something."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    line = linecache.getline(file, trace.tb_lineno).strip()
    return file.startswith(PACKAGES) and line.startswith("raise") and len(str(error)) > 10


ROWS = {"a": np.arange(300), "b": np.arange(300) % 3, "s": np.array(["u", "v"])[np.arange(300) % 2]}
TABLE = Table(ROWS)
PEOPLE = Table(ROWS, privacy_unit="b", max_rows=2)
GROUPED = TABLE.group_by({"s": ["u", "v"]})
HANDLE = Queryable(FiltCon(ZCDP(10**6)), TABLE, coins=SeededCoins(1), allow_seeded=True)
WITH_DELTA = Queryable(
    budget(epsilon=9, delta="1e-3"), TABLE, coins=SeededCoins(1), allow_seeded=True
)
FOUND = WITH_DELTA.release(DiscoveredKeys("s"), loss=ApproxDP(4, "1e-4"))
COUNT = HANDLE.release(TABLE.count(), within=5)
COUNTS = HANDLE.release(GROUPED.count(), within=5)
BY_HAND = HANDLE.launch(Gaussian(Count(), scale=3))
VECTOR = HANDLE.launch(Gaussian(GROUPED.count(), scale=3))
BOUNDS = {"a": (0, 300), "b": (0, 2)}
A = column("a")
STATISTICS: dict[str, dict[str, Any]] = {
    "count": {"where": A > 3},
    "sum": {"column": "a", "lower": 0, "upper": 9, "where": A > 3, "unit": 1},
    "mean": {"column": "a", "lower": 0, "upper": 9, "where": A > 3, "unit": 1},
    "variance": {"column": "a", "lower": 0, "upper": 9, "where": A > 3, "unit": 1},
    "std": {"column": "a", "lower": 0, "upper": 9, "where": A > 3, "unit": 1},
    "share": {"condition": A > 3, "where": A > 1},
    "histogram": {"column": "a", "bins": 4, "lower": 0, "upper": 9, "where": A > 1},
    "quantile": {"column": "a", "level": "1/2", "grid": [1, 2], "where": A > 1},
    "median": {"column": "a", "grid": [1, 2], "where": A > 1},
    "covariance": {"x": "a", "y": "b", "bounds": BOUNDS, "where": A > 1},
    "correlation": {"x": "a", "y": "b", "bounds": BOUNDS, "where": A > 1},
    "group_by": {"keys": {"s": ["u"]}},
}
"""Methods of a table and of its groups, with arguments of a valid call."""
METHODS: tuple[tuple[str, Any, dict[str, dict[str, Any]]], ...] = (
    ("table", TABLE, STATISTICS),
    (
        "table",
        TABLE,
        {
            "top": {"column": "s", "k": 1, "categories": ["u", "v"], "where": A > 1},
            "discovered_keys": {"columns": "s", "where": A > 1},
            "kind": {"column": "a"},
            "check": {"statistic": Count()},
            "regress": {"y": "a", "x": "b", "bounds": BOUNDS, "where": A > 1},
        },
    ),
    (
        "people",
        PEOPLE,
        {
            "count_units": {"where": A > 1},
            "rows_per_unit": {"limits": [1, 2], "where": A > 1},
            "discovered_keys": {"columns": "s", "max_keys": 1},
        },
    ),
    ("grouped", GROUPED, STATISTICS),
    (
        "handle",
        HANDLE,
        {
            "release": {
                "statistic": Count(),
                "loss": ZCDP(1),
                "within": None,
                "confidence": 0.9,
                "name": None,
                "blocks": None,
            },
            "release_many": {
                "statistics": [Count()],
                "within": 3,
                "confidence": 0.9,
                "names": None,
            },
            "launch": {"mechanism": Gaussian(Count(), rho=1), "d_out": ZCDP(1), "name": None},
            "launch_many": {"mechanisms": [Gaussian(Count(), rho=1)], "names": None},
            "ask": {"query": PrivacyLossQuery()},
            "ask_many": {"queries": [PrivacyLossQuery()]},
            "privacy_loss": {"d_in": 1},
            "can_afford": {"mechanism": Gaussian(Count(), rho=1), "d_out": None, "blocks": None},
        },
    ),
    (
        "number",
        COUNT,
        {
            "interval": {"confidence": 0.9, "simultaneous": False, "fixed_in_advance": False},
            "to_pandas": {"confidence": 0.9},
            "to_polars": {"confidence": 0.9},
            "to_arrow": {"confidence": 0.9},
        },
    ),
    (
        "numbers",
        COUNTS,
        {
            "interval": {"confidence": 0.9, "simultaneous": True},
            "__getitem__": {"keys": "u"},
            "to_pandas": {"confidence": 0.9},
        },
    ),
    ("by hand", BY_HAND, {"interval": {"confidence": 0.9}}),
    ("by hand", VECTOR, {"interval": {"confidence": 0.9, "simultaneous": True}}),
    (
        "keys",
        Keys,
        {
            "bins": {"column": "a", "edges": [1, 2], "lower": None, "upper": None},
            "years": {"column": "a", "first": 2020, "last": 2021},
            "months": {"column": "a", "first": "2020-01", "last": "2020-02"},
            "weeks": {"column": "a", "first": "2020-01-01", "last": "2020-02-01"},
            "of": {"public": {"s": ["u"]}, "names": "s"},
        },
    ),
    (
        "column",
        A,
        {
            "is_in": {"values": [1]},
            "contains": {"text": "x"},
            "starts_with": {"text": "x"},
            "ends_with": {"text": "x"},
            "like": {"pattern": "x%"},
            "truncate": {"unit": "month"},
            "cast": {"to": "integer"},
        },
    ),
    ("cases", when(A > 1), {"then": {"value": 1}}),
    ("cases", when(A > 1).then(1), {"otherwise": {"value": 1}, "when": {"predicate": A > 2}}),
    ("loss", ZCDP(1), {"to": {"measure": ApproxDP, "delta": "1e-6"}, "group": {"size": 2}}),
    ("losses", ZCDP, {"within": {"budget": ApproxDP(1, "1e-6")}}),
    ("losses", RDP, {"at": {"alpha": 2}}),
    ("filter", FiltCon(ZCDP(1)), {"privacy_map": {"d_in": 1}}),
    (
        "mechanism",
        Gaussian(Count(), rho=1),
        {
            "privacy_map": {"d_in": 1, "measure": ZCDP},
        },
    ),
    (
        "table",
        Table,
        {"__call__": {"source": ROWS, "privacy_unit": "a", "max_rows": 1, "types": {}}},
    ),
)
"""By whose methods they are: arguments of a valid call."""


def calls() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Every call with its name and the arguments of a valid one; nobody constructs errors."""
    for module, found in {**instances.CALLS, "curator": CURATOR}.items():
        for name, right in found.items():
            call = getattr(importlib.import_module(module), name)
            if not (isinstance(call, type) and issubclass(call, BaseException)):
                yield f"{module}.{name}", call, right
    for whose, value, methods in METHODS:
        for name, right in methods.items():
            yield f"{whose}.{name}", value if name == "__call__" else getattr(value, name), right


CALLS = [*calls()]


def passed(call: Callable[..., Any], given: dict[str, Any]) -> Callable[[], Any]:
    """The call with these arguments; those before a starred one are passed by their position."""
    kinds = {name: each.kind for name, each in signature(call).parameters.items()}
    starred = next((n for n, kind in kinds.items() if kind is Parameter.VAR_POSITIONAL), None)
    if starred not in given:
        return lambda: call(**given)
    before = [*kinds][: [*kinds].index(starred) + 1]
    placed = [given[name] for name in before if name in given]
    return lambda: call(*placed, **{k: v for k, v in given.items() if k not in before})


def wrong(
    name: str, call: Callable[..., Any], right: dict[str, Any]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The call with one argument that is wrong, with one missing, and with two exchanged."""
    tried = [each for each in right if each not in CODE | DATA and (name, each) not in SHOWN]
    for each in tried:
        for label, value in VALUES.items():
            yield f"{each} is {label}", passed(call, {**right, each: value})
        yield f"{each} is missing", passed(call, {k: v for k, v in right.items() if k != each})
    for one, other in pairwise(tried):
        exchanged = {**right, one: right[other], other: right[one]}
        yield f"{one} for {other}", passed(call, exchanged)


class TooLongError(BaseException):
    """A call took too long."""


def complaint(label: str, call: Callable[[], Any]) -> str:
    """What is wrong with the error of a call; empty if it has none, or one of ours."""

    def stop(*_: object) -> None:
        raise TooLongError

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except ERRORS as error:
        named = label.endswith(" is missing") and repr(label.split(maxsplit=1)[0]) in str(error)
        return "" if named or ours(error) else f"{label}: {type(error).__name__}: {error}"
    except BaseException as error:
        return f"{label}: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
    return ""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some texts are names of files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "call", "right"), CALLS, ids=[name for name, *_ in CALLS])
def test_every_bad_argument(name: str, call: Callable[..., Any], right: dict[str, Any]) -> None:
    found = [complaint(*each) for each in wrong(name, call, right)]
    assert [each for each in found if each] == []


def test_some_bad_arguments_of_every_call() -> None:
    """Every seventh of them; `-m slow` tries all."""
    every = [(name, *each) for name, call, right in CALLS for each in wrong(name, call, right)]
    found = {name: complaint(label, call) for name, label, call in every[::7]}
    assert {name: each for name, each in found.items() if each} == {}
    assert len(every) > 20_000


@pytest.mark.parametrize(("name", "call", "right"), CALLS, ids=[name for name, *_ in CALLS])
def test_the_arguments_are_those_of_a_valid_call(
    name: str, call: Callable[..., Any], right: dict[str, Any]
) -> None:
    passed(call, right)()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ZCDP(1) / 30, "losses are only added and compared"),
        (lambda: 2 * PureDP(1), "losses are only added and compared"),
        (lambda: ZCDP(1) - ZCDP(1), "losses are only added and compared"),
        (lambda: ZCDP(1) + PureDP(1), "convert with"),
        (lambda: fresh().ledger()[-1], "no rows: nothing has been launched"),
        (lambda: HANDLE.ledger()[10**6], "there is no row 1000000"),
        (lambda: HANDLE.ledger()["a"], "index is 'a'; it should be an integer"),  # type: ignore[call-overload]
        (lambda: fresh().children[3], "there is no child 3; children by id: there are none yet"),
        (lambda: TABLE.top("s", 1, FOUND), "for .key. in found.axes"),
        (lambda: COUNTS["U"], "they are 'u', 'v'"),
        (lambda: TABLE.mean("a", 100, 0), "give the lower first"),
        *(
            (partial(PEOPLE.per_unit, how, "a", 10, 0), "give the lower first")
            for how in ("sum", "mean", "min", "max")
        ),
        (lambda: PEOPLE.per_unit("sum"), "name a column"),
        (
            lambda: PEOPLE.per_unit("sum", "a"),
            "lower is None; it should be a finite number: an int",
        ),
        (
            lambda: TABLE.histogram("a", bins=2, lower=date(2024, 1, 1), upper=3),
            "it should be a finite number: an int",
        ),
        (lambda: TABLE.histogram("a", bins=2, lower="-x", upper=3), "a finite number: an int"),
        (
            lambda: TABLE.histogram("a", bins=3, lower=-1e308, upper=10**309),
            "size should be below 1e308",
        ),
        (lambda: TABLE.group_by("a", "s"), "keys should be like"),
        (lambda: TABLE.group_by(("a", "s")), "keys should be like"),
        (lambda: TABLE.group_by((A > 1, [True, False])), r"when\(a > 1\).then"),
        (lambda: GroupBy((A > 1, [True, False]), Count()), r"when\(a > 1\).then"),
        (lambda: COUNTS.plot(0.9), r"write plot\(confidence="),
        (lambda: A > 1 and A < 3, "for and, or, not"),
        (lambda: A.isin([1]), "write .is_in"),
        (lambda: bool(COUNT), "compare with a number"),
        (lambda: COUNTS.interval(simultaneous="yes"), "simultaneous is 'yes'; it should be True"),  # type: ignore[arg-type]
        (lambda: COUNTS > 3, "compare .estimate"),
        (lambda: float(COUNTS), "take .estimate"),
        (lambda: COUNT + COUNTS["u"] > "a", "not supported"),
        (TABLE.count_units, "privacy_unit="),
        (lambda: HANDLE.release(TABLE.mean("a", 0, 9), within=3), "give loss="),
        (lambda: SparseVector(3, 1) @ FiltCon(ZCDP(1)), "unsupported"),
    ],
)
def test_what_people_write_is_answered_with_a_remedy(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ERRORS, match=says):
        call()


def fresh() -> Queryable:
    """A handle of which nothing was asked."""
    return Queryable(FiltCon(ZCDP(1)), {"a": [1]})


def test_errors_of_libraries_are_noticed() -> None:
    """Of numpy, of Python in one of our lines, and one that says nothing."""

    def bare() -> None:
        raise ValueError("x")

    for call in (lambda: np.zeros(3)[7], lambda: Keys.of(Lying(), "a"), bare):
        assert complaint("x is 1", call)
    assert not complaint("x is 1", lambda: TABLE.mean("a", 1, 0))
    assert complaint("where is missing", lambda: TABLE.mean("a"))  # it names others
    assert not complaint("lower is missing", lambda: TABLE.mean("a", upper=3))


class Lying:
    """A table whose columns fail."""

    @property
    def columns(self) -> list[str]:
        return ["a"]

    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("its own")
