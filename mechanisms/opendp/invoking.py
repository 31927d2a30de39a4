"""Runs a measurement of OpenDP on private data.

Responsible for what comes of it: a plain answer, or an exception that the fault boundary hides.
OpenDP calls functions of Python through C. There an exception that is no `Exception`, such as an
interrupt, is printed by Python, and OpenDP goes on with no value, which may end the process. So an
interrupt waits until the call is over. Nothing is printed meanwhile, and no warning is shown, since
OpenDP's may quote values.
"""

import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, current_thread, get_ident, main_thread
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from mechanisms.opendp.records import OpenDPRecords
from queryable.answers.noisy import NoisyInt
from queryable.data.frozen import read_only
from queryable.errors import ForeignNoiseError
from queryable.faults import is_interrupt, touching_data
from queryable.randomness.coins import SystemCoins
from queryable.randomness.laws import FairBits, Law

_PLAIN = frozenset({bool, int, float, str, bytes, type(None)})
_alone = RLock()  # the hooks below are those of the process


@attrs.define  # it holds data, and has no hash: nothing may remember it
class OpenDPDraw(Law[Any]):
    """The answer of a measurement on these data. Its law is not known here."""

    measurement: Any = attrs.field(repr=False)
    records: OpenDPRecords
    dataset: Any = attrs.field(repr=False)

    def sample(self, source: FairBits) -> Any:
        """Return an answer, with noise of OpenDP.

        Raises:
            ForeignNoiseError: the source is to decide the noise, which OpenDP draws itself.
            MechanismFault: OpenDP failed, or its answer is not plain.
        """
        if not isinstance(source, SystemCoins):
            raise ForeignNoiseError
        return touching_data(self._answer)

    def _answer(self) -> Any:
        values = self.records.values(self.dataset)
        return plain(quietly(lambda: self.measurement(values)))

    def __str__(self) -> str:
        return "the noise of an OpenDP measurement, which is not stated here,"


def plain(answer: Any) -> Any:
    """An answer that consists of numbers, texts and collections of them.

    Lists become tuples, and a dict a read-only mapping: under a name an answer is given again. Its
    keys are sorted: OpenDP's are a hash table, whose order its claims are not about.

    Raises:
        TypeError: there is anything else in it, such as a queryable, which could be asked further.
    """
    if type(answer) in _PLAIN:
        return answer
    if type(answer) in (list, tuple):
        return tuple(map(plain, answer))
    if type(answer) is dict:
        keys = sorted(answer, key=lambda key: (type(key).__name__, repr(key)))
        return MappingProxyType({plain(key): plain(answer[key]) for key in keys})
    if isinstance(answer, NoisyInt):
        return int(answer)
    if isinstance(answer, np.ndarray | np.generic) and answer.dtype.kind in "biufSU":
        return read_only(np.array(answer)) if answer.ndim else answer.item()
    raise TypeError(f"the answer holds a {type(answer).__name__}, not numbers and texts alone")


def quietly(call: Callable[[], Any]) -> Any:
    """Call a function of OpenDP; nothing is printed meanwhile.

    Raises:
        BaseException: what it raised, or an interrupt that came meanwhile.
    """
    with _alone, _waiting(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _collected() as unraised:
            try:
                result = call()
            except Exception:
                if not any(map(is_interrupt, unraised)):
                    raise
        interrupt = next(filter(is_interrupt, unraised), None)
    if interrupt is not None:
        raise interrupt
    return result


@contextmanager
def _waiting() -> Iterator[None]:
    """Let an interrupt from the keyboard wait; it reaches the main thread only."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or before is None:
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *given: came.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came and callable(before):
            before(*came[0])


@contextmanager
def _collected() -> Iterator[list[BaseException]]:
    """What Python would print because C called it, in this thread."""
    found: list[BaseException] = []
    mine, before = get_ident(), sys.unraisablehook

    def hook(raised: Any) -> None:
        if get_ident() != mine:
            before(raised)
        elif raised.exc_value is not None:
            found.append(raised.exc_value)

    sys.unraisablehook = hook
    try:
        yield found
    finally:
        sys.unraisablehook = before
