"""What a leaf reads: the functions of the data that it evaluates, with their values.

Responsible for two watchers. A `Reader` notes values, and evaluates each function of each data set
once. A `Substitute` lets a leaf go on with the values of another data set, and notes its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np

from queryable.audit.neighbours.alike import same_value
from queryable.errors import MechanismFault
from queryable.faults import collecting, report, touching_data
from queryable.statistics import Bit, IntegerStatistic


class Failure(NamedTuple):
    """In place of a value: the evaluation failed. The cause may quote data: it is the owner's."""

    cause: str


class Reading(NamedTuple):
    """A function of the data, what it was evaluated on, and its value or `Failure`."""

    what: Any
    dataset: Any
    value: Any


class CountedKeys(NamedTuple):
    """Keys that were found, in the pieces in which a mechanism reads them."""

    pieces: tuple[Any, ...]

    @property
    def counts(self) -> dict[Any, int]:
        """The number of each key."""
        found: dict[Any, int] = {}
        for piece in self.pieces:
            numbers = np.asarray(piece.counts).tolist()
            found |= zip(piece.keys(np.arange(len(numbers))), numbers, strict=True)
        return found


class Reader:
    """Notes what is read. Values are shared by all readers with the same memory."""

    def __init__(self, memory: dict[Any, Any] | None = None) -> None:
        self.memory: dict[Any, Any] = {} if memory is None else memory
        self.readings: list[Reading] = []

    def read(self, what: Any, dataset: Any, evaluate: Callable[[], Any]) -> Any:
        """The value."""
        value = self.value(what, dataset, evaluate)
        self.readings.append(Reading(what, dataset, value))
        return given(value)

    def value(self, what: Any, dataset: Any, evaluate: Callable[[], Any]) -> Any:
        """The value, evaluated once."""
        place = id(what), id(dataset)
        known = self.memory.get(place)
        if known is None:  # both are kept, so that their ids stay theirs
            known = self.memory[place] = what, dataset, _evaluated(what, evaluate)
        return known[2]


class Substitute(Reader):
    """Gives the values that were read before, and notes its own.

    Attributes:
        unlike: whether something else was read than before.
    """

    def __init__(self, before: Sequence[Reading], memory: dict[Any, Any]) -> None:
        super().__init__(memory)
        self._before, self.unlike = before, False

    def read(self, what: Any, dataset: Any, evaluate: Callable[[], Any]) -> Any:
        """The value that was read before."""
        at = len(self.readings)
        value = self.value(what, dataset, evaluate)
        self.readings.append(Reading(what, dataset, value))
        if at < len(self._before) and same_value(self._before[at].what, what):
            return given(self._before[at].value)
        self.unlike = True
        return given(value)


def given(value: Any) -> Any:
    """A value as the mechanism takes it.

    Raises:
        MechanismFault: the evaluation failed.
    """
    if isinstance(value, Failure):
        raise MechanismFault
    if isinstance(value, CountedKeys):
        return _pieces(value)
    return value


def _pieces(found: CountedKeys) -> Iterator[Any]:
    yield from found.pieces


def _evaluated(what: Any, evaluate: Callable[[], Any]) -> Any:
    with collecting() as faults:
        try:
            if isinstance(what, IntegerStatistic | Bit):
                return evaluate()
            return touching_data(lambda: CountedKeys(tuple(map(_kept, evaluate()))))
        except MechanismFault:
            pass
    for fault in faults:
        report(fault)
    return Failure(in_short(faults[0]) if faults else "it failed")


def in_short(fault: BaseException) -> str:
    """What was raised, in one line."""
    text = " ".join(f"{type(fault).__name__}: {fault}".split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


_LONGEST = 160


def _kept(piece: Any) -> Any:
    """A piece of the keys that does not depend on where they were read."""
    keys = list(piece.keys(np.arange(len(piece.counts))))
    return attrs.evolve(piece, keys=lambda at: [keys[place] for place in np.asarray(at).tolist()])
