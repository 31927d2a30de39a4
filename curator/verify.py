"""Check the ledger of a root without the data and without the key.

Responsible for checking the chain of hashes, the order of the events, and every account. An account
is computed again from the charges in the log, with arithmetic of this module's own: it shares the
loss classes with the compositors, and none of their rules. So a defect in the accounting of a
compositor is found, and so is a changed event. A whole tail that is missing is found only by
somebody who knows a later hash: every export ends with it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import log, sqrt
from typing import Any

import attrs

from curator.codec import CODEC, Codec
from curator.ledgers import BrokenChainError, Event, LedgerError, chained
from queryable.losses import GDP, ZCDP, AdditiveLoss, ApproxDP, Loss

Path = tuple[Any, ...]
Amounts = tuple[Fraction, ...]


class VerificationError(LedgerError):
    """The events of a root contradict each other."""


@attrs.frozen
class Verified:
    """What was checked of a root.

    Attributes:
        root: its name.
        events: the number of events.
        head: the hash of the last event. Whoever knows it can tell that a later copy goes on.
        messages: the number of messages that have an answer.
        unanswered: whether the last message has none.
        closed: whether the root is closed.
        charges: the number of charges after which the account was computed again.
        claims: the number of those whose charge was compared with the mechanism's own loss.
        unchecked: kinds of accounts that this module cannot compute, each with its number.
        spent: what each compositor has charged, by the path to it.
    """

    root: str
    events: int
    head: str
    messages: int
    unanswered: bool
    closed: bool
    charges: int
    claims: int
    unchecked: Mapping[str, int]
    spent: Mapping[Path, Amounts]


def verify(events: Iterable[Event], *, head: str | None = None, codec: Codec = CODEC) -> Verified:
    """Check all events of one root.

    Args:
        head: the hash of an event that has to be among them, such as the last one that was seen.

    Raises:
        BrokenChainError: an event is not what was appended, or `head` is missing.
        VerificationError: the order of the events or an account is wrong.
    """
    checks, last, seen = _Checks(codec), None, head is None
    for event in chained(events):
        checks.take(event)
        last, seen = event, seen or event.hash == head
    if last is None:
        raise VerificationError("there are no events")
    if not seen:
        raise BrokenChainError(
            f"root {last.root!r}: no event has the hash {head}; events after {last.seq} are missing"
        )
    return Verified(
        last.root,
        last.seq,
        last.hash,
        checks.messages,
        checks.pending is not None,
        checks.closed,
        checks.charges,
        checks.claims,
        checks.unchecked,
        checks.spent,
    )


class _Checks:
    """What has been checked so far."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.pending: Event | None = None
        self._again = self.closed = False
        self.messages = self.charges = self.claims = 0
        self.unchecked: dict[str, int] = {}
        self.spent: dict[Path, Amounts] = {}
        self._given_up: set[Path] = set()

    def take(self, event: Event) -> None:
        """Check the next event."""
        try:
            body = json.loads(event.body)
            self._in_order(event, body)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise VerificationError(
                f"root {event.root!r}: event {event.seq} ({event.kind}) is not what a curator "
                f"writes: {type(error).__name__}: {error}"
            ) from error

    def _in_order(self, event: Event, body: dict[str, Any]) -> None:
        waits = None if self.pending is None else self.pending.seq
        if self.closed:
            raise _wrong(event, "comes after the root was closed")
        if (event.kind == "opened") != (event.seq == 1):
            raise _wrong(event, "is out of order: a root begins with `opened`")
        match event.kind:
            case "opened" | "intent":
                if waits is not None:
                    raise _wrong(event, f"comes before the answer of event {waits}")
                self.pending, self._again = event, False
            case "again":
                if body["of"] != waits or self._again:
                    raise _wrong(event, "runs a message again that was answered or ran twice")
                self._again = True
            case "answer":
                if body["of"] != waits or self.pending is None:
                    raise _wrong(event, "answers an event that waits for no answer")
                asked = json.loads(self.pending.body)
                if self.pending.kind == "intent" and not body.get("void"):
                    self._message(event, asked, body)
                self.pending = None
            case "exchange":
                if waits is not None:
                    raise _wrong(event, f"comes before the answer of event {waits}")
                self._message(event, body, body)
            case "closed":
                self.closed = True

    def _message(self, event: Event, asked: dict[str, Any], answered: dict[str, Any]) -> None:
        self.messages += 1
        path, query = tuple(asked["path"]), json.loads(asked["query"])
        while query.get("@") == "ask/1" if isinstance(query, dict) else False:
            path, query = (*path, query["child"]), query["query"]
        answer = json.loads(answered["answer"])
        for charge in answered.get("charges", asked.get("charges", ())):
            if "ask" in charge:  # the charge of a child changed with its answer
                self._give_up(path, "ask-receipt/1")
            elif "charged" in charge:
                place = charge["place"]
                launch = _entries(query, "launch-many/1", "launches")[place]
                outcome = answer[place] if isinstance(answer, list) else answer
                self._charge(event, path, launch, charge, _tag(outcome))

    def _charge(
        self, event: Event, path: Path, launch: Any, charge: dict[str, Any], outcome: str
    ) -> None:
        account = json.loads(charge["account"])
        rule = _RULES.get(_tag(account))
        if rule is None or path in self._given_up:
            self._give_up(path, _tag(account))
            return
        loss = self._codec.decode(charge["charged"])
        amounts, limits = rule.read(account)
        before = self.spent.get(path, tuple(Fraction(0) for _ in amounts))
        after = before
        if outcome not in {"refused/1", "halted/1"}:
            added = rule.added(account, loss)
            after = tuple(old + new for old, new in zip(before, added, strict=True))
            self._claimed(event, launch, charge, loss)
        if amounts != after:
            raise _wrong(event, f"has an account of {_told(amounts)}; it should be {_told(after)}")
        if limits is not None and any(not a <= most for a, most in zip(after, limits, strict=True)):
            raise _wrong(event, f"admits {_told(after)}, above the budget of {_told(limits)}")
        self.spent[path] = after
        self.charges += 1

    def _claimed(self, event: Event, launch: Any, charge: dict[str, Any], charged: Loss) -> None:
        """Compare a charge with the loss that the launch states, if that is of the same measure."""
        if "d_out" in launch:
            claim = self._codec.decode(_written(launch["d_out"]))
        else:
            mechanism = self._codec.decode(_written(launch["mechanism"]))
            try:
                claim = mechanism.privacy_map(charge["d_in"])
            except Exception:  # a site's own mechanism may raise anything; the claim is not counted
                return
        if isinstance(claim, Loss) and claim.measure == charged.measure:
            if not claim.implies(charged):
                raise _wrong(event, f"charges {charged} for a launch whose loss is {claim}")
            self.claims += 1

    def _give_up(self, path: Path, tag: str) -> None:
        self._given_up.add(path)
        self.spent.pop(path, None)
        self.unchecked[tag] = self.unchecked.get(tag, 0) + 1


@attrs.frozen
class _Rule:
    """How one kind of account is computed: its amounts and limits, and what a charge adds."""

    read: Callable[[dict[str, Any]], tuple[Amounts, Amounts | None]]
    added: Callable[[dict[str, Any], Any], Amounts]


def _parts(texts: Iterable[str]) -> Amounts:
    return tuple(map(Fraction, texts))


def _added_parts(_: dict[str, Any], loss: Any) -> Amounts:
    assert isinstance(loss, AdditiveLoss)
    return loss.parts


def _slack(account: dict[str, Any]) -> tuple[Amounts, Amounts]:
    """The weight and the deltas. The capacity is checked against the budget."""
    budget, slack = account["budget"], Fraction(account["slack"])
    capacity = Fraction(account["capacity"])
    _WEIGHTS[_tag(account["rule"])].check(capacity, slack, Fraction(budget["epsilon"]))
    limits = (capacity, Fraction(budget["delta"]) - slack)
    return (Fraction(account["weight"]), Fraction(account["deltas"])), limits


def _slack_added(account: dict[str, Any], loss: Any) -> Amounts:
    weight = _WEIGHTS[_tag(account["rule"])].weight(loss)
    return (weight, Fraction(0) if isinstance(loss, GDP) else loss.delta)


@attrs.frozen
class _Weight:
    """What a rule sums up, and whether a sum of it is within (epsilon, slack)."""

    weight: Callable[[Any], Fraction]
    check: Callable[[Fraction, Fraction, Fraction], None]


def _epsilon(loss: Loss, slack: Fraction) -> Fraction:
    approx = loss.to(ApproxDP, delta=slack)
    assert isinstance(approx, ApproxDP)
    return approx.epsilon


def _within(epsilon: Any, most: Fraction) -> None:
    if not float(epsilon) <= float(most) * (1 + 1e-9):
        raise ValueError(f"the capacity gives epsilon {float(epsilon)}, above {float(most)}")


_WEIGHTS = {
    "via-zcdp/1": _Weight(
        lambda loss: loss.rho,
        lambda rho, slack, most: _within(_epsilon(ZCDP(rho), slack), most),
    ),
    "via-gdp/1": _Weight(
        lambda loss: loss.mu**2,
        lambda square, slack, most: _within(_epsilon(GDP(Fraction(sqrt(square))), slack), most),
    ),
    "rogers-2023/1": _Weight(
        lambda loss: loss.rho,
        lambda rho, slack, most: _within(sqrt(-4 * log(slack) * rho) + rho, most),
    ),
    "whitehouse-2023/1": _Weight(
        lambda loss: loss.epsilon**2,
        lambda v, slack, most: _within(sqrt(-2 * log(slack) * v) + v / 2, most),
    ),
}


def _menu_added(account: dict[str, Any], loss: Any) -> Amounts:
    """The units of the smallest entry of the menu that is at least epsilon, and delta."""
    entries = sorted((int(entry), int(cost)) for entry, cost in account["priced"])
    steps = loss.epsilon / Fraction(account["unit"])
    costs = (cost for entry, cost in entries if steps <= entry)
    return (Fraction(next(costs) if steps else 0), loss.delta)


_RULES: dict[str, _Rule] = {
    "additive-account/1": _Rule(
        lambda account: (_parts(account["sum"]["parts"]), _parts(account["most"])), _added_parts
    ),
    "running-sum/1": _Rule(lambda account: (_parts(account["parts"]), None), _added_parts),
    "renyi-account/1": _Rule(lambda account: (_parts(account["losses"]), None), _added_parts),
    "slack-account/1": _Rule(_slack, _slack_added),
    "menu-account/1": _Rule(
        lambda account: ((Fraction(account["used"]), Fraction(account["deltas"])), None),
        _menu_added,
    ),
    "rogers-account/1": _Rule(
        lambda account: ((Fraction(account["variance"]),), None), lambda _, loss: (loss.epsilon**2,)
    ),
}


def _tag(value: Any) -> str:
    return str(value.get("@", "")) if isinstance(value, dict) else ""


def _entries(query: Any, tag: str, field: str) -> list[Any]:
    """The launches of a query that has several, or the query alone."""
    if _tag(query) != tag:
        return [query]
    several = query[field]
    return list(several["items"] if isinstance(several, dict) else several)


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _told(amounts: Amounts) -> str:
    return ", ".join(f"{float(amount):.6g}" for amount in amounts)


def _wrong(event: Event, problem: str) -> VerificationError:
    return VerificationError(f"root {event.root!r}: event {event.seq} ({event.kind}) {problem}")
