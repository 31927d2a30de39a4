"""What has happened, read off the view: which mechanisms run where, and what each was charged.

Responsible for one fold over the exchanges. Everything here is a function of the root mechanism,
its view and the names that launches were given, all of them known to the analyst: postprocessing,
which can tell nothing new about the data. No state is looked at and nothing is asked.

What a person in the middle does with the mechanism behind it is not in the view. Its node has no
spending of its own, and launches through it no charge, but the person's own claim covers them all.
A failure is laid at the mechanism that was asked; a person on the way may have failed in its stead.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import attrs

from queryable.books import Books, Charge
from queryable.coins import ChildId
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism, public_name
from queryable.messages import (
    Answer,
    Ask,
    Failed,
    Halted,
    Launch,
    Launched,
    PrivacyLossQuery,
    Refused,
)
from queryable.reports import Report
from queryable.view import Exchange

Path = tuple[ChildId, ...]

LIVE, ANSWERED, RETIRED, FAILED, HALTED = "live", "answered", "retired", "failed", "halted"
CHARGED, REFUSED = "charged", "refused"


@attrs.define(eq=False)
class Node:
    """One mechanism of the tree.

    Attributes:
        runs: the mechanism itself; None where a person launched it of its own accord.
        path: where it is asked; None where it answers no questions, and of what failed at launch.
        name: what its launch was called.
        status: live, answered (a measurement), retired, failed, or halted.
        claim: what it was charged, in its own measure; None where it has no loss of its own.
        books: of a compositor, what was launched in it.
        before, charge: its parent's books when it was launched, and what it was charged there.
        refused: how many launches in it were refused.
        reported: without books, what it said when it was last asked for its privacy loss.
        called: where nothing is known of the mechanism, the kind of query that it answers.
    """

    runs: InteractiveMechanism[Any] | None
    path: Path | None
    status: str = LIVE
    name: str | None = None
    claim: Loss | None = None
    books: Books | None = None
    before: Books | None = None
    charge: Charge | None = None
    refused: int = 0
    reported: Report | None = None
    called: str = "unknown"
    children: "list[Node]" = attrs.field(factory=list)

    @property
    def mechanism(self) -> str:
        """The public name."""
        return self.called if self.runs is None else public_name(self.runs)

    @property
    def spent(self) -> Report | None:
        """What it reports; of what has no report its claim, paid in full at launch."""
        if self.books is not None:
            return self.books.total()
        return self.claim if self.reported is None else self.reported

    @property
    def share(self) -> Fraction | None:
        """How much of its budget is used; without books, how much of its parent's it took."""
        if self.books is not None:
            return self.books.share()
        return self.cost

    @property
    def cost(self) -> Fraction | None:
        """How much of its parent's budget its launch took."""
        if self.before is None or self.charge is None:
            return None
        start, end = self.before.share(), self.before.after(self.charge).share()
        return None if start is None or end is None else max(end - start, Fraction(0))

    def count(self) -> int:
        """How many nodes there are, this one included."""
        return 1 + sum(child.count() for child in self.children)


@attrs.frozen
class Entry:
    """A launch that came to an answer: where, of what, and how it ended.

    `before` are the books it was charged to, None through a person; `charge` what it was charged,
    or would have been.
    """

    sequence: int
    path: Path
    name: str | None
    mechanism: InteractiveMechanism[Any]
    outcome: str
    before: Books | None
    charge: Charge | None

    @property
    def claim(self) -> Loss | None:
        """What it claims, as charged; through a person, what it claims by itself."""
        return _claim(self.mechanism) if self.charge is None else self.charge.claim


class History:
    """The tree and the launches, folded over the exchanges of a root.

    Args:
        mechanism, opening: of the root.
        exchanges: of the root, all of them.
        names: what launches were called, by their place in the exchanges.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        opening: Answer,
        exchanges: Iterable[Exchange],
        names: Mapping[int, str],
    ) -> None:
        self.entries: list[Entry] = []
        self._nodes: dict[Path, Node] = {}
        self._names = names
        self.root = self._started(mechanism, (), opening)
        if isinstance(opening, Failed):
            self.root.status = FAILED
        for sequence, exchange in enumerate(exchanges):
            self._fold(sequence, exchange)

    def at(self, path: Path) -> Node:
        """The node that is asked at a path; a blank one where a person hid its launch."""
        return self._nodes.get(path) or Node(None, path)

    def _started(self, mechanism: Any, path: Path, opening: Answer) -> Node:
        """A node with the children that its opening brings."""
        node = Node(mechanism, path, claim=_claim(mechanism))
        if mechanism is not None:
            node.books = mechanism.books()
            started = mechanism.started_with()
            if isinstance(opening, tuple) and len(opening) == len(started):
                for (child, inner), entry in zip(started.items(), opening, strict=True):
                    node.children.append(self._child(inner, (*path, child), entry))
        self._nodes[path] = node
        return node

    def _child(self, mechanism: Any, path: Path, answer: Answer) -> Node:
        match answer:
            case Launched(child=None):
                status = ANSWERED
            case Launched(answer=opening):
                return self._started(mechanism, path, opening)
            case _:
                status = FAILED
        return Node(mechanism, None, status, claim=_claim(mechanism))

    def _overhear(self, exchange: Exchange) -> None:
        """Let books on the way know what a child was asked, if it changes what that has cost."""
        query = exchange.query
        for depth in range(len(exchange.path) - 1, -1, -1):
            child, node = exchange.path[depth], self._nodes.get(exchange.path[:depth])
            if node is not None and node.books is not None and node.books.listens:
                with suppress(Exception):  # what it cost is not told: as it was
                    node.books = node.books.heard(child, query, exchange.answer)
                below = self._nodes.get(exchange.path[: depth + 1])
                if below is not None:
                    below.reported = node.books.realised(child)
            query = Ask(child, query)

    def _fold(self, sequence: int, exchange: Exchange) -> None:
        self._overhear(exchange)
        node = self._nodes.get(exchange.path)
        if node is None:
            return
        query, answer = exchange.query, exchange.answer
        if isinstance(answer, Halted):
            node.status = HALTED
        if isinstance(query, Launch) and type(answer) in _OUTCOMES:
            self._launched(sequence, node, exchange, query)
        elif isinstance(query, PrivacyLossQuery) and query.d_in is None:
            if isinstance(answer, Report) and node.runs is not None and node.runs.reports_loss:
                node.reported = answer
        elif isinstance(answer, Launched):
            self._adopted(node, exchange, answer)
        elif isinstance(answer, Failed):
            node.status = FAILED
            _retire(node.children)

    def _launched(self, sequence: int, node: Node, exchange: Exchange, launch: Launch) -> None:
        mechanism, answer = launch.mechanism, exchange.answer
        if not isinstance(mechanism, InteractiveMechanism):
            return
        charge = _charge(node.books, launch)
        runs = mechanism if charge is None else charge.mechanism
        before, outcome = node.books, _OUTCOMES[type(answer)]
        if outcome is REFUSED:
            node.refused += 1
            self._enter(sequence, exchange, runs, outcome, before, charge)
            return
        if before is not None:
            if before.retires_earlier:
                _retire(node.children)
            if charge is not None:
                charge = before.settled(charge, answer)
                node.books = before.after(charge)
        self._enter(sequence, exchange, runs, outcome, before, charge)
        where = answer.child if isinstance(answer, Launched) else None
        child = self._child(runs, (*exchange.path, "" if where is None else where), answer)
        child.name, child.before, child.charge = self._names.get(sequence), before, charge
        if charge is not None:
            child.claim = charge.claim
        node.children.append(child)

    def _enter(self, sequence: int, exchange: Exchange, *what: Any) -> None:
        name = self._names.get(sequence)
        self.entries.append(Entry(sequence, exchange.path, name, *what))

    def _adopted(self, node: Node, exchange: Exchange, answer: Launched) -> None:
        """What a person launched of its own accord, to answer some query."""
        if answer.child is not None:
            child = self._started(None, (*exchange.path, answer.child), answer.answer)
            child.called = type(exchange.query).__name__
            node.children.append(child)


_OUTCOMES = {Launched: CHARGED, Failed: FAILED, Refused: REFUSED, Halted: REFUSED}


def _charge(books: Books | None, launch: Launch) -> Charge | None:
    if books is None:
        return None
    try:
        return books.charge(launch)
    except Exception:  # a map that is no function of the mechanism: it was charged, but what?
        return None


def _claim(mechanism: Any) -> Loss | None:
    try:
        loss = mechanism.privacy_map(1)
    except Exception:
        return None
    return loss if isinstance(loss, Loss) else None


def _retire(children: Iterable[Node]) -> None:
    for node in _below(children):
        if node.status in (LIVE, HALTED):
            node.status = RETIRED


def _below(nodes: Iterable[Node]) -> Iterator[Node]:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children
