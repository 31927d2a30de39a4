"""The nodes of a tree of mechanisms, and what the exchanges about them say.

Responsible for what a display reads of a node: its charge, its status and its share. `history`
makes the nodes.
"""

from fractions import Fraction
from typing import Any

import attrs

from queryable.answers.noisy import Paid
from queryable.display.siblings import Siblings
from queryable.losses import AdditiveLoss, Loss, Report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Failed, Halted, Launch, Launched, Refused
from queryable.optional import END_OF_NAME, LONGEST_NAME, one_line, public_name
from queryable.receipts import Receipt, RunningTotal
from queryable.running.log import Path
from queryable.statistics import IntegerStatistic
from queryable.streams.blocks import LaunchOver
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
    account: RunningTotal | None = None
    before: RunningTotal | None = None
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

    @property
    def counts(self) -> str:
        """What `share` is a share of: the budget, or what its rule adds up, such as rho."""
        account = self.before if self.account is None else self.account
        return (account.counts if isinstance(account, RunningTotal) else "") or "budget"

    def count(self) -> int:
        """Return the number of nodes in this subtree, including this one."""
        made = list(self.children.made())
        return 1 + len(self.children) - len(made) + sum(child.count() for child in made)


def asked_by(query: Any) -> str:
    """Return the class of a query, with its statistic or its `target` in words, if it has one."""
    name = type(query).__name__
    try:
        about = getattr(query, "statistic", None)
        words = about.asked if isinstance(about, IntegerStatistic) else query.target
        if isinstance(words, str) and words:
            name = f"{name}: {words}"
    except Exception:  # a query of the user's own class
        pass
    return one_line(name, LONGEST_NAME, END_OF_NAME)


OUTCOMES = {Launched: CHARGED, Failed: FAILED, Refused: REFUSED, Halted: REFUSED}


def shown_after(account: Any, before: RunningTotal | None) -> Any:
    """What is shown after a receipt; a person in the middle may have put any value in it."""
    return account.after(before) if isinstance(account, RunningTotal) else account


def about_of(receipt: Receipt | None) -> str:
    """Return what part of the data a launch read; empty for all of them."""
    known = receipt is not None and isinstance(receipt.account, RunningTotal)
    return receipt.account.about if known and receipt is not None else ""


def is_launch(exchange: Exchange) -> bool:
    """Whether the exchange is a launch that was answered."""
    return (
        isinstance(exchange.query, Launch | LaunchOver)
        and type(exchange.answer) in OUTCOMES
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
    return OUTCOMES[type(answer)]
