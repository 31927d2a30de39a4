"""Every rule, odometer and compositor: what the code wrote holds, and each wrong account is found.

Events are edited and all hashes computed again, so that only the account is wrong.
"""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import pytest

import composition as c
import mechanisms as m
from composition.rules.base import Accumulator, Rule
from curator.ledgers import Event
from curator.verification.accounts import AccountKind, compact
from curator.verification.running import KINDS, fixed_of
from curator.verification.terms import FILTERS, ODOMETERS
from curator.verify import VerificationError, Verified, verify
from queryable import GDP, ZCDP, ApproxDP, ApproxZCDP, Ask, Launch, PureDP
from queryable.losses import Dominated
from queryable.messages import LaunchMany
from tests import encoded
from tests.laws import subjects
from tests.ledgers import (
    Change,
    at,
    chained_again,
    charges_in,
    edited,
    events_of,
    of_account,
    of_charge,
    retold,
)
from tests.stored import STORED
from tests.strategies import RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

BUDGET = ApproxDP(3, "1e-6")
WORD = Launch(RandomWord(PureDP("0.01")))
MUCH = Launch(RandomWord(PureDP(100)))
SCRIPT = (WORD, LaunchMany([WORD, MUCH]), WORD)
FILTERED = tuple(c.FiltCon(BUDGET, rule) for rule in encoded.RULES)
ODOMETER = tuple(c.OdomCon(*each) for each in encoded.ODOMETERS)
WIDE = ApproxDP(12, "1e-5")
AS_FILTERS = tuple(
    (c.filter_of(rule), PureDP(1) if measure is PureDP else WIDE)
    for measure, rule in encoded.ODOMETERS
    if rule is not None
)
OTHERS = (
    *(c.Filt(PureDP(1)), c.FiltSeq(ZCDP(1)), c.FiltCon(GDP(3)), c.FiltCon(ApproxZCDP(1, "1e-6"))),
    *(c.FiltCon(Dominated(1, 1, "1e-6")), c.ExPost(PureDP(1)), c.Odom(PureDP), c.OdomSeq(ZCDP)),
    *(c.FiltCon(budget, rule) for rule, budget in AS_FILTERS),
    c.ExPost(BUDGET, slack="1e-7", lines=2),
)
COARSE = c.accumulator_of(c.GDPResidue(), ApproxDP, "1e-6")
LISTED = (c.OdomCon(Dominated, COARSE),)
COMPOSITORS = (*FILTERED, *ODOMETER, *OTHERS, *LISTED)
OF_RECORDS = c.Individual("1/10")


def checked(events: list[Event]) -> Verified:
    return verify(events, codec=STORED)


def found(events: list[Event]) -> str:
    """What is wrong with edited events; hashes and histories fit."""
    with pytest.raises(VerificationError) as caught:
        checked(chained_again(retold(events)))
    return str(caught.value)


def holds(mechanism: Any, script: Any, data: Any) -> Verified:
    """What is found in the events of a script, of which everything was checked."""
    told = checked(events_of(mechanism, script, data))
    assert (told.unchecked, told.uncompared) == ({}, 0)
    return told


@pytest.mark.parametrize("subject", subjects.ASKED, ids=str)
def test_subjects_hold(subject: subjects.Subject) -> None:
    holds(subject.mechanism, subject.script, subjects.DATA)


@pytest.mark.parametrize(
    ("mechanism", "script"), encoded.SCRIPTS, ids=lambda each: type(each).__name__
)
def test_what_is_encoded_holds(mechanism: Any, script: Any) -> None:
    holds(mechanism, script, encoded.ROWS)


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_compositors_hold(mechanism: Any) -> None:
    told = holds(mechanism, SCRIPT, (1, 2, 3))
    assert told.charges == 4
    assert told.refusals == (not isinstance(mechanism, c.OdomCon))
    assert told.claims + told.refusals == 4
    assert {*told.spent} == {()}


def test_nothing_is_left_out() -> None:
    """Every rule, accumulator and compositor that is exported, and every kind of account."""
    exported = {name: getattr(c, name) for name in c.__all__}
    abstract = (c.Rule, Accumulator, c.TimeUniform)
    kinds = {each for each in exported.values() if isinstance(each, type)} - {*abstract}
    ours = {type(each.rule) for each in FILTERED} | {type(rule) for _, rule in encoded.ODOMETERS}
    assert {each for each in kinds if issubclass(each, Rule | Accumulator)} <= ours
    tags = {STORED.tag_of(each) for each in kinds if hasattr(each, "privacy_map")}
    assert tags - {None} <= FILTERS | ODOMETERS | {
        *("con-comp/1", "parallel/1", "universal/1", "postprocessed/1", "blocks/1"),
        "individual/1",
    }
    accounts = {tag for entry in STORED.entries if (tag := entry.tag).endswith("-account/1")}
    assert accounts | {"running-sum/1", "least-budget/1"} == {*KINDS}
    seen = {tag for each in COMPOSITORS for tag in _tags(each)}
    assert seen | {"record-account/1"} == {*KINDS}


def _tags(mechanism: Any) -> Iterator[str]:
    text = str(STORED.encode(mechanism._opened()), "ascii")
    return (tag for tag in KINDS if f'"@":"{tag}"' in text)


# Wrong accounts.

Lie = Callable[[list[Event]], list[Event]]


def _first(change: Change) -> Lie:
    return lambda events: at(events, charges_in(events)[0], change)


def _last(change: Change) -> Lie:
    return lambda events: at(events, charges_in(events)[-1], change)


def _each(change: Change) -> Lie:
    """All accounts are changed."""

    def changed(body: dict[str, Any]) -> None:
        for charge in body.get("charges", ()):
            account = json.loads(charge["account"])
            change(account)
            charge["account"] = compact(account)

    return lambda events: [edited(event, changed) for event in events]


LESS = '{"@":"zcdp/1","rho":"1/100000"}'


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (of_account(lambda account: account.update(launched=False)), "without a launch"),
        (of_account(lambda account: account["budget"].update(rho="1/9")), "has another budget"),
        (of_charge(charged=LESS), "whose loss is"),
        (of_charge(d_in=2), "d_in=2"),
    ],
    ids=["account", "budget", "charge", "records"],
)
def test_a_wrong_account_of_records_is_found(change: Any, why: str) -> None:
    events = events_of(OF_RECORDS, SCRIPT[::2], (1, 2, 3))
    told = checked(events)
    assert (told.charges, told.claims, told.unchecked) == (2, 2, {})
    assert told.spent == {(): (Fraction(1, 10),)}
    assert why in found(_last(change)(events))


def test_a_ledger_without_charges_of_records_holds() -> None:
    """Earlier versions wrote none."""
    events = events_of(OF_RECORDS, SCRIPT[::2], (1, 2, 3))
    without = _last(lambda body: body.pop("charges"))(events)
    assert checked(chained_again(retold(without))).charges == 1


def _scaled(account: Any, factor: Fraction) -> Any:
    """An account with all numbers that charges change multiplied."""
    if isinstance(account, list):
        return [_scaled(each, factor) for each in account]
    if isinstance(account, str):
        return str(Fraction(account) * factor)
    return account


def _changed(account: dict[str, Any], factor: Fraction) -> dict[str, Any]:
    kind = KINDS.get(account.get("@", ""))
    if kind is None:
        return account
    told = dict(account)
    for name, value in account.items():
        listed = account["@"] == "least-budget/1" and name in ("losses", "last")
        if name in kind.changing and not listed:
            told[name] = _scaled(value, factor)
        elif isinstance(value, dict):
            told[name] = _changed(value, factor)
        if name == "used":
            told[name] = int(value * factor)
    return told


def _part(factor: Fraction) -> Change:
    """A part of the account; of a residue more is left."""

    def less(body: dict[str, Any]) -> None:
        charge = body["charges"][-1]
        account = json.loads(charge["account"])
        residue = "residue-account/1" in charge["account"]
        charge["account"] = compact(_changed(account, 1 / factor if residue else factor))
        assert json.loads(charge["account"]) != account

    return less


RHO = '{"@":"approx-zcdp/1","delta":"0","rho":"1/20000"}'
PURE = '{"@":"pure-dp/1","epsilon":"1/100"}'
OTHER = str(STORED.encode(c.FiltCon(ApproxDP(2, "1e-6"), c.Whitehouse2023("1e-7"))), "ascii")


def _other_measure(body: dict[str, Any]) -> None:
    """The numbers mean something else: the rho of a loss is far below its epsilon."""
    for charge in body["charges"]:
        charge["charged"] = PURE if "approx-zcdp" in charge["charged"] else RHO


def _no_account(body: dict[str, Any]) -> None:
    """It would leave the compositor unchecked."""
    for charge in body["charges"]:
        charge["account"] = PURE


def _larger(body: dict[str, Any]) -> None:
    """The launch states a larger loss than what was charged for it."""
    body["query"] = body["query"].replace('"epsilon":"1/100"', '"epsilon":"1/99"')


SUMS = ("it should be", "does not leave")
LIES: dict[str, tuple[Lie, tuple[str, ...]]] = {
    "half of the account": (_last(_part(Fraction(1, 2))), SUMS),
    "a millionth less": (_last(_part(1 - Fraction(1, 10**6))), SUMS),
    "a charge of less": (_first(_larger), ("for a launch whose loss is",)),
    "another measure": (_first(_other_measure), ("no loss of this compositor's measure",)),
    "something else": (_first(_no_account), ("in the place of an account",)),
    "another budget": (
        lambda events: at(events, 0, lambda body: body.update(mechanism=OTHER)),
        ("in its account",),
    ),
}


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(lie: str, mechanism: Any) -> None:
    change, why = LIES[lie]
    message = found(change(events_of(mechanism, SCRIPT, (1, 2, 3))))
    assert any(each in message for each in why)


LIMITED = tuple(each for each in COMPOSITORS if not isinstance(each, c.OdomCon))


@pytest.mark.parametrize("mechanism", LIMITED, ids=str)
def test_a_launch_above_the_budget_is_found(mechanism: Any) -> None:
    """A refusal becomes an admission, with the account that the rule would have then."""
    events = events_of(mechanism, (WORD, MUCH), (1, 2, 3))
    loss = MUCH.mechanism.privacy_map(1, mechanism.proof.measure)
    first = WORD.mechanism.privacy_map(1, mechanism.proof.measure)
    above = mechanism._opened().add(first).add(loss)
    assert not above.within

    def admitted(body: dict[str, Any]) -> None:
        body["answer"] = '{"@":"launched/1"}'
        body["charges"][0]["account"] = str(STORED.encode(above), "ascii")

    message = found(_last(admitted)(events))
    assert "above the budget" in message or "above every entry" in message or "no mu" in message


@pytest.mark.parametrize("mechanism", LIMITED, ids=str)
def test_a_refusal_of_what_fits_is_found(mechanism: Any) -> None:
    events = events_of(mechanism, (WORD, WORD), (1, 2, 3))
    before = json.loads(events[2].body)["charges"][0]["account"]
    refused = {"answer": '{"@":"refused/1","reason":"no"}', "effect": "refused"}
    changed = at(events, -1, lambda body: body.update(refused))
    assert "which fits after" in found(at(changed, -2, of_charge(account=before)))


# The limits of rules, against the rules themselves.

RULES = (
    *((rule, BUDGET) for rule in encoded.RULES),
    *((rule, ApproxDP("1/2", "1e-7")) for rule in (c.ViaZCDP(), c.ViaGDP(), c.Rogers2016())),
    *((c.Menu("1/100", [1, 5, 12], [1, 20, 140]), ApproxDP("1/2", "1e-7")),),
    *((c.GDPResidue(), ApproxDP("1/2", "1e-7")), (c.Rogers2023(), ApproxDP("1/2", "1e-7"))),
    *((c.ViaRenyi([4, 16, 64]), ApproxDP(2, "1e-7")),),
    *AS_FILTERS,
)


def _filled(rule: Any, budget: Any) -> Iterator[Any]:
    """Accounts of equal launches, up to the first that does not fit."""
    account = rule.open(budget)
    loss = PureDP("1/10").to(rule.child_measure(budget))
    while account.within:
        account = account.add(loss)
        yield account


def _verdict(account: Any) -> bool | None:
    told: Any = json.loads(STORED.encode(account))
    kind: AccountKind = KINDS[told["@"]](fixed_of(told))
    return kind.verdict(kind.amounts(told), told)


@pytest.mark.parametrize(("rule", "budget"), RULES, ids=str)
def test_limits_are_those_of_the_rules(rule: Any, budget: Any) -> None:
    """The last account that fits is not found to be above the budget, and the next one is."""
    *_, last, above = (rule.open(budget), *_filled(rule, budget))
    assert _verdict(last) is not False
    assert _verdict(above) is False


# What is fixed in an account.

SLACK = c.FiltCon(BUDGET, c.ViaZCDP("5e-7"))
RENYI = c.FiltCon(BUDGET, c.ViaRenyi([2, 8, 32]))


def _all_slack(events: list[Event]) -> list[Event]:
    """The rule states a slack that its budget does not have, and so does the account."""
    small, large = "1/2000000", "1/10"
    return [attrs.evolve(each, body=each.body.replace(small, large)) for each in events]


def _drift(account: dict[str, Any]) -> None:
    account["drift"] = str(Fraction(account["drift"]) * Fraction(999, 1000))


@pytest.mark.parametrize(
    ("mechanism", "lie", "wrong"),
    [
        (SLACK, _each(lambda account: account.update(capacity="9/10")), "a capacity of 0.9"),
        (SLACK, _each(lambda account: account.update(slack="1/1000000")), "has slack"),
        (SLACK, _all_slack, "within the budget's delta"),
        (
            RENYI,
            _each(lambda account: account["mixture"].update(weights=["1", "1", "1"])),
            "do not sum to 1",
        ),
        (c.FiltCon(PureDP(1)), _each(lambda account: account.update(most=["2"])), "has limits"),
        (c.FiltCon(BUDGET, c.Rogers2016()), _first(of_account(_drift)), "has a drift of"),
        (
            LISTED[0],
            _last(of_account(lambda account: account["losses"].pop(0))),
            "does not list the losses",
        ),
    ],
)
def test_terms_that_the_mechanism_does_not_have_are_found(
    mechanism: Any, lie: Lie, wrong: str
) -> None:
    assert wrong in found(lie(events_of(mechanism, SCRIPT, (1, 2, 3))))


@pytest.mark.parametrize("rule", [c.ViaZCDP("5e-7"), c.Menu("0.1", [1], slack="5e-7")], ids=str)
def test_deltas_are_within_what_the_slack_leaves(rule: Any) -> None:
    loss = ApproxDP("1/10", "4e-7").to(rule.child_measure(BUDGET))
    one = rule.open(BUDGET).add(loss)
    assert _verdict(one) is True
    assert _verdict(one.add(loss)) is False


POOL = c.ExPost(ApproxDP(2, "1e-5"), slack="1e-6", lines=2)
NOISY = Launch(m.Gaussian(m.Count(), rho="1/900"))
REDUCED = (NOISY, Launch(m.LaplaceNoiseReduction(m.Count(), scales=[9, 3])), Ask(1, m.Refine()))


def _receipt(**terms: Any) -> Change:
    """The account of the last receipt, of a question or a launch, has other terms."""

    def changed(body: dict[str, Any]) -> None:
        charge = body["charges"][-1]
        told = json.loads(charge["ask"]) if "ask" in charge else charge
        account = told["account"] if "ask" in charge else json.loads(charge["account"])
        account.update(terms)
        if "ask" in charge:
            charge["ask"] = compact(told)
        else:
            charge["account"] = compact(account)

    return changed


@pytest.mark.parametrize(
    ("script", "terms", "why"),
    [
        (REDUCED, {"rho": "0"}, SUMS),
        ((NOISY,), {"rho": "1/1800"}, SUMS),
        ((NOISY,), {"slack": "1/10000000"}, ("has slack",)),
        ((NOISY,), {"slopes": ["30"]}, ("has slopes",)),
    ],
    ids=str,
)
def test_a_wrong_pool_is_found(script: Any, terms: Any, why: Any) -> None:
    """Its rho, also after an answer that is charged beside it; and the terms of its lines."""
    events = events_of(POOL, script, {"age": [3, 4]})
    assert checked(events).charges == len(script)
    message = found(_last(_receipt(**terms))(events))
    assert any(each in message for each in why)
