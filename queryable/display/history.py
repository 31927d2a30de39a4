"""The tree of mechanisms with the charge of each, computed from the view.

`TreeHistory` is one fold over the exchanges. It is a function of the root mechanism, its view and
the names of launches. The analyst knows all of these, so the tree is postprocessing and reveals
nothing new about the data. It reads no state, sends no query and adds nothing up: charges and
totals are those of the receipts.

The view does not contain the messages between a postprocessor and the mechanism behind it. The
postprocessor's node therefore has no account, but its claim covers everything launched through it.
A postprocessor that `states_costs` is an exception: an answer that cost something is shown as one
purchase, and its cost is charged to the account of the mechanism behind it, by that account's own
`plus`. Receipts of other launches through it state the account as it is.
A failure is shown at the mechanism that was asked, although a postprocessor on the way may have
failed.

Of most entries of a log only what they tell is read: a charged launch is a place in a run of its
parent's children, and a question that was only answered changes nothing. The account of a parent is
read from the last receipt, when it is needed.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from queryable.answers.noisy import Remarked
from queryable.display.launches import Launches, retire
from queryable.display.nodes import (
    ANSWERED,
    FAILED,
    HALTED,
    OUTCOMES,
    REFUSED,
    TreeNode,
    asked_by,
    is_launch,
    is_paid,
    outcome_of,
    receipt_of,
    shown_after,
)
from queryable.display.siblings import SiblingRun, Siblings
from queryable.losses import Report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Failed, Halted, Launched, PrivacyLossQuery
from queryable.optional import account_below, empty_account, interleaves, one_line, started_with
from queryable.receipts import AskReceipt, Receipt, RunningTotal, own_d_in, own_loss
from queryable.running.log import Log, Path, Record, Shape, StoredPart
from queryable.running.telling import Tells, tells
from queryable.view import Exchange


class TreeHistory:
    """The tree of a root, computed by a fold over its exchanges.

    Args:
        mechanism, opening: the root mechanism and its first answer.
        exchanges: the exchanges with their sequence numbers; a range stands for entries of `log`.
        names: the names of launches, by sequence number.
        log: the log that ranges refer to.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        opening: Answer,
        exchanges: Iterable[range | tuple[int, Exchange]],
        names: Mapping[int, str],
        log: Log | None = None,
    ) -> None:
        self._nodes: dict[Path, TreeNode] = {}
        self._names = names
        self._open: dict[TreeNode, Launches] = {}
        """The last runs of children, which may get further places."""
        self._takes: dict[Path | StoredPart, Callable[[int], object]] = {}
        """What is done with the places of packed launches at a path, or of stored entries."""
        self._latest: dict[TreeNode, Launches] = {}
        """The last runs, of which `_places` may not have all children yet."""
        self._places: dict[Path, tuple[Launches, int]] = {}
        self._root = self._started(mechanism, (), opening)
        if isinstance(opening, Failed):
            self._root.status = FAILED
        for piece in exchanges:
            self.add(piece, log)

    @classmethod
    def of(
        cls,
        mechanism: InteractiveMechanism[Any],
        opening: Answer,
        record: Record,
        names: Mapping[int, str],
    ) -> "TreeHistory":
        """Return the history of a root, from its log."""
        return cls(mechanism, opening, record.pieces(), names, record.log)

    def add(
        self,
        piece: range | tuple[int, Exchange],
        log: Log | None,
        names: Mapping[int, str] | None = None,
    ) -> None:
        """Go on with the exchanges that follow.

        Args:
            names: the names of launches as of now; None if there are no new ones.
        """
        if names is not None:
            self._names = names
        if not isinstance(piece, range):
            self._fold(*piece)
        elif log is not None:
            self._entries(log, piece)

    @property
    def root(self) -> TreeNode:
        """The node of the root."""
        self._settle()
        return self._root

    def at(self, path: Path) -> TreeNode:
        """Return the node at a path; an empty one if a postprocessor hid its launch."""
        self._settle()
        return self._node(path) or TreeNode(None, path)

    # Entries of a log

    def _entries(self, log: Log, places: range) -> None:
        takes = self._takes
        entries = log.entries[places.start : places.stop]
        for index, entry in enumerate(entries, places.start):
            if type(entry) is Exchange:
                if entry.receipts or tells(type(entry.answer)):  # type: ignore[arg-type]  # a class
                    self._fold(log.sequence(index), entry)
                continue
            alike: Any = entry.path if type(entry) is Shape else entry
            take = takes.get(alike)
            if take is None:
                take = takes[alike] = self._take(log, entry)
            take(index)

    def _take(self, log: Log, entry: Any) -> Callable[[int], object]:
        """What is done with the places of entries such as this one."""
        if entry.tells is Tells.EXCHANGE:
            return lambda index: self._fold(log.sequence(index), log.exchange(index))
        node = None if entry.tells is Tells.NOTHING else self._node(entry.path)
        if node is None:
            return _nothing
        if entry.tells is Tells.REFUSED:
            return partial(_refuse, node)
        run = self._run(log, node, entry.path)
        if node.account is None or interleaves(node.runs):
            return run.places.append
        return partial(_in_turn, run)

    def _run(self, log: Log, node: TreeNode, path: Path) -> Launches:
        """The run that takes further launches in a mechanism."""
        run = self._open.get(node)
        if run is None:
            if node.account is not None and not interleaves(node.runs):
                retire(node.children[-1:])  # earlier ones are retired already
            if node in self._latest:
                self._index(node, path)
            run = self._open[node] = self._latest[node] = Launches(
                log, lambda: self._names, node, path
            )
            node.children.append(SiblingRun(run.places, run))
        return run

    def _settle(self) -> None:
        """Count the children in open runs, and read the accounts after them."""
        for node, run in self._open.items():
            if len(run.places) > run.settled:
                run.settled = len(run.places)
                node.children.grown()
                if node.account is not None:
                    node.account = shown_after(run.account(), node.account)

    def _close(self) -> None:
        """Settle, and begin new runs: something else happens to children or accounts."""
        self._settle()
        self._open.clear()
        self._takes.clear()

    def _node(self, path: Path) -> TreeNode | None:
        """The node at a path, if it is known; one in a run is made, and kept."""
        node = self._nodes.get(path)
        if node is None and path:
            parent = self._node(path[:-1])
            if parent in self._latest:
                self._index(parent, path[:-1])
            if path in self._places:
                run, place = self._places[path]
                node = self._nodes[path] = run.nodes[place] = run.make(place)
        return node

    def _index(self, node: TreeNode, path: Path) -> None:
        run = self._latest[node]
        self._places |= {(*path, child): (run, place) for child, place in run.started()}

    # Exchanges

    def _started(self, mechanism: Any, path: Path, opening: Answer) -> TreeNode:
        """Add a node, with the children that its first answer contains."""
        d_in = own_d_in(mechanism)
        node = TreeNode(mechanism, path, claim=own_loss(mechanism, d_in), d_in=d_in)
        if mechanism is not None:
            node.account = empty_account(mechanism) or account_below(mechanism)
            started = started_with(mechanism)
            if isinstance(opening, tuple) and len(opening) == len(started):
                for (child, inner), entry in zip(started.items(), opening, strict=True):
                    node.children.append(self._child(inner, (*path, child), entry))
        self._nodes[path] = node
        return node

    def _child(self, mechanism: Any, path: Path, answer: Answer) -> TreeNode:
        match answer:
            case Launched(child=None):
                status = ANSWERED
            case Launched(answer=opening):
                return self._started(mechanism, path, opening)
            case _:
                status = FAILED
        d_in = own_d_in(mechanism)
        return TreeNode(mechanism, None, status, claim=own_loss(mechanism, d_in), d_in=d_in)

    def _charged(self, path: Path, receipt: AskReceipt) -> None:
        """Update the account of the compositor that charged an answer, and the child's report."""
        self._close()
        child = path[: len(path) - receipt.nested]
        node, below = self._node(child[:-1]), self._node(child)
        if node is not None and node.account is not None:
            node.account = receipt.account
            if below is not None:
                below.reported = receipt.realised

    def _fold(self, sequence: int, exchange: Exchange) -> None:
        for receipt in exchange.receipts:
            self._charged(exchange.path, receipt)
        node = self._node(exchange.path)
        if node is None:
            return
        query, answer = exchange.query, exchange.answer
        if isinstance(answer, Halted):
            node.status = HALTED
        if isinstance(answer, Remarked):
            node.remark = one_line(answer.remark)
        if is_launch(exchange):
            self._launched(sequence, node, exchange)
        elif is_paid(exchange):
            self._paid(sequence, node, exchange)
        elif type(answer) in OUTCOMES and node.account is not None and receipt_of(answer):
            self._charge(node, receipt_of(answer))  # of a launch of a postprocessor, for the answer
        elif isinstance(query, PrivacyLossQuery) and query.d_in is None:
            if isinstance(answer, Report) and node.runs is not None and node.runs.reports_loss:
                node.reported = answer
        elif isinstance(answer, Launched):
            self._adopted(node, exchange, answer)
        elif isinstance(answer, Failed):
            self._close()
            node.status = FAILED
            retire(node.children)

    def _charge(self, node: TreeNode, receipt: Receipt | None) -> None:
        """Set the compositor's account, and retire the children that the launch retires."""
        self._close()
        node.account = None if receipt is None else shown_after(receipt.account, node.account)
        if getattr(getattr(receipt, "mechanism", None), "retires_others", False) is True:
            retire(node.children)
        if not interleaves(node.runs):
            retire(node.children[-1:])  # earlier ones are retired already

    def _launched(self, sequence: int, node: TreeNode, exchange: Exchange) -> None:
        answer, receipt = exchange.answer, receipt_of(exchange.answer)
        if outcome_of(answer) is REFUSED:
            node.refused += 1
            return
        self._close()
        if receipt is None and isinstance(answer, Failed) and node.account is not None:
            node.status = FAILED  # it failed itself; otherwise there would be a receipt
            retire(node.children)
            return
        before = node.account
        if before is not None:
            self._charge(node, receipt)
        where = answer.child if isinstance(answer, Launched) else None
        runs = exchange.query.mechanism if receipt is None else receipt.mechanism
        child = self._child(runs, (*exchange.path, "" if where is None else where), answer)
        child.name, child.before, child.receipt = self._names.get(sequence), before, receipt
        if receipt is not None:
            child.claim, child.d_in = receipt.claim, receipt.d_in
            if isinstance(receipt.account, RunningTotal):
                child.before = receipt.account.before(before)
        node.children.append(child)

    def _paid(self, sequence: int, node: TreeNode, exchange: Exchange) -> None:
        """Add what a postprocessor bought for an answer, and charge the account below it."""
        self._close()
        cost = exchange.answer.cost
        if node.account is not None:
            node.account = node.account.plus(cost)
        name, called = self._names.get(sequence), asked_by(exchange.query)
        child = TreeNode(None, None, ANSWERED, name, cost, called=called)
        node.children.append(child)

    def _adopted(self, node: TreeNode, exchange: Exchange, answer: Launched) -> None:
        """Add a mechanism that a postprocessor launched to answer another query."""
        if answer.child is not None:
            self._close()
            child = self._started(None, (*exchange.path, answer.child), answer.answer)
            child.called = asked_by(exchange.query)
            node.children.append(child)


def _nothing(_: int) -> None:
    pass


def _refuse(node: TreeNode, _: int) -> None:
    node.refused += 1


def _in_turn(run: Launches, place: int) -> None:
    """Add a launch that retires the one before it."""
    if run.places and run.places[-1] in run.nodes:
        retire(Siblings([run.nodes[run.places[-1]]]))
    run.retire(place)
    run.places.append(place)
