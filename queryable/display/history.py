"""The tree of mechanisms with the charge of each, computed from the view.

`History` is one fold over the exchanges. It is a function of the root mechanism, its view and the
names of launches. The analyst knows all of these, so the tree is postprocessing and reveals nothing
new about the data. It reads no state, sends no query and adds nothing up: charges and totals are
those of the receipts.

The view does not contain the messages between a postprocessor and the mechanism behind it. The
postprocessor's node therefore has no account, but its claim covers everything launched through it.
A postprocessor that `states_costs` is an exception: an answer that cost something is shown as one
purchase, and its cost is charged to the account of the mechanism behind it, by that account's own
`plus`. Receipts of other launches through it state the account as it is.
A failure is shown at the mechanism that was asked, although a postprocessor on the way may have
failed.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from queryable.answers import Paid, Remarked
from queryable.display.siblings import Run, Siblings
from queryable.losses import AdditiveLoss, Loss, Report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    Failed,
    Halted,
    Launch,
    Launched,
    LaunchOver,
    PrivacyLossQuery,
    Refused,
)
from queryable.optional import (
    END_OF_NAME,
    LONGEST_NAME,
    account_below,
    empty_account,
    interleaves,
    one_line,
    public_name,
    started_with,
)
from queryable.receipts import Account, AskReceipt, Receipt, own_d_in, own_loss
from queryable.running.log import Log, Path, Record
from queryable.statistics import IntegerStatistic
from queryable.view import Exchange

LIVE, ANSWERED, RETIRED, FAILED, HALTED = "live", "answered", "retired", "failed", "halted"
CHARGED, REFUSED = "charged", "refused"


@attrs.define(eq=False)
class TreeNode:
    """One mechanism of the tree.

    Attributes:
        runs: the mechanism; None if a postprocessor launched it, so that the view does not name it.
        path: the child ids that lead to it; None if it takes no queries or failed at launch.
        name: the name of its launch, if it has one.
        status: live, answered (a measurement), retired, failed, or halted.
        claim: its charge in its own measure; None if it has no loss of its own.
        d_in: the number of records that the claim is stated for.
        account: the current account of a compositor; None for other mechanisms.
        before, receipt: its parent's account before its launch, and the receipt of the launch.
        refused: the number of its launches that were refused.
        reported: if it has no account, its last answer to a query for its privacy loss.
        called: if the mechanism is unknown, the query that launched it and what that is about.
        remark: what its last answer says about itself, such as that a condition does not hold.
    """

    runs: InteractiveMechanism[Any] | None
    path: Path | None
    status: str = LIVE
    name: str | None = None
    claim: Loss | None = None
    d_in: int = 1
    account: Account | None = None
    before: Account | None = None
    receipt: Receipt | None = None
    refused: int = 0
    reported: Report | None = None
    called: str = "unknown"
    remark: str = ""
    children: "Siblings[TreeNode]" = attrs.field(factory=Siblings)

    @property
    def mechanism(self) -> str:
        """The public name of the mechanism."""
        return self.called if self.runs is None else public_name(self.runs)

    @property
    def about(self) -> str:
        """What part of the data its launch read, such as blocks; empty for all of them."""
        return about_of(self.receipt)

    @property
    def spent(self) -> Report | None:
        """The reported loss; without a report the claim, which is charged in full at launch."""
        if self.account is not None:
            return self.account.total()
        return self.claim if self.reported is None else self.reported

    @property
    def share(self) -> Fraction | None:
        """The used share of its budget; without an account, its share of its parent's budget."""
        if self.account is not None:
            return self.account.share()
        return self.cost

    @property
    def cost(self) -> Fraction | None:
        """The share of its parent's budget that its launch took."""
        if self.before is None or self.receipt is None:
            return None
        start, end = self.before.share(), self.receipt.account.share()
        return None if start is None or end is None else max(end - start, Fraction(0))

    def count(self) -> int:
        """Return the number of nodes in this subtree, including this one."""
        made = list(self.children.made())
        return 1 + len(self.children) - len(made) + sum(child.count() for child in made)


class History:
    """The tree of a root, computed by a fold over its exchanges.

    Args:
        mechanism, opening: the root mechanism and its first answer.
        exchanges: the exchanges with their sequence numbers. A range stands for entries of `log`
            that are launches of measurements at one path.
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
        self.root = self._started(mechanism, (), opening)
        if isinstance(opening, Failed):
            self.root.status = FAILED
        for piece in exchanges:
            self.add(piece, log)

    @classmethod
    def of(
        cls,
        mechanism: InteractiveMechanism[Any],
        opening: Answer,
        record: Record,
        names: Mapping[int, str],
    ) -> "History":
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
            self._measured(log, piece)

    def at(self, path: Path) -> TreeNode:
        """Return the node at a path; an empty one if a postprocessor hid its launch."""
        return self._nodes.get(path) or TreeNode(None, path)

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
        if isinstance(answer, Remarked):
            node.remark = one_line(answer.remark)
        if is_launch(exchange):
            self._launched(sequence, node, exchange)
        elif is_paid(exchange):
            self._paid(sequence, node, exchange)
        elif type(answer) in _OUTCOMES and node.account is not None and receipt_of(answer):
            self._charge(node, receipt_of(answer))  # of a launch of a postprocessor, for the answer
        elif isinstance(query, PrivacyLossQuery) and query.d_in is None:
            if isinstance(answer, Report) and node.runs is not None and node.runs.reports_loss:
                node.reported = answer
        elif isinstance(answer, Launched):
            self._adopted(node, exchange, answer)
        elif isinstance(answer, Failed):
            node.status = FAILED
            _retire(node.children)

    def _measured(self, log: Log, places: range) -> None:
        """Add consecutive launches of measurements; their nodes are made when they are read."""
        node = self._nodes.get(log.path(places[0]))
        if node is None:
            return
        first, known, names = node.account, node.account is not None, self._names

        def make(index: int) -> TreeNode:
            receipt, before = log.receipt(index), first
            if known and index > places[0]:
                before = log.receipt(index - 1).account
            child = TreeNode(receipt.mechanism, None, ANSWERED, names.get(log.sequence(index)))
            child.claim, child.d_in = receipt.claim, receipt.d_in
            child.before, child.receipt = before, receipt
            return child

        if known:
            self._charge(node, log.receipt(places[-1]))
        node.children.append(Run(places, make, log.kind))

    def _charge(self, node: TreeNode, receipt: Receipt | None) -> None:
        """Set the compositor's account, and retire the children that the launch retires."""
        node.account = None if receipt is None else _after(receipt.account, node.account)
        if getattr(getattr(receipt, "mechanism", None), "retires_others", False) is True:
            _retire(node.children)
        if not interleaves(node.runs):
            _retire(node.children[-1:])  # earlier ones are retired already

    def _launched(self, sequence: int, node: TreeNode, exchange: Exchange) -> None:
        answer, receipt = exchange.answer, receipt_of(exchange.answer)
        if outcome_of(answer) is REFUSED:
            node.refused += 1
            return
        if receipt is None and isinstance(answer, Failed) and node.account is not None:
            node.status = FAILED  # it failed itself; otherwise there would be a receipt
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
            child.claim, child.d_in = receipt.claim, receipt.d_in
            if isinstance(receipt.account, Account):
                child.before = receipt.account.before(before)
        node.children.append(child)

    def _paid(self, sequence: int, node: TreeNode, exchange: Exchange) -> None:
        """Add what a postprocessor bought for an answer, and charge the account below it."""
        cost = exchange.answer.cost
        if node.account is not None:
            node.account = node.account.plus(cost)
        name, called = self._names.get(sequence), asked_by(exchange.query)
        child = TreeNode(None, None, ANSWERED, name, cost, called=called)
        node.children.append(child)

    def _adopted(self, node: TreeNode, exchange: Exchange, answer: Launched) -> None:
        """Add a mechanism that a postprocessor launched to answer another query."""
        if answer.child is not None:
            child = self._started(None, (*exchange.path, answer.child), answer.answer)
            child.called = asked_by(exchange.query)
            node.children.append(child)


def asked_by(query: Any) -> str:
    """Return the class of a query, with the statistic that it is about, if it has one."""
    name = type(query).__name__
    try:
        if isinstance(query.statistic, IntegerStatistic):
            name = f"{name}: {query.statistic.asked}"
    except Exception:  # a query of the user's own class
        pass
    return one_line(name, LONGEST_NAME, END_OF_NAME)


_OUTCOMES = {Launched: CHARGED, Failed: FAILED, Refused: REFUSED, Halted: REFUSED}


def _after(account: Any, before: Account | None) -> Any:
    """What is shown after a receipt; a person in the middle may have put any value in it."""
    return account.after(before) if isinstance(account, Account) else account


def about_of(receipt: Receipt | None) -> str:
    """Return what part of the data a launch read; empty for all of them."""
    known = receipt is not None and isinstance(receipt.account, Account)
    return receipt.account.about if known and receipt is not None else ""


def is_launch(exchange: Exchange) -> bool:
    """Whether the exchange is a launch that was answered."""
    return (
        isinstance(exchange.query, Launch | LaunchOver)
        and type(exchange.answer) in _OUTCOMES
        and isinstance(exchange.query.mechanism, InteractiveMechanism)
    )


def is_paid(exchange: Exchange) -> bool:
    """Whether a postprocessor bought something for the answer, and states what it cost."""
    cost = exchange.answer.cost if isinstance(exchange.answer, Paid) else None
    return isinstance(cost, AdditiveLoss) and any(cost.parts)


def receipt_of(answer: Answer) -> Receipt | None:
    """Return the receipt of a launch, or None; a postprocessor may have replaced it."""
    return answer.receipt if isinstance(answer.receipt, Receipt) else None


def outcome_of(answer: Answer) -> str:
    """Return how a launch ended: charged, failed or refused."""
    return _OUTCOMES[type(answer)]


def _retire(children: Siblings[TreeNode]) -> None:
    waiting = list(children.made())
    while waiting:
        node = waiting.pop()
        if node.status in (LIVE, HALTED):
            node.status = RETIRED
        waiting += node.children.made()
