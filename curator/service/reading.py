"""What a token may read of a root: its exchanges, its mechanism, and the page about them.

Responsible for numbers and paths as a token sees them. Sends nothing to the root.
"""

import threading
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

from curator.codec import Codec
from curator.service.pages import page_of
from curator.service.places import Places, seen_from
from curator.wire import PAGE, AccessError, Shown
from queryable.display.history import History, TreeNode
from queryable.display.ledger import ledger_of
from queryable.errors import CodecError
from queryable.messages import Answer, bare
from queryable.running.handles import Handles, Path
from queryable.running.log import Log, Record
from queryable.running.root import MemoryRoot
from queryable.view import Exchange

_PAGE_BYTES = 2**24

Kept: TypeAlias = tuple[Exchange, str | None]
"""An entry of the log, as it is seen from a path, with its name."""


class Reader:
    """Reads a root from the paths of tokens. Threads may share it."""

    def __init__(self, root: MemoryRoot, codec: Codec) -> None:
        self._root, self._codec = root, codec
        self._lock = threading.Lock()
        self._places = Places(root.log)
        self._described: dict[Path, tuple[str, str]] = {}

    def text(self, value: Any) -> str:
        """A value as the codec's text."""
        return str(self._codec.encode(value), "ascii")

    def answer_text(self, answer: Answer) -> str:
        """An answer as text; without receipts, if a mechanism has put something else there."""
        try:
            return self.text(answer)
        except CodecError:
            return self.text(bare(answer))

    def numbers(self, path: Path) -> Sequence[int]:
        """The numbers of the entries at or below a path, in order."""
        with self._lock:
            return self._places.at(path, self._root.entries)

    def seq(self, path: Path, stop: int) -> int:
        """How many entries at or below a path are among the first `stop` entries."""
        return bisect_left(self.numbers(path), stop)

    def kept(self, path: Path, first: int, stop: int) -> list[Kept]:
        """Some entries at or below a path."""
        log, names = self._root.log, self._root.names
        return [
            (seen_from(path, log.exchange(index)), names.get(log.sequence(index)))
            for index in range(first, stop)
        ]

    def shown(self, path: Path, after: int) -> tuple[tuple[Shown, ...], int]:
        """The exchanges after the first `after`, as many as a page has; and how many there are."""
        numbers, shown, size = self.numbers(path), [], 0
        for index in numbers[after : after + PAGE]:
            exchange, name = self.kept(path, index, index + 1)[0]
            receipts = tuple(map(self.text, exchange.receipts))
            query, answer = self.text(exchange.query), self.answer_text(exchange.answer)
            shown.append(Shown(exchange.path, query, answer, receipts, name))
            size += len(answer)
            if size > _PAGE_BYTES:
                break
        return tuple(shown), len(numbers)

    def described(self, path: Path) -> tuple[str, str]:
        """The texts of the mechanism at a path and of its opening answer.

        Raises:
            AccessError: there is none, or a postprocessor hides which it is.
        """
        if path not in self._described:
            self._described[path] = self._description(path)
        return self._described[path]

    def _description(self, path: Path) -> tuple[str, str]:
        root = self._root
        if not path:
            return self.text(root.mechanism), self.answer_text(root.opening)
        handles: Handles[Any] = Handles()
        handles.register((), root.opening)
        for exchange in root.exchanges():
            if exchange.path == path[: len(exchange.path)]:
                handles.register(exchange.path, exchange.answer)
        runs = History.of(root.mechanism, root.opening, *root.record()).at(path).runs
        openings = handles.openings(path[:-1])
        if runs is None or path[-1] not in openings:
            raise AccessError("there is nothing here for this token")
        return self.text(runs), self.answer_text(openings[path[-1]])

    def tree(self) -> TreeNode:
        """The whole tree."""
        root = self._root
        return History.of(root.mechanism, root.opening, *root.record()).root

    def page(self, path: Path) -> dict[str, Any]:
        """What a page for people shows."""
        root = self._root
        if not path:
            record, names = root.record()
            return page_of(self.tree(), root.protects, ledger_of(record, names))
        mechanism, opening = map(self._codec.decode, self.described(path))
        record, names = self._part(path)
        node = History.of(mechanism, opening, record, names).root
        return page_of(node, root.protects, ledger_of(record, names))

    def _part(self, path: Path) -> tuple[Record, dict[int, str]]:
        """The log as it is seen from a path."""
        log, names = Log(), {}
        for number, index in enumerate(self.numbers(path)):
            exchange, name = self.kept(path, index, index + 1)[0]
            log.add(exchange, number, 0)
            if name is not None:
                names[number] = name
        return log.record(len(log.entries), 0), names
