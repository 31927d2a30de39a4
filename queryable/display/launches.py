"""Charged launches of a log as children of a tree, which are made when they are read.

Responsible for the runs of `siblings`: what is shown of a launch is read from its receipt. Knows
neither answers nor what happened to a child later; `history` does.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from queryable.display.nodes import ANSWERED, HALTED, LIVE, RETIRED, TreeNode
from queryable.display.siblings import SiblingRun, Siblings
from queryable.mechanism import InteractiveMechanism
from queryable.optional import account_below, empty_account
from queryable.randomness.coins import ChildId
from queryable.receipts import RunningTotal
from queryable.running.log import Log, Path, StoredPart
from queryable.running.telling import Tells


class Launches:
    """Charged launches in one mechanism, none of which is between them in its other children.

    The source of a run.

    Args:
        parent, path: the mechanism that was asked, with its account before them.
        names: gives the names of launches, by sequence number.

    Attributes:
        places: the entries of the log.
        nodes: nodes of children that something else has changed.
        retired: children of earlier entries than this one are retired.
        settled: how many of them the parent's children and account show.
    """

    def __init__(
        self, log: Log, names: Callable[[], Mapping[int, str]], parent: TreeNode, path: Path
    ) -> None:
        self._log, self._names, self._path, self._before = log, names, path, parent.account
        self.places = array("q")
        self.nodes: dict[int, TreeNode] = {}
        self.retired = self.settled = self._indexed = 0

    def make(self, place: int) -> TreeNode:
        """The node of the launch at a place."""
        log, receipt, before = self._log, self._log.receipt(place), self._before
        if before is not None and place != self.places[0]:
            before = log.receipt(self.places[bisect_left(self.places, place) - 1]).account
        child, runs = log.child(place), receipt.mechanism
        node = TreeNode(runs, None, ANSWERED, self._names().get(log.sequence(place)))
        if child is not None:
            node.path, node.status = (*self._path, child), self._status(place)
            node.account = empty_account(runs) or account_below(runs)
        node.claim, node.d_in = receipt.claim, receipt.d_in
        node.before, node.receipt = before, receipt
        return node

    def _status(self, place: int) -> str:
        return RETIRED if place < self.retired else LIVE

    def retire(self, stop: int) -> None:
        """Retire the children of entries before this one, but those of `nodes`."""
        self.retired = max(self.retired, stop)

    def account(self) -> RunningTotal:
        """The account after the last of them."""
        return self._log.receipt(self.places[-1]).account

    def started(self) -> Iterator[tuple[ChildId, int]]:
        """The children with their places, each of them once."""
        new = self.places[self._indexed :]
        self._indexed = len(self.places)
        answers: Any = self._log.answers
        return ((answers[place], place) for place in self.takers(new))

    def takers(self, places: Sequence[int]) -> Iterator[int]:
        """The places of the launches that started a child."""
        entries: Any = self._log.entries
        started = Tells.STARTED
        return (place for place in places if entries[place].tells is started)

    def kinds(self, places: Sequence[int]) -> Iterator[tuple[TreeNode, int]]:
        """A node of each kind without its charge, and how many there are."""
        log, counts, first = self._log, Counter[object](), {}
        entries: Any = log.entries
        for place in places:
            entry = entries[place]
            kind = log.kind(place) if type(entry) is StoredPart else entry
            counts[kind] += 1
            if kind not in first:
                first[kind] = place
        equal: dict[object, tuple[list[int], InteractiveMechanism[Any]]] = {}
        for kind, count in counts.items():
            mechanism = log.mechanism(first[kind])
            try:
                alike = equal.setdefault((type(mechanism), mechanism), ([], mechanism))
            except Exception:  # one of the user's own class may not compare
                alike = equal.setdefault(id(mechanism), ([], mechanism))
            alike[0].append(count)
        for every, mechanism in equal.values():
            yield TreeNode(mechanism, None, ANSWERED), sum(every)

    def statuses(self, places: Sequence[int]) -> Counter[str]:
        """How many nodes of each status there are, in the order in which they first occur."""
        entries: Any = self._log.entries
        nodes, counts = self.nodes, Counter[str]()
        started, retired = Tells.STARTED, self.retired
        for place in places:
            if place in nodes:
                counts[nodes[place].status] += 1
            elif entries[place].tells is not started:
                counts[ANSWERED] += 1
            else:
                counts[RETIRED if place < retired else LIVE] += 1
        return counts


def retire(children: Siblings[TreeNode]) -> None:
    """Retire children that take queries, and all below them."""
    waiting = [children]
    while waiting:
        siblings = waiting.pop()
        for piece in siblings.pieces():
            if isinstance(piece, SiblingRun) and isinstance(piece.source, Launches):
                piece.source.retire(piece.places[-1] + 1)
        for node in siblings.made():
            if node.status in (LIVE, HALTED):
                node.status = RETIRED
            waiting.append(node.children)
