"""One message after the other: charges, refusals, ids and names, against what came before."""

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from curator.codec import Codec
from curator.logs.batches import Course
from curator.verification.accounts import (
    Amounts,
    Json,
    WrongAccountError,
    amounts_text,
    compact,
    tag_of,
)
from curator.verification.blocks import ACCOUNTS, LAUNCH, KnownBlocks
from curator.verification.charges import (
    Claims,
    Spender,
    UnknownMechanismError,
    asked_below,
    is_spender,
)
from curator.verification.effects import require_effect
from curator.verification.tree import Path, Tree, TreeMember
from queryable.losses import AdditiveLoss
from queryable.losses.numbers import BeyondReachError

_DECLINED = frozenset({"refused/1", "halted/1"})
_REFUSED = {"@": "refused/1"}
_FULL = "at mechanism count limit"
_LAUNCHES = frozenset({"launch/1", LAUNCH})
_MANY = {"launch-many/1": "launches", "ask-many/1": "queries"}


class Messages:
    """What was checked of the messages so far.

    Attributes:
        charges: charges whose account was computed again.
        claims: charges that were compared with the loss that the mechanism states.
        uncompared: charges of mechanisms whose stated loss is not known.
        refusals: refusals of launches that were found not to fit.
        persons: charges of compositors behind a person in the middle.
        unchecked: kinds of accounts that were not computed, each with its number.
    """

    def __init__(self, codec: Codec, course: Course) -> None:
        self.tree = Tree(course)
        self.charges = self.claims = self.uncompared = self.refusals = self.persons = 0
        self.unchecked: dict[str, int] = {}
        self._codec, self._claims = codec, Claims(codec)
        self._names: set[tuple[Path, str]] = set()
        self._keys: set[str] = set()

    def take(self, asked: Json, answered: Json) -> None:
        """Check the next message and its answer.

        Raises:
            WrongAccountError: they contradict what came before.
        """
        path, query = tuple(asked["path"]), json.loads(asked["query"])
        while tag_of(query) == "ask/1":
            path, query = (*path, query["child"]), query["query"]
        node, answer = self.tree.node(path), json.loads(answered["answer"])
        known = node is not None or not path or self._is_hidden(path)
        outcomes = answer if isinstance(answer, list) else [answer]
        if not known and {tag_of(each) for each in outcomes} != {"failed/1"}:
            # A mechanism that has failed gives that answer whatever it is asked.
            raise WrongAccountError(f"asks {list(path)}, which was never launched")
        entries = list(_entries(query, answer))
        charges = answered.get("charges", asked.get("charges", ()))
        charged: dict[int, Json] = {}
        for charge in charges:
            if "ask" in charge:
                self._answered(path, query, charge, answer, retired=answered.get("retired"))
            else:
                charged[charge["place"]] = charge
        for place, (launch, outcome) in enumerate(entries):
            charge = charged.pop(place, None)
            stands = answered.get("standing") and self._stands(node, charge)
            self._entry(path, node, launch, _REFUSED if stands else outcome, charge)
        if charged:
            raise WrongAccountError("has a charge for a launch that is not in the message")
        if "standing" not in answered:
            require_effect(
                answered["effect"],
                entries,
                self._codec,
                many=tag_of(query) in _MANY,
                still="still" in answered,
            )
        if not charges and tag_of(answer) == "refused/1":
            self._declined_ask(path, query)
        self._named(path, asked.get("names", ()), entries)
        if "key" in asked:
            if asked["key"] in self._keys:
                raise WrongAccountError("answers a request a second time")
            self._keys.add(asked["key"])

    @staticmethod
    def _stands(node: TreeMember | None, charge: Json | None) -> bool:
        """Whether an account is that of before: among several launches that have no answer yet."""
        if charge is None or node is None:
            return False
        account = json.loads(charge["account"])
        if node.blocks is not None and tag_of(account) == ACCOUNTS:
            accounts = node.blocks.read(account)
            return accounts is not None and node.blocks.stands(accounts)
        if node.kind is None or not node.kind.adds:
            return False
        return bool(account == node.account)

    def _is_hidden(self, path: Path) -> bool:
        above = (self.tree.node(path[:depth]) for depth in range(len(path)))
        return any(node is not None and node.hidden for node in above)

    def _entry(
        self, path: Path, node: TreeMember | None, launch: Json, outcome: Json, charge: Json | None
    ) -> None:
        mechanism = launch.get("mechanism") if isinstance(launch, dict) else None
        if charge is not None:
            self._charge(path, node, launch, outcome, charge)
            if "mechanism" in charge:
                mechanism = json.loads(charge["mechanism"])
        elif tag_of(launch) == "launch/1" and node is not None:
            if tag_of(node.mechanism) == "universal/1":
                if tag_of(outcome) not in _DECLINED:
                    self._chosen(path, node, launch)
                return
            self._require_free(node, outcome, composes=node.composes)
        elif tag_of(launch) == LAUNCH and node is not None:
            self._require_free(node, outcome, composes=node.blocks is not None)
        if tag_of(outcome) == "launched/1" and outcome.get("child") is not None:
            self.tree.launched(path, outcome["child"], mechanism)

    @staticmethod
    def _require_free(node: TreeMember, outcome: Json, *, composes: bool) -> None:
        if composes and not node.hidden and tag_of(outcome) == "launched/1":
            raise WrongAccountError("launches a mechanism and charges nothing for it")

    def _charge(
        self, path: Path, node: TreeMember | None, launch: Json, outcome: Json, charge: Json
    ) -> None:
        account, kind = json.loads(charge["account"]), None
        if node is not None and node.blocks is not None and tag_of(account) == ACCOUNTS:
            self._charge_blocks(node, node.blocks, launch, outcome, charge, account)
            return
        if node is not None and not node.unknown:
            kind = node.accept(account)
        if node is None or kind is None:
            self._skip(tag_of(account))
            return
        if charge["d_in"] != node.d_in:
            raise WrongAccountError(f"is charged at d_in={charge['d_in']}, not {node.d_in}")
        if tag_of(outcome) in _DECLINED:
            self._declined(node, charge, account, outcome)
            return
        if node.halted:
            raise WrongAccountError("is admitted after the compositor has halted")
        loss = self._claims.read(charge["charged"])
        spender = self._spender(node, launch, charge, outcome)
        kind.moved(node.account, loss, account, least=node.hidden)
        self._require_within(node, account)
        identity, child = node.launches, outcome.get("child")
        if not node.hidden and child is not None and child != identity:
            raise WrongAccountError(f"gives the id {child!r} to child {identity}")
        if spender is not None:
            if not node.hidden:
                if tuple(spender.charge[: len(loss.parts)]) != loss.parts:
                    raise WrongAccountError(
                        f"charges {loss}; it has cost {amounts_text(spender.charge)}"
                    )
                self.claims += 1
            node.spenders[identity if child is None else child] = spender
        else:
            self._compare(node, launch, charge, loss)
        node.account, node.launches = account, node.launches + 1
        self.charges += 1
        self.persons += node.hidden

    def _charge_blocks(
        self,
        node: TreeMember,
        blocks: KnownBlocks,
        launch: Json,
        outcome: Json,
        charge: Json,
        account: Json,
    ) -> None:
        """A launch over blocks: each that it names is charged, or none is."""
        accounts = None if blocks.unknown else blocks.read(account)
        if accounts is None:
            self._skip(ACCOUNTS)
            return
        if not node.hidden:
            blocks.require_named(launch, accounts)
        if charge["d_in"] != blocks.d_in(len(accounts)):
            wanted = blocks.d_in(len(accounts))
            raise WrongAccountError(f"is charged at d_in={charge['d_in']}, not {wanted}")
        loss = self._claims.read(charge["charged"])
        self.charges += 1
        self.persons += node.hidden
        if tag_of(outcome) in _DECLINED:
            self._declined_over(node, blocks, accounts, loss, str(outcome.get("reason")))
            return
        try:
            verdicts = blocks.charge(accounts, loss, least=node.hidden)
        except BeyondReachError:
            self._skip(f"{ACCOUNTS}, a limit beyond reach")
        else:
            if False in verdicts:
                raise WrongAccountError("admits a launch above the budget of a block")
        child = outcome.get("child")
        if not node.hidden and child is not None and child != node.launches:
            raise WrongAccountError(f"gives the id {child!r} to child {node.launches}")
        self._compare(node, launch, charge, loss)
        node.launches += 1

    def _declined_over(
        self, node: TreeMember, blocks: KnownBlocks, accounts: Any, loss: Any, reason: str
    ) -> None:
        """A refusal of a launch over blocks: none was charged, and one of them cannot pay."""
        try:
            fits = blocks.decline(accounts, loss, least=node.hidden)
        except BeyondReachError:
            fits = None
        full = blocks.most is not None and node.launches >= int(blocks.most)
        if reason.endswith(_FULL) and not full and not node.hidden:
            raise WrongAccountError(f"refuses launch {node.launches} by a limit of {blocks.most}")
        if fits and not reason.endswith(_FULL):
            raise WrongAccountError(f"refuses {loss}, which fits in every block")
        self.refusals += 1

    def _require_within(self, node: TreeMember, account: Json) -> None:
        assert node.kind is not None
        amounts = node.kind.amounts(account)
        try:
            verdict = node.kind.verdict(amounts, account)
        except BeyondReachError:
            self._skip(f"{tag_of(account)}, a limit beyond reach")
            return
        if verdict is False:
            raise WrongAccountError(f"admits {amounts_text(amounts)}, above the budget")

    def _spender(
        self, node: TreeMember, launch: Json, charge: Json, outcome: Json
    ) -> Spender | None:
        """A child that is charged as it answers; None for every other one."""
        if not node.spends or launch.get("d_out") is not None:
            return None
        try:
            mechanism = self._claims.read(_mechanism_of(launch, charge))
        except UnknownMechanismError:
            return None
        if not is_spender(mechanism):
            return None
        failed = tag_of(outcome) == "failed/1"
        answer = None if failed else self._claims.read(compact(outcome.get("answer")))
        return Spender.started(mechanism, charge["d_in"], answer, failed=failed)

    def _compare(self, node: TreeMember, launch: Json, charge: Json, loss: Any) -> None:
        """Compare a charge with the loss that the launch states."""
        d_out = launch.get("d_out")
        if node.hidden and "mechanism" not in charge and tag_of(launch) not in _LAUNCHES:
            self.uncompared += 1
            return
        try:
            self._claims.require(
                _mechanism_of(launch, charge),
                None if d_out is None else compact(d_out),
                charge["d_in"],
                loss,
            )
        except UnknownMechanismError:
            self.uncompared += 1
        else:
            self.claims += 1

    def _declined(self, node: TreeMember, charge: Json, account: Json, outcome: Json) -> None:
        """A refusal: nothing was charged, and the launch does not fit."""
        kind = node.kind
        assert kind is not None
        new = kind.amounts(account)
        old = kind.empty() if node.account is None else kind.amounts(node.account)
        more = node.hidden and all(a >= b for a, b in zip(new, old, strict=False))
        if new != old and not more:
            raise WrongAccountError(
                f"has an account of {amounts_text(new)} after a refusal of {amounts_text(old)}"
            )
        self.charges += 1
        self.persons += node.hidden
        if node.halted or "charged" not in charge:
            if not node.halted and not node.hidden:
                raise WrongAccountError("halts without a launch that does not fit")
            return
        most = (node.mechanism or {}).get("max_mechanisms")
        if outcome.get("reason") == _FULL:
            if most is None or (not node.hidden and node.launches < most):
                raise WrongAccountError(f"refuses launch {node.launches} by a limit of {most}")
        else:
            loss = self._claims.read(charge["charged"])
            try:
                fits = kind.after(account, loss)
            except BeyondReachError:
                fits = None
            if fits and not (node.spends and loss.parts[0] == 0):
                raise WrongAccountError(f"refuses {loss}, which fits after {amounts_text(new)}")
        self.refusals += 1
        node.halted = tag_of(outcome) == "halted/1"

    def _chosen(self, path: Path, node: TreeMember, launch: Json) -> None:
        """The launch that a `Universal` becomes."""
        assert node.mechanism is not None
        budget = self._claims.read(compact(node.mechanism["budget"]))
        d_out, text = launch.get("d_out"), compact(launch["mechanism"])
        try:
            self._claims.require(
                text, None if d_out is None else compact(d_out), node.d_in or 1, budget
            )
        except UnknownMechanismError:
            self.uncompared += 1
        else:
            self.claims += 1
        self.charges += 1
        amounts: Amounts = budget.parts if isinstance(budget, AdditiveLoss) else ()
        self.tree.replace(path, launch["mechanism"], amounts)

    def _answered(
        self, path: Path, query: Json, charge: Json, answer: Json, *, retired: int | None
    ) -> None:
        """A charge that changed with an answer."""
        receipt = json.loads(charge["ask"])
        depth = len(path) - 1 - receipt["nested"]
        place, below = path[:depth], path[depth + 1 :]
        node, child = self.tree.node(place), receipt["child"]
        if depth < 0 or path[depth] != child:
            raise WrongAccountError(f"has a receipt of child {child!r}, which was not asked")
        spender = None if node is None else node.spenders.get(child)
        kind = None if node is None or node.unknown else node.accept(receipt["account"])
        if node is None or kind is None or spender is None:
            self._skip("ask-receipt/1")
            return
        asked = asked_below(below, self._claims.read(compact(query)))
        lost = retired is not None and retired <= depth + 1
        moved, failed = spender.then(asked, self._claims.read(compact(answer)), failed=lost)
        if lost or (tag_of(answer) == "failed/1" and _cost(receipt) == failed.charge):
            moved = failed
        if _cost(receipt) != moved.charge:
            raise WrongAccountError(
                f"says that child {child!r} has cost {amounts_text(_cost(receipt))}; it is "
                f"{amounts_text(moved.charge)}"
            )
        old = kind.empty() if node.account is None else kind.amounts(node.account)
        change = *(b - a for a, b in zip(spender.charge, moved.charge, strict=True)), Fraction(0)
        new = kind.amounts(receipt["account"])
        kind.follows(old, change[: len(old)], new, least=node.hidden)
        self._require_within(node, receipt["account"])
        node.account, node.spenders[child] = receipt["account"], moved
        self.charges += 1
        self.claims += 1

    def _declined_ask(self, path: Path, query: Json) -> None:
        """A query that a compositor refused because of what its answer might cost."""
        for depth in range(len(path)):
            node = self.tree.node(path[:depth])
            spender = None if node is None else node.spenders.get(path[depth])
            if node is None or node.kind is None or node.account is None:
                continue
            if spender is None or node.hidden:
                continue
            asked = asked_below(path[depth + 1 :], self._claims.read(compact(query)))
            more = spender.worst(asked) - spender.charge[0]
            old = node.spent or node.kind.empty()
            if node.kind.verdict((old[0] + more, *old[1:]), node.account) is not False:
                raise WrongAccountError("refuses a query whose worst case fits")
            self.refusals += 1

    def _named(self, path: Path, names: Any, entries: list[tuple[Json, Json]]) -> None:
        for name, (_, outcome) in zip(names, entries, strict=False):
            if name is None or tag_of(outcome) in _DECLINED:
                continue
            if (path, name) in self._names:
                raise WrongAccountError(f"launches {name!r} a second time")
            self._names.add((path, name))

    def _skip(self, tag: str) -> None:
        self.unchecked[tag] = self.unchecked.get(tag, 0) + 1


def _cost(receipt: Json) -> tuple[Any, ...]:
    realised = receipt["realised"]
    return Fraction(realised["epsilon"]), Fraction(realised["delta"])


def _mechanism_of(launch: Json, charge: Json) -> str:
    text = charge.get("mechanism")
    return text if isinstance(text, str) else compact(launch["mechanism"])


def _entries(query: Json, answer: Any) -> Iterator[tuple[Json, Json]]:
    """The entries of a message, each with its answer; one answer may be that of all."""
    field = _MANY.get(tag_of(query))
    if field is None:
        yield query, answer
        return
    several = query[field]
    entries = several["items"] if isinstance(several, dict) else several
    answers = answer if isinstance(answer, list) else [answer] * len(entries)
    yield from zip(entries, answers, strict=True)
