"""States of persons in the middle, kept in files, so that an opening goes on where one was killed.

Responsible for a cache beside the file of the key: it may be deleted at any time, and then the
messages are run again from the log. A person may compute for seconds what it buys next, such as
`Frugal`; after a restart all of that would be computed again before the next answer.

Theory of operation. A person and all below it is one unit, see
`queryable.conversation.recalling`. A file has the state of one unit after one of its messages. It
is written at most once a second, and takes at most a twentieth of the time. It is encrypted and
authenticated with coins of that message, which follow from the key and from the whole history up to
it. So a file of another root, of another history or of another key is not read, and nobody can read
or change it without the key. Two states
after one message, as of two versions of the code, are encrypted with different streams. The
versions of the code are authenticated too. Data are not in it: where the state has those of the
person, the file has a mark. A state with others is not kept, such as the rows that a part or an
`Individual` reads, or one that got a batch.
"""

import hmac
import io
import pickle
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256, shake_256
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import attrs
import numpy as np

from composition.compositors.state import CompositionState
from curator.logs.reading import coins_at
from queryable.conversation import Data, Later, Node, made
from queryable.conversation.alone import only
from queryable.conversation.recalling import UnitMessage, Unplayed
from queryable.data.facts import Facts
from queryable.data.growing import Growing, Grown, snapshot
from queryable.postprocessing import MECHANISM, Postprocessed
from queryable.randomness.sealed import SealedCoins
from queryable.running.handles import Path as Where
from queryable.running.journal import Message
from queryable.streams.contributions import Contributions, Records

FOLDER = ".states"
"""What the name of the folder has after that of the key's file."""

_EACH, _SHARE = 1.0, 20  # seconds between two files, and how often the time that the last one took
_LARGEST = 1 << 26
_SEAL, _TAG, _COUNT = 64, 32, 8
_CODE = ("queryable", "mechanisms", "composition", "curator")
_KNOWN = {*_CODE, "numpy", "immutables", "fractions", "datetime", "decimal", "_operator"}
_PLAIN = {"builtins", "copyreg", "collections", "functools"}
_NAMES = {"object", "slice", "range", "set", "frozenset", "_reconstructor", "partial"}


_BY_NAME = (type, FunctionType, BuiltinFunctionType)
_ROWS = (Grown, Growing, Facts, Data, Later, Records, Contributions)


class Keeping:
    """The files of one root.

    Args:
        folder: where they are; it is made with the first of them.
        root: what tells the root from all others.
    """

    def __init__(self, folder: Path, root: str) -> None:
        self._folder, self._root = folder, root
        self._due = time.monotonic() + _EACH

    def at(self, path: Where) -> "KeptFile":
        """The file of the unit at a path."""
        name = sha256(repr((self._root, *path)).encode()).hexdigest()[:32]
        return KeptFile(self, self._folder / name)

    def answered(self, message: Message, before: Any, after: Any) -> None:
        """Keep the state of the unit that a message went to, if it is time.

        Args:
            before, after: the states of the root mechanism.
        """
        if self.is_due:
            with suppress(Exception):  # a cache: whatever fails here is run again
                found = _unit(before, after, message.path)
                if found is not None:
                    path, count, counts, state = found
                    seal = _seal(coins_at(message.coins, path, (0, *counts)))
                    self.at(path).write(count, seal, state)

    @property
    def is_due(self) -> bool:
        """Whether a state may be written now."""
        return time.monotonic() >= self._due

    def wrote(self, seconds: float) -> None:
        """Note how long it took to write a file."""
        self._due = time.monotonic() + max(_EACH, _SHARE * seconds)


class KeptFile:
    """The file of one unit: a `queryable.conversation.recalling.Kept`."""

    def __init__(self, keeping: Keeping, path: Path) -> None:
        self._keeping, self._path = keeping, path

    def find(
        self, data: Any, count: int, message: Callable[[int], UnitMessage]
    ) -> tuple[int, Any] | None:
        """The number of messages of a state that was kept, and the state; None if there is none.

        Args:
            data: those of the unit.
            count: how many messages the log has for it.
            message: gives one of them by its number, from 1.
        """
        try:
            whole = self._path.read_bytes()
            number = int.from_bytes(whole[:_COUNT], "big")
            if not 1 <= number <= count:
                return None
            seal = _seal(message(number).coins())
            tag = whole[_COUNT : _COUNT + _TAG]
            text = _other(whole[_COUNT + _TAG :], seal, tag)
            if not hmac.compare_digest(tag, _tag(seal, whole[:_COUNT] + text)):
                return None
            return number, _StateReading(io.BytesIO(text), _marks(data)).load()
        except Exception:  # a cache: what cannot be read is run again
            return None

    def note(self, count: int, message: UnitMessage, state: Any) -> None:
        """A message was run again; its state is kept if it is time."""
        if self._keeping.is_due:
            with suppress(Exception):
                self.write(count, _seal(message.coins()), state)

    def write(self, count: int, seal: bytes, state: Any) -> None:
        """Replace the file."""
        began = time.monotonic()
        try:
            data = _data_of(state)
            if data is None:
                return
            stream = io.BytesIO()
            _Writing(stream, _marks(data)).dump(state)
            text, number = stream.getvalue(), count.to_bytes(_COUNT, "big")
            if not len(text) <= _LARGEST:
                return
            tag = _tag(seal, number + text)
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            new = self._path.with_suffix(".new")
            new.touch(mode=0o600)
            new.write_bytes(number + tag + _other(text, seal, tag))
            new.replace(self._path)
        finally:
            self._keeping.wrote(time.monotonic() - began)


def folder_of(key: Any) -> Path | None:
    """The folder beside the file of a key; None if it is in no file."""
    if key is None or isinstance(key, bytes) or str(key).startswith("env:"):
        return None
    return Path(f"{key}{FOLDER}").absolute()


def _unit(before: Any, after: Any, path: Where) -> tuple[Where, int, list[int], Any] | None:
    """The unit that a message to a path went to: its path, messages, counts on the way, state."""
    counts: list[int] = []
    old, new = only(before), only(after)
    if old is not None and new is not None:
        found = old is not new and type(new.mechanism) is Postprocessed
        return ((), old.messages, counts, new.state) if found else None
    for depth, identity in enumerate(path, start=1):
        if type(before) is not Node or type(after) is not Node:
            return None
        old, new = before.children.get(identity), after.children.get(identity)
        if old is None or new is None:
            return None
        counts.append(old.messages)
        if type(new.mechanism) is Postprocessed:
            return (path[:depth], old.messages, counts, new.state) if old is not new else None
        before, after = old.state, new.state
    return None


def _data_of(state: Any) -> Data | None:
    """The data of a person's unit; None for other states, and after a batch."""
    if type(state) is not Node or state.own is not None:
        return None
    while type(state) is Node and state.own is None:
        state = state.children[MECHANISM].state
    own = state.own if type(state) is Node else None
    return own.data if type(own) is CompositionState and own.streams is None else None


def _marks(data: Data) -> dict[str, Any]:
    """What stands for the data of a unit, in the forms that they have in states."""
    rows = made(data.rows)
    return {"data": data, "rows": data.rows, "growing": rows, "whole": snapshot(rows)}


def _seal(coins: Any) -> bytes:
    assert isinstance(coins, SealedCoins)
    found: bytes = coins.spawn("kept", 0).bytes(_SEAL)
    return found


def _other(text: bytes, seal: bytes, tag: bytes) -> bytes:
    """The text encrypted, or decrypted: both are the same. The tag is that of the plain text."""
    stream = shake_256(b"kept text" + seal + tag).digest(len(text))
    mixed = np.frombuffer(text, np.uint8) ^ np.frombuffer(stream, np.uint8)
    return mixed.tobytes()


def _tag(seal: bytes, text: bytes) -> bytes:
    return hmac.new(b"kept tag" + seal, versions() + text, sha256).digest()


@lru_cache(1)
def versions() -> bytes:
    """What stands for the versions of all code that makes and reads states."""
    seen = sha256(f"{platform.python_version()} {np.__version__}".encode())
    for package in _CODE:
        folder = Path(__import__(package).__file__ or "").parent
        for file in sorted(folder.rglob("*.py")):
            seen.update(str(file.relative_to(folder)).encode() + b"\0")
            seen.update(sha256(file.read_bytes()).digest())
    return seen.digest()


class _Writing(pickle.Pickler):
    """Writes a state with marks in place of its data; fails for classes of others."""

    def __init__(self, stream: io.BytesIO, marks: dict[str, Any]) -> None:
        super().__init__(stream, protocol=5)
        self._marks = {id(value): (mark, value) for mark, value in marks.items()}

    def persistent_id(self, value: Any) -> str | None:
        """A mark in place of the data."""
        if id(value) in self._marks:
            return self._marks[id(value)][0]
        if type(value) is Unplayed:
            raise pickle.PicklingError("what has not been run again is in the log")
        if isinstance(value, _ROWS) or self._has_others(value):
            raise pickle.PicklingError("it has data that are not those of the person")
        return None

    def _has_others(self, value: Any) -> bool:
        """Whether a state has data, and not those of the person."""
        if not attrs.has(type(value)):
            return False
        data = getattr(value, "dataset", None)
        return data is not None and id(data) not in self._marks

    def reducer_override(self, value: Any) -> Any:
        """Everything as usual, if it may be read again."""
        named = value if isinstance(value, _BY_NAME) else type(value)
        _require_known(str(named.__module__), named.__qualname__)
        return NotImplemented


class _StateReading(pickle.Unpickler):
    """Reads a state of known classes, and puts the data in place."""

    def __init__(self, stream: io.BytesIO, marks: dict[str, Any]) -> None:
        super().__init__(stream)
        self._marks = marks

    def persistent_load(self, name: Any) -> Any:
        """The data."""
        return self._marks[name]

    def find_class(self, module: str, name: str) -> Any:
        """A known class."""
        _require_known(module, name)
        return super().find_class(module, name)


def _require_known(module: str, name: str) -> None:
    package = module.partition(".")[0]
    if package in _KNOWN or (package in _PLAIN and name in _NAMES):
        return
    raise pickle.PicklingError(f"{module}.{name} is not kept")
