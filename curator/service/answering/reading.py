"""What a token may read of a root: its exchanges, its mechanism, and the page about them.

Responsible for numbers and paths as a token sees them. Sends nothing to the root.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from curator.codec import Codec
from curator.service.answering.growing import Fresh, GrowingTree, Piece
from curator.service.answering.places import Places, seen_from
from curator.service.pages.content import ROWS, message_row, tree_of
from curator.wire import PAGE, AccessError, ShownExchange
from curator.wire.texts import dumped
from queryable.display.history import TreeHistory
from queryable.display.nodes import TreeNode
from queryable.errors import CodecError
from queryable.messages import Answer, without_receipts
from queryable.running.handles import Handles, Path
from queryable.running.log import Log
from queryable.running.root import MemoryRoot
from queryable.view import Exchange

_PAGE_BYTES = 2**24
_TOGETHER = 100

Kept: TypeAlias = tuple[Exchange, str | None]
"""An entry of the log, as it is seen from a path, with its name."""


class RootReader:
    """Reads a root from the paths of tokens. Threads may share it.

    Args:
        time_of: the second in which the message of an entry came.
    """

    def __init__(
        self, root: MemoryRoot, codec: Codec, time_of: Callable[[int], int | None]
    ) -> None:
        self._root, self._codec, self._time_of = root, codec, time_of
        self._lock, self._paging = threading.Lock(), threading.Lock()
        self._places = Places(root.log)
        self._described: dict[Path, tuple[str, str]] = {}
        self._seen: dict[Path, _Seen] = {}

    def text(self, value: Any) -> str:
        """A value as the codec's text."""
        return str(self._codec.encode(value), "ascii")

    def answer_text(self, answer: Answer) -> str:
        """An answer as text; without receipts, if a mechanism has put something else there."""
        try:
            return self.text(answer)
        except CodecError:
            return self.text(without_receipts(answer))

    def numbers(self, path: Path) -> Sequence[int]:
        """The numbers of the entries at or below a path, in order."""
        with self._lock:
            return self._places.at(path, self._root.entries)

    def seq(self, path: Path, stop: int) -> int:
        """How many entries at or below a path are among the first `stop` entries."""
        return bisect_left(self.numbers(path), stop)

    def entries(self, path: Path, first: int, stop: int) -> list[Kept]:
        """Some entries at or below a path."""
        log, names = self._root.log, self._root.names
        return [
            (seen_from(path, log.exchange(index)), names.get(log.sequence(index)))
            for index in range(first, stop)
        ]

    def shown(self, path: Path, after: int) -> tuple[tuple[ShownExchange, ...], int]:
        """The exchanges after the first `after`, as many as a page has; and how many there are."""
        numbers, shown, size = self.numbers(path), [], 0
        for index in numbers[after : after + PAGE]:
            exchange, name = self.entries(path, index, index + 1)[0]
            receipts = tuple(map(self.text, exchange.receipts))
            query, answer = self.text(exchange.query), self.answer_text(exchange.answer)
            shown.append(ShownExchange(exchange.path, query, answer, receipts, name))
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
        above = Log()  # what parents answered tells what was launched, and is a small part
        handles: Handles[Any] = Handles()
        handles.register((), root.opening)
        for index in self.numbers(()):
            where = root.log.path(index)
            if root.log.measured(index):  # it has started nothing
                continue
            if len(where) < len(path) and where == path[: len(where)]:
                exchange = root.log.exchange(index)
                above.add(exchange, len(above.entries), 0)
                handles.register(where, exchange.answer)
        record = above.record(len(above.entries), 0)
        runs = TreeHistory.of(root.mechanism, root.opening, record, {}).at(path).runs
        openings = handles.openings(path[:-1])
        if runs is None or path[-1] not in openings:
            raise AccessError("there is nothing here for this token")
        return self.text(runs), self.answer_text(openings[path[-1]])

    def tree(self) -> TreeNode:
        """The whole tree."""
        root = self._root
        return TreeHistory.of(root.mechanism, root.opening, *root.record()).root

    def page(self, path: Path, after: int | None = None) -> str:
        """What a page for people shows, as JSON; see `Service.page`."""
        with self._paging:
            seen = self._seen.setdefault(path, _Seen())
            numbers = self.numbers(path)
            if after is not None:
                rows = self._rows(path, numbers, range(after, min(after + ROWS, len(numbers))))
                return _page({}, rows, len(numbers))
            if seen.tree is None:
                seen.tree = self._growing(path, seen)
            node = seen.tree.look().root
            now = self._root.log.sequence(len(numbers)) if not path else len(numbers)
            if seen.text is None or seen.as_of != now or not seen.whole:
                count = len(numbers)
                first = max(count - ROWS, 0)
                fresh = range(max(first, seen.rows_until), count)
                seen.rows += self._rows(path, numbers, fresh)
                del seen.rows[: max(len(seen.rows) - ROWS, 0)]
                told = tree_of(node, self._root.protects)
                seen.whole = seen.tree.whole
                told["read"] = count if seen.whole else min(seen.tree.read, count)
                seen.text = _page(told, seen.rows, count)
                seen.rows_until, seen.as_of = count, now
            return seen.text

    def _rows(self, path: Path, numbers: Sequence[int], places: range) -> list[str]:
        """Rows of the messages at or below a path, each as JSON."""
        found = []
        for place in places:
            exchange, name = self.entries(path, numbers[place], numbers[place] + 1)[0]
            on = self._time_of(numbers[place])
            found.append(dumped(message_row(place + 1, exchange, name, on)))
        return found

    def _growing(self, path: Path, seen: "_Seen") -> GrowingTree:
        """The tree as it is seen from a path."""
        if not path:
            return GrowingTree(self._root.mechanism, self._root.opening, self._since)
        mechanism, opening = map(self._codec.decode, self.described(path))

        def since(start: tuple[int, int]) -> Fresh:
            count = len(self.numbers(path))
            pieces = self._below(path, seen, start[0], count)
            return Fresh(pieces, seen.log, seen.names, (count, 0))

        return GrowingTree(mechanism, opening, since)

    def _since(self, start: tuple[int, int]) -> Fresh:
        """What follows some entries and polls."""
        record, names = self._root.record()
        until = (record.count, max(record.polls, start[1]))
        return Fresh(record.pieces(*start), record.log, names, until)

    def _below(self, path: Path, seen: "_Seen", start: int, stop: int) -> Iterator[Piece]:
        """The exchanges with these numbers below a path, which are added to what was seen."""
        for first in range(start, stop, _TOGETHER):
            last = min(first + _TOGETHER, stop)
            for number in range(first, last):
                at = self.numbers(path)[number]
                exchange, name = self.entries(path, at, at + 1)[0]
                seen.log.add(exchange, number, 0)
                if name is not None:
                    seen.names[number] = name
            yield from seen.log.record(last, 0).pieces(first)


@attrs.define(eq=False)
class _Seen:
    """What was made for the page of a path, so that only what is new is made next time.

    Attributes:
        log, names: the messages as they are seen from the path; empty for the root.
        rows: the last rows, as JSON, up to number `rows_until`.
        text: the page as of the message number `as_of`; None if there is none yet.
        tree: the tree, and whether `text` has all of it.
    """

    log: Log = attrs.field(factory=Log)
    names: dict[int, str] = attrs.field(factory=dict)
    rows: list[str] = attrs.field(factory=list)
    rows_until: int = 0
    text: str | None = None
    as_of: int = -1
    tree: GrowingTree | None = None
    whole: bool = False


def _page(tree: dict[str, Any], rows: list[str], count: int) -> str:
    head = dumped({**tree, "messages": count})[:-1]
    return f'{head},"rows":[{",".join(rows)}]}}'
