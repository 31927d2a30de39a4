"""What has happened, read off the view: which mechanisms run where, and what each was charged.

Responsible for one fold over the exchanges. Everything here is a function of the root mechanism,
its view and the names that launches were given, all of them known to the analyst: postprocessing,
which can tell nothing new about the data. No state is looked at, nothing is asked, and nothing is
added up: charges and totals are those of the receipts.

What a person in the middle does with the mechanism behind it is not in the view. The person's node
has no spending of its own, but its claim covers all that is launched through it. A failure is laid
at the mechanism that was asked; a person on the way may have failed in its stead.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from queryable.display.siblings import Run, Siblings
from queryable.losses import Loss, Report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    Failed,
    Halted,
    Launch,
    Launched,
    PrivacyLossQuery,
    Refused,
)
from queryable.optional import empty_account, interleaves, public_name, started_with
from queryable.randomness.coins import ChildId
from queryable.receipts import Account, AskReceipt, Receipt, own_loss
from queryable.running.log import Log, Record
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
        account: of a compositor, its account now.
        before, receipt: its parent's account before it was launched, and the receipt of that.
        refused: how many launches in it were refused.
        reported: without an account, what it said when it was last asked for its privacy loss.
        called: where nothing is known of the mechanism, the kind of query that it answers.
    """

    runs: InteractiveMechanism[Any] | None
    path: Path | None
    status: str = LIVE
    name: str | None = None
    claim: Loss | None = None
    account: Account | None = None
    before: Account | None = None
    receipt: Receipt | None = None
    refused: int = 0
    reported: Report | None = None
    called: str = "unknown"
    children: "Siblings[Node]" = attrs.field(factory=Siblings)

    @property
    def mechanism(self) -> str:
        """The public name."""
        return self.called if self.runs is None else public_name(self.runs)

    @property
    def spent(self) -> Report | None:
        """What it reports; of what has no report its claim, paid in full at launch."""
        if self.account is not None:
            return self.account.total()
        return self.claim if self.reported is None else self.reported

    @property
    def share(self) -> Fraction | None:
        """How much of its budget is used; without an account, how much of its parent's it took."""
        if self.account is not None:
            return self.account.share()
        return self.cost

    @property
    def cost(self) -> Fraction | None:
        """How much of its parent's budget its launch took."""
        if self.before is None or self.receipt is None:
            return None
        start, end = self.before.share(), self.receipt.account.share()
        return None if start is None or end is None else max(end - start, Fraction(0))

    def count(self) -> int:
        """How many nodes there are, this one included."""
        made = list(self.children.made())
        return 1 + len(self.children) - len(made) + sum(child.count() for child in made)


class History:
    """The tree, folded over the exchanges of a root.

    Args:
        mechanism, opening: of the root.
        exchanges: of the root, with their numbers among all of them; a range stands for entries of
            `log` that are launches of measurements at one place.
        names: what launches were called, by the number of the exchange.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        opening: Answer,
        exchanges: Iterable[range | tuple[int, Exchange]],
        names: Mapping[int, str],
        log: Log | None = None,
    ) -> None:
        self._nodes: dict[Path, Node] = {}
        self._names = names
        self.root = self._started(mechanism, (), opening)
        if isinstance(opening, Failed):
            self.root.status = FAILED
        for piece in exchanges:
            if not isinstance(piece, range):
                self._fold(*piece)
            elif log is not None:
                self._measured(log, piece)

    @classmethod
    def of(
        cls,
        mechanism: InteractiveMechanism[Any],
        opening: Answer,
        record: Record,
        names: Mapping[int, str],
    ) -> "History":
        """The history of a root, from its log."""
        return cls(mechanism, opening, record.pieces(), names, record.log)

    def at(self, path: Path) -> Node:
        """The node that is asked at a path; a blank one where a person hid its launch."""
        return self._nodes.get(path) or Node(None, path)

    def _started(self, mechanism: Any, path: Path, opening: Answer) -> Node:
        """A node with the children that its opening brings."""
        node = Node(mechanism, path, claim=own_loss(mechanism))
        if mechanism is not None:
            node.account = empty_account(mechanism)
            started = started_with(mechanism)
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
        return Node(mechanism, None, status, claim=own_loss(mechanism))

    def _charged(self, path: Path, receipt: AskReceipt) -> None:
        """Update the compositor that charged an answer, and the child that gave it."""
        child = path[: len(path) - receipt.nested]
        node, below = self._nodes.get(child[:-1]), self._nodes.get(child)
        if node is not None and node.account is not None:
            node.account = receipt.account
            if below is not None:
                below.reported = receipt.realised

    def _fold(self, sequence: int, exchange: Exchange) -> None:
        for receipt in exchange.receipts:
            self._charged(exchange.path, receipt)
        node = self._nodes.get(exchange.path)
        if node is None:
            return
        query, answer = exchange.query, exchange.answer
        if isinstance(answer, Halted):
            node.status = HALTED
        if is_launch(exchange):
            self._launched(sequence, node, exchange)
        elif isinstance(query, PrivacyLossQuery) and query.d_in is None:
            if isinstance(answer, Report) and node.runs is not None and node.runs.reports_loss:
                node.reported = answer
        elif isinstance(answer, Launched):
            self._adopted(node, exchange, answer)
        elif isinstance(answer, Failed):
            node.status = FAILED
            _retire(node.children)

    def _measured(self, log: Log, places: range) -> None:
        """Launches of measurements, one after another; their nodes are made when looked at."""
        node = self._nodes.get(log.path(places[0]))
        if node is None:
            return
        first, known, names = node.account, node.account is not None, self._names

        def make(index: int) -> Node:
            receipt, before = log.receipt(index), first
            if known and index > places[0]:
                before = log.receipt(index - 1).account
            child = Node(receipt.mechanism, None, ANSWERED, names.get(log.sequence(index)))
            child.claim, child.before, child.receipt = receipt.claim, before, receipt
            return child

        if known:
            self._charge(node, log.receipt(places[-1]))
        node.children.append(Run(places, make, log.entries.__getitem__))

    def _charge(self, node: Node, receipt: Receipt | None) -> None:
        """A launch replaces the account of its compositor, and in sequence ends what ran before."""
        node.account = None if receipt is None else receipt.account
        if not interleaves(node.runs):
            _retire(node.children[-1:])  # those before it have been

    def _launched(self, sequence: int, node: Node, exchange: Exchange) -> None:
        answer, receipt = exchange.answer, receipt_of(exchange.answer)
        if outcome_of(answer) is REFUSED:
            node.refused += 1
            return
        if receipt is None and isinstance(answer, Failed) and node.account is not None:
            node.status = FAILED  # itself, or what it would have been charged would be known
            _retire(node.children)
            return
        before = node.account
        if before is not None:
            self._charge(node, receipt)
        where = answer.child if isinstance(answer, Launched) else None
        runs = exchange.query.mechanism if receipt is None else receipt.mechanism
        child = self._child(runs, (*exchange.path, "" if where is None else where), answer)
        child.name, child.before, child.receipt = self._names.get(sequence), before, receipt
        if receipt is not None:
            child.claim = receipt.claim
        node.children.append(child)

    def _adopted(self, node: Node, exchange: Exchange, answer: Launched) -> None:
        """What a person launched of its own accord, to answer some query."""
        if answer.child is not None:
            child = self._started(None, (*exchange.path, answer.child), answer.answer)
            child.called = type(exchange.query).__name__
            node.children.append(child)


_OUTCOMES = {Launched: CHARGED, Failed: FAILED, Refused: REFUSED, Halted: REFUSED}


def is_launch(exchange: Exchange) -> bool:
    """Whether it is a launch that came to an answer."""
    return (
        isinstance(exchange.query, Launch)
        and type(exchange.answer) in _OUTCOMES
        and isinstance(exchange.query.mechanism, InteractiveMechanism)
    )


def receipt_of(answer: Answer) -> Receipt | None:
    """The receipt of a launch; a person may have put anything in its place."""
    return answer.receipt if isinstance(answer.receipt, Receipt) else None


def outcome_of(answer: Answer) -> str:
    """How a launch ended: charged, failed or refused."""
    return _OUTCOMES[type(answer)]


def _retire(children: Siblings[Node]) -> None:
    waiting = list(children.made())
    while waiting:
        node = waiting.pop()
        if node.status in (LIVE, HALTED):
            node.status = RETIRED
        waiting += node.children.made()
