"""Toy mechanisms, persons and Hypothesis strategies that the tests share.

A toy's loss is the one that the test passes; it is no claim about privacy. `RandomBits` answers
each ask with 64 random bits, so repeated or reordered draws are visible. `Recorder` records its
runs, and `Faulty` raises when the test says so.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

from queryable import (
    GDP,
    RDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Coins,
    FromAnalyst,
    FromMechanism,
    InteractiveMechanism,
    Launch,
    Loss,
    Measurement,
    PersonInTheMiddle,
    PureDP,
    SeededCoins,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
)
from queryable.faults import touching_data
from queryable.randomness.laws import Bernoulli, FairBits, UniformBelow

TENTH = PureDP("0.1")
WORD = UniformBelow(2**64)
SECRET = "the patient is 47"
"""The message of the tests' faults. No analyst may see it."""


@attrs.frozen
class Toy(InteractiveMechanism[int]):
    """A base class: answers "bits" with the number of earlier asks; its loss is `charged`."""

    charged: Loss = TENTH

    def loss(self, d_in: int) -> Loss:
        return self.charged.group(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return 0, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        if query != "bits":
            raise UnknownQueryError("ask for 'bits'")
        return state + 1, self.answer(state, coins)

    def answer(self, state: int, coins: Coins) -> Any:
        return state


@attrs.frozen
class RandomBits(Toy):
    """Returns 64 random bits at launch and 64 more for each "bits"."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return 0, coins.draw(WORD)

    def answer(self, state: int, coins: Coins) -> int:
        return coins.draw(WORD)


@attrs.frozen
class RandomWord(Measurement):
    """A measurement that returns 64 random bits."""

    charged: Loss = TENTH

    def loss(self, d_in: int) -> Loss:
        return self.charged.group(d_in)

    def release(self, dataset: Any, coins: Coins) -> int:
        return coins.draw(WORD)


@attrs.frozen
class Recorder(Measurement):
    """Appends its name to `runs`, and reads the data."""

    runs: list[str] = attrs.field(eq=False, repr=False)
    charged: Loss = TENTH
    name: str = "recorder"

    def loss(self, d_in: int) -> Loss:
        return self.charged.group(d_in)

    def release(self, dataset: Any, coins: Coins) -> int:
        self.runs.append(self.name)
        return len(dataset)


@attrs.frozen
class Size(Measurement[int]):
    """Returns the number of records, without noise."""

    charged: Loss = TENTH

    def loss(self, d_in: int) -> Loss:
        return self.charged.group(d_in)

    def release(self, dataset: Any, coins: Coins) -> int:
        return len(dataset)


class RecordingDataset:
    """A dataset that records every access to it in `touched`."""

    def __init__(self) -> None:
        object.__setattr__(self, "touched", [])

    def __getattribute__(self, name: str) -> Any:
        touched = object.__getattribute__(self, "touched")
        if name not in ("touched", "__class__"):  # `isinstance` reads the class, not the data
            touched.append(name)
        return touched if name == "touched" else object.__getattribute__(self, name)

    def __len__(self) -> int:
        self.touched.append("len")
        return 3

    def __iter__(self) -> Iterator[int]:
        self.touched.append("iter")
        return iter((1, 2, 3))

    def __getitem__(self, index: int) -> int:
        self.touched.append("getitem")
        return index


def raising(fault: BaseException) -> Callable[[Any], Any]:
    """Return a function of the data that raises the fault."""

    def function(dataset: Any) -> Any:
        raise fault

    return function


@attrs.frozen
class Faulty(InteractiveMechanism[int]):
    """Evaluates a function of the data at launch, or at every "bits" after the first `good`."""

    function: Callable[[Any], Any]
    at_launch: bool = False
    good: int = 0
    guarded: bool = True
    charged: Loss = TENTH

    def loss(self, d_in: int) -> Loss:
        return self.charged.group(d_in)

    def _evaluate(self, dataset: Any) -> Any:
        if self.guarded:
            return touching_data(lambda: self.function(dataset))
        return self.function(dataset)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if self.at_launch:
            self._evaluate(dataset)
        return (0, dataset), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        count, dataset = state
        if query != "bits":
            raise UnknownQueryError("ask for 'bits'")
        if count >= self.good:
            self._evaluate(dataset)
        return (count + 1, dataset), count


@attrs.frozen
class RationalResponse(Measurement):
    """Randomized response at rational odds: tells the bit with probability odds/(1 + odds)."""

    odds: Fraction = Fraction(3)

    def loss(self, d_in: int) -> Loss:
        return PureDP("1.0986122886681098").group(d_in)  # above ln 3

    def release(self, dataset: Any, coins: Coins) -> bool:
        return bool(np.any(dataset)) ^ coins.draw(Bernoulli(1 / (1 + self.odds)))


@attrs.frozen
class HiddenBit(InteractiveMechanism[bool]):
    """Keeps one randomized response hidden and answers each "bits" with a response to that bit."""

    def loss(self, d_in: int) -> Loss:
        return PureDP("1.0986122886681098").group(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[bool, Any]:
        return bool(np.any(dataset)) ^ coins.draw(Bernoulli(Fraction(1, 4))), None

    def step(self, state: bool, query: Any, coins: Coins = SYSTEM) -> tuple[bool, Any]:
        if query != "bits":
            raise UnknownQueryError("ask for 'bits'")
        return state, state ^ coins.draw(Bernoulli(Fraction(1, 4)))


@attrs.frozen
class BrokenMap(Toy):
    """Its privacy map is the function that the test passes."""

    map: Callable[[int, Any], Any] = attrs.field(kw_only=True)

    def privacy_map(self, d_in: int, measure: Any = None) -> Any:
        return self.map(d_in, measure)


@attrs.frozen
class Courier(PersonInTheMiddle[int]):
    """Forwards queries and answers unchanged, and counts the messages."""

    def init(self) -> int:
        return 0

    def step(
        self, state: int, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[int, ToMechanism | ToAnalyst]:
        if isinstance(message, FromAnalyst):
            return state + 1, ToMechanism(message.query)
        return state + 1, ToAnalyst(message.answer)


@attrs.frozen
class Masker(Courier):
    """Forwards queries, and pairs each integer answer with 64 random bits of its own."""

    def step(
        self, state: int, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[int, ToMechanism | ToAnalyst]:
        if isinstance(message, FromMechanism) and type(message.answer) is int:
            return state + 1, ToAnalyst((message.answer, coins.draw(WORD)))
        return super().step(state, message, coins)


@attrs.frozen
class Twice(PersonInTheMiddle[Any]):
    """Sends each query to the mechanism twice and returns both answers."""

    def init(self) -> Any:
        return None

    def step(
        self, state: Any, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[Any, ToMechanism | ToAnalyst]:
        match message, state:
            case FromAnalyst(query), _:
                return (query, None), ToMechanism(query)
            case FromMechanism(answer), None:
                return None, ToAnalyst(answer)
            case FromMechanism(answer), (query, None):
                return (query, (answer,)), ToMechanism(query)
            case FromMechanism(answer), (_, (first,)):
                return None, ToAnalyst((first, answer))
        raise AssertionError(message)


LOSSES: tuple[Loss, ...] = (
    PureDP("0.1"),
    ApproxDP("0.1", "1e-8"),
    ZCDP("0.01"),
    ApproxZCDP("0.01", "1e-8"),
    RDP(8, "0.1"),
    GDP("0.1"),
)
"""One small loss in each additive measure."""

ILLEGAL: tuple[Any, ...] = (
    "a string",
    None,
    3,
    True,
    object(),
    len,
    Toy,
    TENTH,
    (0, "bits"),
    {"child": 0},
    float("nan"),
)
"""Queries that are illegal for every mechanism of the tests."""

ILLEGAL_LAUNCHES: tuple[Any, ...] = tuple(Launch(each) for each in ILLEGAL if each != TENTH)

rationals = st.fractions(min_value=0, max_value=20, max_denominator=10**6)
deltas = st.integers(1, 12).map(lambda digits: Fraction(1, 10**digits))
orders = st.integers(101, 20_000).map(lambda percent: Fraction(percent, 100))


@cache
def among(low: int | Fraction, high: int | Fraction, denominator: int) -> Any:
    """All fractions in a range up to a denominator, a third of them with one of at most 3.

    Ten times as fast as `st.fractions`, which draws two numbers, and the ends come up as often.
    """
    every = {
        Fraction(n, d)
        for d in range(1, denominator + 1)
        for n in range(ceil(low * d), floor(high * d) + 1)
    }
    ordered = sorted(every, key=lambda each: (each.denominator, each))
    simple = [each for each in ordered if each.denominator <= 3]
    return st.sampled_from([*simple, *ordered, *(simple * (len(ordered) // (2 * len(simple))))])


positive_rationals = st.one_of(
    among(Fraction(1, 30), 20, 30),
    st.integers(1, 20 * 10**6).map(lambda millionths: Fraction(millionths, 10**6)),
)


class NotedCoins(SeededCoins):
    """Coins that keep which laws were drawn, and what was drawn."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(seed)
        self.laws: list[Any] = []
        self.drawn: list[Any] = []

    def draw(self, law: Any, size: Any = None) -> Any:
        self.laws.append(law)
        self.drawn.append(super().draw(law, size))
        return self.drawn[-1]


class Words(FairBits):
    """Prescribed 64-bit words."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def bits(self, count: int) -> int:
        assert count == 64
        return self.words.pop(0)

    def bytes(self, count: int) -> bytes:
        return b"".join(self.bits(64).to_bytes(8, "little") for _ in range(count // 8))
