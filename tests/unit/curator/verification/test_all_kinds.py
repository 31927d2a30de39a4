"""Every rule, odometer and compositor: what the code wrote holds, and each wrong account is found.

Events are edited and all hashes computed again, so that only the account is wrong.
"""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

import composition as c
from composition.rules.base import Accumulator, Rule
from curator.ledgers import Event
from curator.verification.accounts import AccountKind, compact
from curator.verification.running import KINDS, fixed_of
from curator.verification.terms import FILTERS, ODOMETERS
from curator.verify import VerificationError, Verified, verify
from queryable import GDP, ZCDP, ApproxDP, ApproxZCDP, Launch, PureDP
from queryable.losses import Dominated
from queryable.messages import LaunchMany
from tests import encoded
from tests.laws import subjects
from tests.ledgers import chained_again, edited, events_of, retold
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
)
COARSE = c.accumulator_of(c.Menu(2**33, [1]), ApproxDP, "1e-6")
LISTED = (c.OdomCon(ApproxDP, COARSE),)
COMPOSITORS = (*FILTERED, *ODOMETER, *OTHERS, *LISTED)
OF_RECORDS = c.Individual("1/10")


def checked(events: list[Event]) -> Verified:
    return verify(events, codec=STORED)


def found(events: list[Event]) -> str:
    """What is wrong with edited events; hashes and histories fit."""
    with pytest.raises(VerificationError) as caught:
        checked(chained_again(retold(events)))
    return str(caught.value)


@pytest.mark.parametrize("subject", subjects.ASKED, ids=str)
def test_subjects_hold(subject: subjects.Subject) -> None:
    told = checked(events_of(subject.mechanism, subject.script, subjects.DATA))
    assert told.unchecked == {}
    assert told.uncompared == 0


@pytest.mark.parametrize(
    ("mechanism", "script"),
    encoded.SCRIPTS,
    ids=[type(mechanism).__name__ for mechanism, _ in encoded.SCRIPTS],
)
def test_what_is_encoded_holds(mechanism: Any, script: Any) -> None:
    told = checked(events_of(mechanism, script, encoded.ROWS))
    assert told.unchecked == {}
    assert told.uncompared == 0


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_compositors_hold(mechanism: Any) -> None:
    told = checked(events_of(mechanism, SCRIPT, (1, 2, 3)))
    assert told.unchecked == {}
    assert told.uncompared == 0
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


def _of_records(change: Callable[[dict[str, Any], dict[str, Any]], None] | None) -> list[Event]:
    """The events of two launches; the last charge, and the account in it, changed."""
    events = events_of(OF_RECORDS, SCRIPT[::2], (1, 2, 3))

    def changed(body: dict[str, Any]) -> None:
        if change is None:
            del body["charges"]
            return
        [charge] = body["charges"]
        account = json.loads(charge["account"])
        change(charge, account)
        charge["account"] = compact(account)

    place = _last_charge(events)
    return [*events[:place], edited(events[place], changed), *events[place + 1 :]]


LESS = '{"@":"zcdp/1","rho":"1/100000"}'


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda charge, account: account.update(launched=False), "without a launch"),
        (lambda charge, account: account["budget"].update(rho="1/9"), "has another budget"),
        (lambda charge, account: charge.update(charged=LESS), "whose loss is"),
        (lambda charge, account: charge.update(d_in=2), "d_in=2"),
    ],
    ids=["account", "budget", "charge", "records"],
)
def test_a_wrong_account_of_records_is_found(change: Any, why: str) -> None:
    told = checked(_of_records(lambda charge, account: None))
    assert (told.charges, told.claims, told.unchecked) == (2, 2, {})
    assert told.spent == {(): (Fraction(1, 10),)}
    assert why in found(_of_records(change))


def test_a_ledger_without_charges_of_records_holds() -> None:
    """Earlier versions wrote none."""
    assert checked(chained_again(retold(_of_records(None)))).charges == 1


def _last_charge(events: list[Event]) -> int:
    """The place of the last event with charges."""
    return max(place for place, event in enumerate(events) if '"charges":' in event.body)


def _first_charge(events: list[Event]) -> int:
    return min(place for place, event in enumerate(events) if '"charges":' in event.body)


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


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
@pytest.mark.parametrize("factor", [Fraction(1, 2), 1 - Fraction(1, 10**6)], ids=str)
def test_an_account_of_less_is_found(mechanism: Any, factor: Fraction) -> None:
    """Half of the account, and a millionth less; of a residue more is left."""
    events = events_of(mechanism, SCRIPT, (1, 2, 3))
    place = _last_charge(events)

    def less(body: dict[str, Any]) -> None:
        charge = body["charges"][-1]
        account = json.loads(charge["account"])
        residue = "residue-account/1" in charge["account"]
        charge["account"] = compact(_changed(account, 1 / factor if residue else factor))
        assert json.loads(charge["account"]) != account

    changed = [*events[:place], edited(events[place], less), *events[place + 1 :]]
    message = found(changed)
    assert "it should be" in message or "does not leave" in message


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_a_charge_of_less_is_found(mechanism: Any) -> None:
    """The launch states a larger loss than what was charged for it."""
    events = events_of(mechanism, SCRIPT, (1, 2, 3))

    def more(body: dict[str, Any]) -> None:
        body["query"] = body["query"].replace('"epsilon":"1/100"', '"epsilon":"1/99"')

    place = _first_charge(events)
    changed = [*events[:place], edited(events[place], more), *events[place + 1 :]]
    assert "for a launch whose loss is" in found(changed)


RHO = '{"@":"approx-zcdp/1","delta":"0","rho":"1/20000"}'
PURE = '{"@":"pure-dp/1","epsilon":"1/100"}'


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_a_charge_of_another_measure_is_found(mechanism: Any) -> None:
    """Its numbers mean something else: the rho of a loss is far below its epsilon."""
    events = events_of(mechanism, SCRIPT, (1, 2, 3))

    def other(body: dict[str, Any]) -> None:
        for charge in body["charges"]:
            of_rho = "approx-zcdp" in charge["charged"]
            charge["charged"] = PURE if of_rho else RHO

    place = _first_charge(events)
    changed = [*events[:place], edited(events[place], other), *events[place + 1 :]]
    assert "no loss of this compositor's measure" in found(changed)


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_something_else_in_the_place_of_an_account_is_found(mechanism: Any) -> None:
    """It would leave the compositor unchecked."""
    events = events_of(mechanism, SCRIPT, (1, 2, 3))

    def none(body: dict[str, Any]) -> None:
        for charge in body["charges"]:
            charge["account"] = PURE

    place = _first_charge(events)
    changed = [*events[:place], edited(events[place], none), *events[place + 1 :]]
    assert "in the place of an account" in found(changed)


@pytest.mark.parametrize("mechanism", COMPOSITORS, ids=str)
def test_another_budget_is_found(mechanism: Any) -> None:
    """The mechanism that the root was opened with has another budget, rule or measure."""
    events = events_of(mechanism, SCRIPT, (1, 2, 3))
    other = c.FiltCon(ApproxDP(2, "1e-6"), c.Whitehouse2023("1e-7"))

    def opened(body: dict[str, Any]) -> None:
        body["mechanism"] = str(STORED.encode(other), "ascii")

    assert "in its account" in found([edited(events[0], opened), *events[1:]])


LIMITED = tuple(each for each in COMPOSITORS if not isinstance(each, c.OdomCon))


@pytest.mark.parametrize("mechanism", LIMITED, ids=str)
def test_a_launch_above_the_budget_is_found(mechanism: Any) -> None:
    """A refusal becomes an admission, with the account that the rule would have then."""
    events = events_of(mechanism, (WORD, MUCH), (1, 2, 3))
    place = _last_charge(events)
    loss = MUCH.mechanism.privacy_map(1, mechanism.proof.measure)
    first = WORD.mechanism.privacy_map(1, mechanism.proof.measure)
    above = mechanism._opened().add(first).add(loss)
    assert not above.within

    def admitted(body: dict[str, Any]) -> None:
        body["answer"] = '{"@":"launched/1"}'
        body["charges"][0]["account"] = str(STORED.encode(above), "ascii")

    message = found([*events[:place], edited(events[place], admitted)])
    assert "above the budget" in message or "above every entry" in message or "no mu" in message


@pytest.mark.parametrize("mechanism", LIMITED, ids=str)
def test_a_refusal_of_what_fits_is_found(mechanism: Any) -> None:
    events = events_of(mechanism, (WORD, WORD), (1, 2, 3))
    before = json.loads(events[2].body)["charges"][0]["account"]
    refused = {"answer": '{"@":"refused/1","reason":"no"}', "effect": "refused"}
    last = edited(events[-1], lambda body: body.update(refused))
    intent = edited(events[-2], lambda body: body["charges"][0].update(account=before))
    changed = [*events[:-2], intent, last]
    assert "which fits after" in found(changed)


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


@pytest.mark.parametrize(
    ("mechanism", "change", "wrong"),
    [
        (SLACK, lambda account: account.update(capacity="9/10"), "a capacity of 0.9"),
        (SLACK, lambda account: account.update(slack="1/1000000"), "has slack"),
        (
            c.FiltCon(BUDGET, c.ViaRenyi([2, 8, 32])),
            lambda account: account["mixture"].update(weights=["1", "1", "1"]),
            "do not sum to 1",
        ),
        (c.FiltCon(PureDP(1)), lambda account: account.update(most=["2"]), "has limits"),
    ],
)
def test_terms_that_the_mechanism_does_not_have_are_found(
    mechanism: Any, change: Callable[[Any], object], wrong: str
) -> None:
    """All accounts have them."""

    def changed(body: dict[str, Any]) -> None:
        for charge in body.get("charges", ()):
            account = json.loads(charge["account"])
            change(account)
            charge["account"] = compact(account)

    events = events_of(mechanism, SCRIPT, (1, 2, 3))
    assert wrong in found([edited(event, changed) for event in events])


@pytest.mark.parametrize("rule", [c.ViaZCDP("5e-7"), c.Menu("0.1", [1], slack="5e-7")], ids=str)
def test_deltas_are_within_what_the_slack_leaves(rule: Any) -> None:
    loss = ApproxDP("1/10", "4e-7").to(rule.child_measure(BUDGET))
    one = rule.open(BUDGET).add(loss)
    assert _verdict(one) is True
    assert _verdict(one.add(loss)) is False


def test_a_slack_above_delta_is_found() -> None:
    """The rule states a slack that its budget does not have, and so does the account."""

    def more(body: dict[str, Any]) -> None:
        if "mechanism" in body:
            body["mechanism"] = body["mechanism"].replace("1/2000000", "1/10")
        for charge in body.get("charges", ()):
            charge["account"] = charge["account"].replace("1/2000000", "1/10")

    events = events_of(SLACK, SCRIPT, (1, 2, 3))
    assert "within the budget's delta" in found([edited(event, more) for event in events])


def test_the_drift_of_rogers_2016_is_computed() -> None:
    events = events_of(c.FiltCon(BUDGET, c.Rogers2016()), SCRIPT, (1, 2, 3))

    def less(body: dict[str, Any]) -> None:
        account = json.loads(body["charges"][0]["account"])
        account["drift"] = str(Fraction(account["drift"]) * Fraction(999, 1000))
        body["charges"][0]["account"] = compact(account)

    changed = [edited(event, less) if event.seq == 3 else event for event in events]
    assert "has a drift of" in found(changed)


def test_losses_that_are_listed_are_those_that_were_charged() -> None:
    events = events_of(LISTED[0], SCRIPT, (1, 2, 3))

    def fewer(body: dict[str, Any]) -> None:
        account = json.loads(body["charges"][-1]["account"])
        account["losses"] = account["losses"][1:]
        body["charges"][-1]["account"] = compact(account)

    place = _last_charge(events)
    changed = [*events[:place], edited(events[place], fewer), *events[place + 1 :]]
    assert "does not list the losses" in found(changed)
