"""Invalid and malicious values, which a public function must reject with a clear error."""

from collections import UserDict
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from mechanisms import Count, Gaussian, RandomizedResponse, Refine, SparseVector, column
from queryable import FDP, GDP, RDP, SYSTEM, ZCDP, ApproxDP, Ask, Launch, PureDP
from queryable.losses import RenyiCurve
from tests.strategies import Toy


class HostileError(Exception):
    """Raised by hostile objects. The library never raises it, so a leak of it is visible."""


def _refuse(*arguments: object, **named: object) -> Any:
    raise HostileError("hostile")


def _raising(*names: str) -> Any:
    """Return an object whose methods of these names raise."""
    return type("Raising" + "".join(names).replace("_", ""), (), dict.fromkeys(names, _refuse))()


class LyingInt(int):
    """An integer whose comparisons are all true."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __lt__(self, other: object) -> bool:
        return True

    __le__ = __gt__ = __ge__ = __lt__

    def __index__(self) -> Any:
        return "three"  # noqa: PLE0305

    def __repr__(self) -> str:
        raise HostileError("hostile")


class LyingText(str):
    """A text whose comparison, hash, length and repr contradict its characters."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)

    def strip(self, *arguments: Any) -> Any:
        return None

    def __len__(self) -> int:
        return 7

    def __repr__(self) -> str:
        raise HostileError("hostile")


class LyingFraction(Fraction):
    """A Fraction that compares as smaller than everything and has a text as numerator."""

    def __le__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        raise HostileError("hostile")

    @property
    def numerator(self) -> Any:
        return "one"


class LyingFloat(float):
    """A float whose repr is not a number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "1/0"


class LyingLoss(PureDP):
    """A loss that claims to be within every other loss."""

    def implies(self, other: Any) -> bool:
        return True


class LyingList(list[Any]):
    """A list that reports a wrong length and cannot be iterated."""

    def __len__(self) -> int:
        return 10**4

    def __iter__(self) -> Iterator[Any]:
        raise HostileError("hostile")


class EverythingDict(UserDict[Any, Any]):
    """A mapping that contains every key."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: object) -> Any:
        return self


class Chameleon:
    """An object that returns itself for every attribute and every call."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *arguments: object, **named: object) -> Any:
        return self


class Broken:
    """An object that raises an error other than AttributeError for every attribute."""

    def __getattr__(self, name: str) -> Any:
        raise HostileError("hostile")


def _inside_itself() -> tuple[list[Any], dict[Any, Any]]:
    inner: list[Any] = []
    inner.append(inner)
    outer: dict[Any, Any] = {}
    outer["x"] = outer
    return inner, outer


def _deep(depth: int) -> Any:
    nested: Any = ()
    for _ in range(depth):
        nested = (nested,)
    return nested


_LIST, _DICT = _inside_itself()

MAKERS: dict[str, Callable[[], Any]] = {
    # integers
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "-2**63": lambda: -(2**63),
    "2**64": lambda: 2**64,
    "10**57": lambda: 10**57,
    "10**400": lambda: 10**400,
    "10**401": lambda: 10**401,
    "10**5000": lambda: 10**5000,
    "-10**5000": lambda: -(10**5000),
    "True": lambda: True,
    "False": lambda: False,
    # floats
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "-0.0": lambda: -0.0,
    "5e-324": lambda: 5e-324,
    "1e-300": lambda: 1e-300,
    "1e308": lambda: 1e308,
    "0.1": lambda: 0.1,
    "1+1j": lambda: 1 + 1j,
    # decimals and fractions
    "Decimal sNaN": lambda: Decimal("sNaN"),
    "Decimal NaN": lambda: Decimal("NaN"),
    "Decimal -inf": lambda: Decimal("-Infinity"),
    "Decimal 1e-400": lambda: Decimal("1e-400"),
    "Decimal 1e999999": lambda: Decimal("1e999999"),
    "Decimal -0": lambda: Decimal("-0"),
    "huge Fraction": lambda: Fraction(10**5000),
    "tiny Fraction": lambda: Fraction(1, 10**5000),
    "negative Fraction": lambda: Fraction(-1, 3),
    "long Fraction": lambda: Fraction(10**399 + 1, 10**399 + 3),
    # text
    "empty text": lambda: "",
    "NUL": lambda: "\0",
    "surrogate": lambda: "\ud800",
    "text 1e-400": lambda: "1e-400",
    "text 1e401": lambda: "1e401",
    "text 1/0": lambda: "1/0",
    "text nan": lambda: "nan",
    "text -1": lambda: "-1",
    "text of digits": lambda: "9" * 5000,
    "long text": lambda: "x" * 10**6,
    "text 1/2": lambda: "1/2",
    "other digits": lambda: "\u0661\u0662",
    "spaces": lambda: " \n\t",
    "bytes": lambda: b"1",
    "bytearray": lambda: bytearray(b"x"),
    "memoryview": lambda: memoryview(b"x"),
    # None and other singletons
    "None": lambda: None,
    "NotImplemented": lambda: NotImplemented,
    "Ellipsis": lambda: ...,
    "object": object,
    # numpy
    "np.bool_": lambda: np.bool_(True),
    "np.int8": lambda: np.int8(-128),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.float16": lambda: np.float16("nan"),
    "np.float32": lambda: np.float32(1e-45),
    "np.longdouble": lambda: np.longdouble("1e-4000"),
    "np.complex128": lambda: np.complex128(1j),
    "np.datetime64": lambda: np.datetime64("NaT"),
    "np.str_": lambda: np.str_("1"),
    "np.void": lambda: np.zeros((), dtype=[("a", "i4")])[()],
    "0-d array": lambda: np.array(1),
    "empty array": lambda: np.array([]),
    "array of objects": lambda: np.array([None, "x", 2**70], dtype=object),
    "array of nan": lambda: np.full((2, 2), np.nan),
    "array of text": lambda: np.array(["a", "\0"]),
    "array of bool": lambda: np.array([True, False]),
    "array of int8": lambda: np.array([-128, 127], dtype=np.int8),
    "array of dates": lambda: np.array(["NaT"], dtype="datetime64[ns]"),
    "structured array": lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "O")]),
    "masked array": lambda: np.ma.array([1, 2], mask=[True, False]),
    # containers
    "empty list": list,
    "empty tuple": tuple,
    "empty dict": dict,
    "empty set": set,
    "list in itself": lambda: _LIST,
    "dict in itself": lambda: _DICT,
    "deep tuple": lambda: _deep(5000),
    "list of None": lambda: [None],
    "list of nan": lambda: [float("nan"), 1],
    "list of mixed": lambda: [1, "a", 2.5, None],
    "huge range": lambda: range(2**62),
    "dict of None": lambda: {None: None},
    "dict of nan": lambda: {float("nan"): 1},
    "set of text": lambda: {"a", "b"},
    "iterator": lambda: iter([1, 2]),
    "raising generator": lambda: (_refuse() for _ in range(1)),
    "every key": EverythingDict,
    "lying list": lambda: LyingList([1, 2]),
    "slice": lambda: slice(None),
    # code
    "class": lambda: Toy,
    "type": lambda: type,
    "builtin": lambda: len,
    "lambda": lambda: lambda *_, **__: None,
    "raising function": lambda: _refuse,
    "module": lambda: np,
    "exception": lambda: ValueError("x"),
    "namespace": lambda: SimpleNamespace(parts=None, measure=None),
    # objects that raise or give false answers
    "raising repr": lambda: _raising("__repr__", "__str__"),
    "raising eq": lambda: _raising("__eq__"),
    "raising hash": lambda: _raising("__hash__"),
    "raising bool": lambda: _raising("__bool__", "__len__"),
    "raising float": lambda: _raising("__float__", "__int__"),
    "raising index": lambda: _raising("__index__"),
    "raising iter": lambda: _raising("__iter__", "__getitem__"),
    "raising call": lambda: _raising("__call__"),
    "raising getattr": Broken,
    "every attribute": Chameleon,
    "lying int": lambda: LyingInt(3),
    "lying text": lambda: LyingText("1"),
    "lying Fraction": lambda: LyingFraction(1, 10),
    "lying float": lambda: LyingFloat(0.5),
    "lying loss": lambda: LyingLoss(1),
    # values of the library in the wrong place
    "PureDP": lambda: PureDP(1),
    "PureDP huge": lambda: PureDP(Fraction(10**5000)),
    "ApproxDP": lambda: ApproxDP(1, "1e-6"),
    "ApproxDP 0": lambda: ApproxDP(0, 0),
    "ApproxDP 1e-400": lambda: ApproxDP("1e-400", "1e-400"),
    "ZCDP": lambda: ZCDP("1e-300"),
    "GDP": lambda: GDP(2**63),
    "RDP": lambda: RDP(8, 1),
    "RenyiCurve": lambda: RenyiCurve([2, 8], [1, 1]),
    "FDP": lambda: FDP.of_approx(1, "1/10"),
    "PureDP class": lambda: PureDP,
    "RDP class": lambda: RDP,
    "mechanism": Toy,
    "response": lambda: RandomizedResponse(bool, epsilon="1/10"),
    "noise": lambda: Gaussian(Count(), scale=3),
    "sparse vector": lambda: SparseVector(3, epsilon="1/10"),
    "statistic": Count,
    "expression": lambda: column("a") >= 3,
    "column": lambda: column("a"),
    "launch": lambda: Launch(3),
    "ask in ask": lambda: Ask(0, Ask("x", None)),
    "refine": Refine,
    "coins": lambda: SYSTEM,
}
"""Functions that make the values, as some values can be used only once."""

assert len(MAKERS) >= 80
