"""What a compositor's mechanism fixes in its account: budget, rule, slack, capacity, orders.

The mechanism is in the ledger: in the root's first event, or in the launch of a child. So an
account that has another budget, or a capacity that its budget does not give, is found.
"""

import json
from functools import lru_cache
from typing import Any

from composition.rules.checks.account import Accountable
from curator.codec import CODEC, CodecError
from curator.verification.accounts import (
    Json,
    WrongAccountError,
    amounts_text,
    compact,
    read,
    tag_of,
)
from curator.verification.charges import tags_in
from curator.verification.running import KINDS, fixed_of

FILTERS = frozenset({"filt/1", "filt-con/1", "filt-seq/1", "ex-post/1"})
ODOMETERS = frozenset({"odom/1", "odom-con/1", "odom-seq/1"})
INDIVIDUAL = "individual/1"
"""A filter with an account for each record."""
_TAGS = frozenset(entry.tag for entry in CODEC.entries)
_NAMES = {"@": "account", "most": "limits", "priced": "menu"}
"""What a field of an account is called for people, where its name is not enough."""


def opened_by(mechanism: Json, account: Json) -> Accountable:
    """The account that a compositor opens, which an account of it has to agree with.

    Raises:
        WrongAccountError: it does not.
        KeyError: the rule is not one of ours.
    """
    text = compact(mechanism)
    if not is_ours(mechanism):
        raise KeyError(tag_of(mechanism))
    opened = _opened(text)
    if any(opened.amounts()):
        raise WrongAccountError(f"begins with an account of {amounts_text(opened.amounts())}")
    wanted = fixed_of(json.loads(CODEC.encode(opened)))
    _require_stated(mechanism, wanted)
    _require_same(fixed_of(account), wanted, text, frozenset())
    wrong = read(account).wrong_terms()
    if wrong:
        raise WrongAccountError(wrong)
    return opened


def is_ours(mechanism: Json) -> bool:
    """Whether all classes in the text of a compositor are the package's."""
    return _TAGS.issuperset(tags_in(compact(mechanism)))


def _require_stated(mechanism: Json, opened: Json) -> None:
    """Check what an opened account has of the mechanism's text: the budget and the slack.

    The slack of a rule that states none is the whole delta of the budget.

    Raises:
        WrongAccountError: it has something else.
    """
    budget, rule = mechanism.get("budget"), mechanism.get("rule")
    stated = {"budget": budget, "slack": mechanism.get("slack")}
    if isinstance(budget, dict) and "delta" in budget and isinstance(rule, dict):
        stated["slack"] = rule.get("slack") or budget["delta"]
    slack = opened.get("slack", opened.get("mixture", {}).get("slack"))
    for name, have in (("budget", opened.get("budget")), ("slack", slack)):
        said = stated.get(name)
        if have is not None and said is not None and tag_of(have) == tag_of(said) and have != said:
            raise WrongAccountError(
                f"opens an account with {name} {compact(have)}; the compositor has {compact(said)}"
            )


def measure_of(mechanism: Json | None) -> Any:
    """The measure of the losses that a compositor charges; None if it is not one alone."""
    if not mechanism or mechanism.get("slack"):
        return None
    return _measure(compact(mechanism))


@lru_cache(maxsize=256)
def _measure(mechanism: str) -> Any:
    try:
        return getattr(CODEC.decode(mechanism), "child_measure", None)
    except CodecError:
        return None


@lru_cache(maxsize=256)
def _opened(mechanism: str) -> Accountable:
    try:
        account = CODEC.decode(mechanism).account()
    except CodecError as error:
        raise WrongAccountError(f"has no compositor of ours: {error}") from None
    assert isinstance(account, Accountable)
    return account


def _require_same(found: Json, wanted: Json, mechanism: str, derived: frozenset[str]) -> None:
    """Check all fields, except derived ones that the mechanism's text does not state."""
    kind = KINDS.get(tag_of(wanted))
    derived = derived.union(kind.account.derived if kind else ())
    for name, each in wanted.items():
        have: Any = found.get(name)
        if name in derived and f'"{name}":' not in mechanism:
            continue
        parted = isinstance(each, dict) and (tag_of(each) in KINDS or not derived.isdisjoint(each))
        if parted and tag_of(have) == tag_of(each):
            _require_same(have, each, mechanism, derived)
        elif have != each:
            raise WrongAccountError(
                f"has {_NAMES.get(name, name)} {compact(have)} in its account; the compositor has "
                f"{compact(each)}"
            )
