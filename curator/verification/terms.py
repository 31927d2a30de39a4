"""What a compositor's mechanism fixes in its account: budget, rule, slack, capacity, orders.

The mechanism is in the ledger: in the root's first event, or in the launch of a child. So an
account that has another budget, or a capacity that its budget does not give, is found.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from curator.codec import CODEC
from curator.verification import odometers
from curator.verification.accounts import (
    Json,
    WrongAccountError,
    compact,
    fractions_of,
    tag_of,
)
from curator.verification.rules import weight_within
from queryable.losses import AdditiveLoss, zero_of

FILTERS = frozenset({"filt/1", "filt-con/1", "filt-seq/1", "ex-post/1"})
ODOMETERS = frozenset({"odom/1", "odom-con/1", "odom-seq/1"})
INDIVIDUAL, OF_RECORDS = "individual/1", "record-account/1"
"""A filter with an account for each record, and what is public about these. Ledgers of earlier
versions have no charges of its launches."""
_CEILING = str(2**40)
_BASIC = {"@": "basic/1"}
_SLACK = frozenset({"via-zcdp/1", "via-gdp/1", "rogers-2023/1", "whitehouse-2023/1"})
_SUMS = {"ex-post/1": "ex-post-account/1"}


def require_terms(mechanism: Json, fixed: Json) -> None:
    """Check what is fixed in an account against its compositor.

    Raises:
        WrongAccountError: it is not what the compositor has.
        KeyError: the rule is not one of ours.
    """
    if tag_of(mechanism) == INDIVIDUAL:
        _same("account", tag_of(fixed), OF_RECORDS)
        _same("budget", fixed["budget"], {"@": "zcdp/1", "rho": mechanism["rho"]})
        return
    if tag_of(mechanism) in FILTERS:
        kind = _SUMS.get(tag_of(mechanism), "additive-account/1")
        _filter(mechanism.get("rule", _BASIC), mechanism["budget"], fixed, kind)
        return
    rule = mechanism.get("rule")
    if rule is None:
        _same("account", tag_of(fixed), "running-sum/1")
    else:
        _odometer(rule, fixed)


def _same(name: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise WrongAccountError(
            f"has {name} {compact(found)} in its account; the compositor has {compact(wanted)}"
        )


def _filter(rule: Json, budget: Json, fixed: Json, additive: str = "additive-account/1") -> None:
    tag = tag_of(rule)
    _same("account", tag_of(fixed), additive if tag == "basic/1" else _ACCOUNTS[tag])
    _same("budget", fixed["budget"], budget)
    match tag:
        case "basic/1":
            most = parts_of_budget(compact(budget))
            _same("limits", fixed["most"], list(map(str, most)))
        case "menu/1":
            _same("unit", fixed["unit"], rule["unit"])
            _same("menu", fixed["priced"], rule["priced"])
            _slack(rule, budget, fixed["slack"])
        case "via-renyi/1":
            _mixture(rule, budget, fixed["mixture"])
        case "gdp-residue/1":
            _slack(rule, budget, fixed["slack"])
        case "accumulator-rule/1":
            _odometer(rule["accumulator"], fixed["running"])
        case "stopping/1":
            _odometer(rule["odometer"], fixed["running"])
            if odometers.delta_within(rule["odometer"], Fraction(budget["delta"])) is False:
                raise WrongAccountError("has an odometer that needs more than the budget's delta")
        case _ if tag in _SLACK:
            _same("rule", fixed["rule"], rule)
            _slack(rule, budget, fixed["slack"])
            _capacity(tag, budget, fixed)


_ACCOUNTS: Mapping[str, str] = {
    **dict.fromkeys(_SLACK, "slack-account/1"),
    "accumulator-rule/1": "accumulator-account/1",
    "gdp-residue/1": "residue-account/1",
    "menu/1": "menu-account/1",
    "rogers-2016/1": "rogers-account/1",
    "stopping/1": "stopping-account/1",
    "via-renyi/1": "renyi-account/1",
}


def _odometer(rule: Json, fixed: Json) -> None:
    """What an accumulator fixes in its account."""
    match tag_of(rule):
        case "additive/1":
            _same("account", tag_of(fixed), "running-sum/1")
        case "rule-accumulator/1":
            line = _line(rule)
            _same("account", tag_of(fixed), "least-budget/1")
            _same("rule", fixed["rule"], rule["rule"])
            _same("line", fixed["line"], line)
            _filter(rule["rule"], _ceiling(line), fixed["ceiling"])
        case tag if tag in odometers.TAGS:
            _same("account", tag_of(fixed), "time-uniform-account/1")
            _same("odometer", fixed["odometer"], rule)
        case tag:
            raise KeyError(tag)


def _line(rule: Json) -> Json:
    """The budgets among which an odometer that is made from a rule looks for the least."""
    zero = json.loads(CODEC.encode(zero_of(CODEC.decode(compact(rule["measure"])))))
    line = {"@": "line/1", "zero": zero}
    return line if rule.get("delta") is None else {**line, "delta": rule["delta"]}


def _ceiling(line: Json) -> Json:
    """The very large budget of an odometer that is made from a rule."""
    first = {"epsilon", "rho", "mu"} & set(line["zero"])
    budget = {**line["zero"], first.pop(): _CEILING}
    return budget if line.get("delta") is None else {**budget, "delta": line["delta"]}


def _slack(rule: Json, budget: Json, slack: str) -> None:
    _same("slack", slack, rule.get("slack") or budget["delta"])
    if not 0 < Fraction(slack) <= Fraction(budget["delta"]):
        raise WrongAccountError("has a slack that is not above 0 and within the budget's delta")


def _mixture(rule: Json, budget: Json, mixture: Json) -> None:
    _same("orders", mixture["orders"], rule["orders"])
    _slack(rule, budget, mixture["slack"])
    weights = fractions_of(mixture["weights"])
    if rule.get("weights") is not None:
        _same("weights", mixture["weights"], rule["weights"])
    if len(weights) != len(mixture["orders"]) or sum(weights) != 1 or min(weights) < 0:
        raise WrongAccountError("has weights of orders that do not sum to 1")


def _capacity(tag: str, budget: Json, fixed: Json) -> None:
    capacity, slack = Fraction(fixed["capacity"]), Fraction(fixed["slack"])
    if weight_within(tag, capacity, Fraction(budget["epsilon"]), slack) is False:
        raise WrongAccountError(f"has a capacity of {float(capacity):.6g}, above its budget")


@lru_cache(maxsize=256)
def parts_of_budget(text: str) -> tuple[Fraction, ...]:
    """The coordinates of a budget that adds up.

    Raises:
        WrongAccountError: it does not add up.
    """
    budget = CODEC.decode(text)
    if not isinstance(budget, AdditiveLoss):
        raise WrongAccountError(f"has a budget that does not add up: {budget}")
    return budget.parts
