"""One root at its anchor: what is kept there before a message reads data.

Responsible for the bound, in the amounts that the account of the root mechanism sums up, and for
the charge that takes an account up to it. `curator.anchors` has the file, and why this is enough.
"""

import threading
from contextlib import suppress
from fractions import Fraction
from typing import Any

import attrs

from composition.compositors.adaptive import AdaptiveComposition
from curator.anchors import Amounts, Anchor, AnchorError, Mark, SealedError, anchor_of
from curator.ledgers import Event, Ledger, LedgerError
from curator.lost import Lost
from queryable.conversation.stepping import DEAD
from queryable.errors import InteractiveError
from queryable.losses import Loss, measure_name
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Launch, Launched, LaunchMany, addressed, unnested
from queryable.running.journal import Message, Told
from queryable.running.root import MemoryRoot
from queryable.wording.quoting import quoted


def moored(
    anchor: Any,
    ledger: Ledger,
    root: str,
    mechanism: InteractiveMechanism[Any],
    opened: dict[str, Any],
    *,
    charge: bool,
) -> "Mooring | None":
    """A root that is in the ledger, at its anchor; None if it has no anchor.

    Args:
        opened: the body of the root's first event.
        charge: whether the root is to be charged if it is sealed.

    Raises:
        LedgerError: the root has an anchor and none was given, or the other way round.
        AnchorError: the anchor cannot be read, or has no mark of this root.
        SealedError: the ledger is behind the anchor, and the root is not to be charged.
    """
    if ("anchor" in opened) != (anchor is not None):
        raise LedgerError(
            f"root {root!r} was opened with an anchor: give it"
            if anchor is None
            else f"root {root!r} was opened without an anchor: leave it out, or open a root of "
            "another name"
        )
    if anchor is None:
        return None
    anchor = anchor_of(anchor)
    mark = anchor.marks().get(root)
    if mark is None or mark.salt != opened["salt"]:
        raise AnchorError(
            f"the anchor {anchor.path} has no mark of this root {root!r}: give the anchor that it "
            "was opened with"
        )
    found = Mooring(anchor, root, mechanism, mark)
    if mark.seq:
        event = next(ledger.read(root, mark.seq - 1), None)
        found.behind = event is None or event.hash != mark.hash
    if found.behind and not charge:
        raise found.sealed("the ledger is an old copy, or its last messages are lost")
    return found


def first_moored(
    anchor: Any, root: str, mechanism: InteractiveMechanism[Any], salt: str
) -> "Mooring":
    """A root that is not in the ledger yet, at its anchor.

    Raises:
        AnchorError: the anchor cannot be read or written.
        SealedError: the anchor has a root of this name: the ledger has lost it.
    """
    anchor = anchor_of(anchor)
    known = anchor.marks().get(root) if anchor.is_there() else None
    if known is not None and known.seq:
        raise SealedError(
            f"the anchor {anchor.path} knows a root {root!r} that this ledger does not have. Bring "
            "the ledger back; for another ledger, give another anchor"
        )
    empty = empty_account(mechanism)
    mark = Mark(salt, bound=None if empty is None else amounts_of(empty))
    found = Mooring(anchor, root, mechanism, mark)
    anchor.put(root, known, mark)
    return found


class Mooring:
    """One root at its anchor. It follows the root's messages.

    Args:
        mechanism: the root mechanism.
        mark: what the anchor has of the root.
    """

    def __init__(
        self, anchor: Anchor, root: str, mechanism: InteractiveMechanism[Any], mark: Mark
    ) -> None:
        self.anchor, self.root, self.mark = anchor, root, mark
        self._empty = empty_account(mechanism)
        self._account: Any = None  # the present one, once it is known
        self._floor: Amounts | None = None  # the bound before the message that is under way
        self.behind = False  # whether the ledger does not have the mark
        self._settled = False
        self._lock = threading.Lock()
        # Where a launch retires other children, it has to be known whether it was lost.
        self._block: Loss | None = None
        if self._empty is not None and getattr(mechanism, "interleaves", False):
            self._block = anchor.block
        measure: Any = getattr(mechanism, "child_measure", None)
        if self._block is not None and self._block.measure != measure:
            raise ValueError(
                f"block is {quoted(self._block)}; it should be a loss in the measure that launches "
                f"are charged in, {measure_name(measure)}"
            )

    def start(self, state: Any) -> None:
        """Follow from the state of the root mechanism."""
        known = self._empty is not None and state is not DEAD
        self._account = state.own.account if known else None

    @property
    def lacks(self) -> Amounts | None:
        """What the account is short of the bound; None if it is no sum."""
        spent, bound = amounts_of(self._account), self.mark.bound
        if spent is None or bound is None:
            return None
        return tuple(max(most - own, Fraction(0)) for own, most in zip(spent, bound, strict=True))

    def go_on(self, root: MemoryRoot, *, charge: bool) -> None:
        """Follow from the state of a root, after charging it up to the bound if it spent less.

        Raises:
            SealedError: it is not to be charged, or cannot be.
        """
        self.start(root.state)
        if not self.behind and not any(self.lacks or ()):
            return
        if not charge:
            raise self.sealed("the process ended while the bound was raised ahead")
        told, lacks, d_in = None, self.lacks, getattr(root.mechanism, "d_in", 1)
        while lacks is not None:  # a pool and the rest of a budget take a charge each
            before, told = lacks, None
            lost = Lost(self._account.costing(lacks), d_in, retires_others=self.behind)
            with suppress(InteractiveError):
                told = root.tell((), Launch(lost))
            lacks = self.lacks
            if not any(lacks or ()) or lacks == before:
                break
        if not isinstance(told, Launched) or any(self.lacks or ()):
            raise SealedError(
                f"root {self.root!r} is sealed for good: its ledger has lost messages, and what "
                "they cost cannot be charged to this mechanism. curator.view shows the answers "
                "that are left"
            )

    def sealed(self, why: str) -> SealedError:
        """The error of a root that waits for its owner."""
        return SealedError(
            f"root {self.root!r} is sealed: {why}. Bring back the newest copy of the ledger, or "
            "charge the root up to what was spent at most (charge_to_anchor=True, or `curator "
            "charge`). curator.view shows the answers that are left"
        )

    def keep(
        self,
        head: Event,
        message: Message | None = None,
        told: Told = (),
        *,
        answered: bool = False,
    ) -> None:
        """Have the anchor cover a message that is in the ledger, before data are read.

        Args:
            head: the last event of the ledger.
            told: the exchanges that stand if the message does not return.
            answered: whether they stand, and the answer is in the ledger.

        Raises:
            AnchorError: it does not cover it; nothing may be read.
        """
        with self._lock:
            if self._settled:
                raise AnchorError(f"open root {self.root!r} again: it was released")
            self._follow(message, told)
            spent, bound = amounts_of(self._account), self.mark.bound
            if spent is not None and bound is not None:
                covered = all(own <= most for own, most in zip(spent, bound, strict=True))
                ahead = self._block is not None and not self.behind
                if covered and ahead and _is_launch(message):
                    return
                if not answered:
                    self._floor = bound
                if answered and self._block is None and self._floor is not None:
                    # The worst case was covered before the answer told what it has cost.
                    bound = tuple(map(max, self._floor, spent))
                elif not covered:
                    bound = tuple(map(max, bound, self._ahead(spent)))
            self._put(attrs.evolve(self.mark, seq=head.seq, hash=head.hash, bound=bound))

    def settle(self, head: Event | None) -> None:
        """Lower the bound to what was spent; no more messages follow.

        Raises:
            AnchorError: the anchor cannot be written; its bound stands.
        """
        with self._lock:
            spent = amounts_of(self._account)
            ahead = self._block is not None and spent is not None and not self._settled
            self._settled = True
            if ahead and head is not None:
                self._put(attrs.evolve(self.mark, seq=head.seq, hash=head.hash, bound=spent))

    def _put(self, mark: Mark) -> None:
        self.anchor.put(self.root, self.mark, mark)
        self.mark, self.behind = mark, False

    def _follow(self, message: Message | None, told: Told) -> None:
        """Take the account from the root's receipts: of launches, and of what answers cost."""
        if self._empty is None or message is None:
            return
        below = len(unnested(addressed(message.path, message.query))[0]) - 1
        for exchange in told:
            receipt = getattr(exchange.answer, "receipt", None)
            if exchange.path == () and receipt is not None:
                self._account = receipt.account
            for each in exchange.receipts:
                if each.nested == below:  # otherwise of a compositor on the way
                    self._account = each.account

    def _ahead(self, spent: Amounts) -> Amounts:
        """The spent amounts and a block, but no more than the budget."""
        if self._block is None:
            return spent
        ahead, most = amounts_of(self._account.add(self._block)), self._account.limits()
        assert ahead is not None
        return ahead if most is None else tuple(map(max, spent, map(min, ahead, most)))


def _is_launch(message: Message | None) -> bool:
    """Whether a message launches at the root, and so asks no child that runs already."""
    return message is not None and not message.path and type(message.query) in (Launch, LaunchMany)


def empty_account(mechanism: InteractiveMechanism[Any]) -> Any:
    """The empty account of a filter or odometer that sums up; None for other mechanisms."""
    if not isinstance(mechanism, AdaptiveComposition) or not mechanism.recallable:
        return None
    account = mechanism.account()
    adds = account is not None and account.costing(account.amounts()) is not None
    return account if adds else None


def amounts_of(account: Any) -> Amounts | None:
    """What an account sums up; None for no account."""
    return None if account is None else account.amounts()
