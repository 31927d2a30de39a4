"""Ids, names, numbers, histories, refusals and charges after answers: each contradiction is found.

Events are edited and all hashes computed again, so that only what a test names is wrong.
"""

import json
from typing import Any

import attrs
import pytest

import curator
from composition import ConComp, ExPost, FiltCon, OdomCon, Parallel, Partition, Universal
from curator.verify import VerificationError, verify
from mechanisms import LaplaceNoiseReduction, Refine
from queryable import Ask, Launch, PureDP, QueryRefusedError
from queryable.messages import LaunchMany
from tests.laws import subjects
from tests.ledgers import (
    Change,
    at,
    chained_again,
    edited,
    events_of,
    inside,
    of_account,
    of_charge,
    retold,
)
from tests.stored import KEY, STORED, Crash, MemoryLedger
from tests.strategies import Courier, Faulty, RandomBits, RandomWord, Toy, raising
from tests.unit.curator.verification.test_all_kinds import checked, found

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = (1, 2, 3)
OPEN = Launch(RandomBits(PureDP("1/100")))
WORD = Launch(RandomWord(PureDP("1/100")))
MUCH = Launch(RandomWord(PureDP(100)))
NESTED = Launch(FiltCon(PureDP("1/10")))


def replaced(name: str, old: str, new: str) -> Change:
    """Another text in a field, or in the last charge's field `charges/...`."""

    def changed(body: dict[str, Any]) -> None:
        place = body["charges"][-1] if name.startswith("charges/") else body
        field = name.removeprefix("charges/")
        place[field] = place[field].replace(old, new)

    return changed


FILTER = events_of(FiltCon(PureDP(1)), (OPEN, WORD, NESTED, Ask(2, OPEN)), DATA)


def _account(total: str) -> str:
    return json.loads(FILTER[2].body)["charges"][0]["account"].replace('["1/100"]', f'["{total}"]')


def _charge(epsilon: str) -> str:
    return '{"@":"pure-dp/1","epsilon":"' + epsilon + '"}'


@pytest.mark.parametrize("mechanism", [FiltCon(PureDP(1)), Courier() @ FiltCon(PureDP(1))])
def test_an_id_is_given_once(mechanism: Any) -> None:
    events = events_of(mechanism, (OPEN, OPEN), DATA)
    assert "the id 0" in found(at(events, -1, answered(child=0)))


def test_coins_come_from_the_whole_history() -> None:
    """An answer is changed, and the later histories are those of before."""
    other = inside("answer", lambda answer: answer["answer"].update(value="5"))
    with pytest.raises(VerificationError, match=r"event 6 .* coins of another history"):
        checked(chained_again(at(FILTER, 3, other)))


def test_a_name_is_used_once() -> None:
    ledger = MemoryLedger()
    root = curator.open(ledger, FiltCon(PureDP("1/50")), DATA, name="a", key=KEY, codec=STORED)
    with pytest.raises(QueryRefusedError):
        root.launch(MUCH.mechanism, name="visits")
    root.launch(WORD.mechanism, name="visits")
    root.launch(WORD.mechanism, name="calls")
    events = ledger.events["a"]
    assert checked(events).charges == 3
    twice = at(events, -2, lambda body: body.update(names=["visits"]))
    assert "launches 'visits' a second time" in found(twice)


def test_a_request_is_answered_once() -> None:
    one = at(FILTER, 2, lambda body: body.update(key="ab", body="cd"))
    checked(chained_again(retold(one)))
    twice = at(one, 4, lambda body: body.update(key="ab", body="cd"))
    assert "answers a request a second time" in found(twice)


def test_what_is_spent_covers_the_children() -> None:
    spent = checked(FILTER).spent
    assert float(sum(spent[()])) == 0.12
    assert float(sum(spent[(2,)])) == 0.01


def test_parts_have_accounts_of_their_own() -> None:
    parts = Parallel(
        Partition("city", ["a", "b"]), {"a": FiltCon(PureDP(1)), "b": FiltCon(PureDP("1/50"))}
    )
    script = (Ask("a", WORD), Ask("b", WORD), Ask("a", WORD), Ask("b", MUCH))
    events = events_of(parts, script, {"city": ["a", "b"]})
    told = checked(events)
    assert {path: float(sum(spent)) for path, spent in told.spent.items()} == {
        ("a",): 0.02,
        ("b",): 0.01,
    }
    assert (told.charges, told.refusals) == (4, 1)
    moved = at(events, -3, lambda body: body.update(path=["b"]))
    assert "in its account" in found(moved)
    other = events_of(ConComp([FiltCon(PureDP(1)), Toy()]), (), DATA)
    first = replaced("answer", '"child":0', '"child":5')
    assert "does not start" in found(at(other, 1, first))


def test_the_choice_of_a_universal_mechanism_is_within_its_budget() -> None:
    events = events_of(Universal(PureDP("1/50")), (NESTED, OPEN, "bits"), DATA)
    assert checked(events).claims == 1
    larger = replaced("query", '"1/100"', '"1/10"')
    assert "for a launch whose loss is" in found(at(events, 2, larger))
    chosen = events_of(Universal(PureDP("1/10")), (NESTED, WORD), DATA)
    assert checked(chosen).charges == 2


def test_a_refusal_charges_nothing() -> None:
    events = events_of(FiltCon(PureDP(1)), (WORD, MUCH), DATA)
    charged = of_charge(account=_account("1/50"))
    assert "has an account of 0.02 after a refusal of 0.01" in found(at(events, -1, charged))


# Charges that change with answers.

REDUCTION = LaplaceNoiseReduction(subjects.SIZE, scales=[100, 10, 3, 1])
EX_POST = events_of(
    ExPost(PureDP("1/2")),
    (Launch(REDUCTION), Ask(0, Refine()), Ask(0, Refine(3)), WORD, Ask(0, Refine())),
    subjects.DATA,
)


def too_much(body: dict[str, Any]) -> None:
    """A launch with a delta would be charged it; this one is charged too much."""
    of_charge(charged=_charge("1/9"))(body)
    replaced("charges/account", '"parts":["0"]', '"parts":["1/9"]')(body)


def asked(change: Change) -> Change:
    return inside("charges/ask", change)


def answered(**parts: Any) -> Change:
    return inside("answer", lambda answer: answer.update(parts))


@pytest.mark.parametrize(
    ("events", "place", "change", "why"),
    [
        (FILTER, 3, answered(child=7), "gives the id 7 to child 0"),
        (FILTER, -2, lambda body: body.update(path=[5]), "was never launched"),
        (FILTER, 4, lambda body: body.update(n=5), "is message 2, and says that it is 5"),
        (FILTER, 2, lambda body: body.pop("charges"), "charges nothing for it"),
        (
            FILTER,
            2,
            lambda body: body["charges"].append(body["charges"][0] | {"place": 1}),
            "a charge for a launch that is not in the message",
        ),
        (FILTER, 2, of_charge(d_in=2), "is charged at d_in=2, not 1"),
        (
            FILTER,
            6,
            replaced("query", '"1/10"', '"1/5"'),
            "charges PureDP(epsilon=0.1) for a launch whose loss is PureDP(epsilon=0.2)",
        ),
        # the child's account has a larger budget than it was launched with
        (FILTER, -2, replaced("charges/account", '"1/10"', '"1/5"'), "has budget"),
        *(
            (EX_POST, 4, asked(lambda it, e=e: it["realised"].update(epsilon=e)), "has cost")
            for e in ("1/101", "0", "1/4")
        ),
        (
            EX_POST,
            4,
            asked(lambda receipt: receipt["account"]["sum"].update(parts=["1/200"])),
            "has an account of 0.005; it should be 0.01",
        ),
        (EX_POST, 4, asked(lambda receipt: receipt.update(child=1)), "which was not asked"),
        (EX_POST, 2, too_much, "it has cost 0"),
        # the last query is refused; here it is one that fits
        (EX_POST, -1, lambda body: body.update(query='{"@":"latest/1"}'), "whose worst case fits"),
    ],
)
def test_a_contradiction_is_found(events: Any, place: int, change: Change, why: str) -> None:
    assert why in found(at(events, place, change))


def test_answers_cost_what_the_mechanism_says() -> None:
    told = checked(EX_POST)
    assert (told.charges, told.claims, told.refusals, told.unchecked) == (4, 4, 1, {})
    assert float(sum(told.spent[()])) == pytest.approx(1 / 3 + 0.01)


def test_an_answer_above_the_budget_is_found() -> None:
    """The budget is made smaller, in the mechanism and in all accounts."""
    half, less = r"\"1/2\"", r"\"1/50\""
    small = [attrs.evolve(event, body=event.body.replace(half, less)) for event in EX_POST[:8]]
    small = [
        attrs.evolve(event, body=event.body.replace(rf"\{half[:-2]}\\\"", rf"\{less[:-2]}\\\""))
        for event in small
    ]
    assert "above the budget" in found(small)


# Persons, failures, halts and limits.


def test_a_person_may_spend_more_but_not_less() -> None:
    """A person over a filter launches what is not in the ledger."""
    subject = next(each for each in subjects.SUBJECTS if each.name == "BrownianNoiseReduction")
    events = events_of(subject.mechanism, subject.script, subjects.DATA)
    told = checked(events)
    assert (told.charges, told.persons, told.unchecked) == (2, 2, {})

    less = of_account(lambda account: account["sum"].update(parts=["1/100000"]))
    place = next(n for n, event in enumerate(events) if "charges" in event.body)
    assert "it should be at least" in found(at(events, place, less))


def test_a_limit_of_launches_is_followed() -> None:
    events = events_of(FiltCon(PureDP(1), max_mechanisms=2), (WORD, WORD, WORD), DATA)
    assert checked(events).refusals == 1
    earlier = [*events[:4], *events[6:]]
    numbered = [
        edited(event, lambda body: body.update(n=2) if body.get("n") == 3 else None)
        for event in earlier
    ]
    one = json.loads(events[2].body)["charges"][0]["account"]
    assert "refuses launch 1 by a limit of 2" in found(at(numbered, -1, of_charge(account=one)))


def test_nothing_is_admitted_after_a_halt() -> None:
    halting = FiltCon(PureDP("1/50"), on_exceed="halt")
    events = events_of(halting, (WORD, LaunchMany([MUCH, WORD]), WORD), DATA)
    assert checked(events).refusals == 1
    account = json.loads(events[2].body)["charges"][0]

    def admitted(body: dict[str, Any]) -> None:
        body["answer"] = '{"@":"launched/1"}'
        body["charges"] = [account]

    assert "after the compositor has halted" in found(at(events, -1, admitted))


def test_what_failed_stays_charged() -> None:
    faulty = Launch(Faulty(raising(ValueError()), at_launch=True))
    events = events_of(FiltCon(PureDP(1)), (faulty, WORD), DATA)
    assert checked(events).charges == 2
    assert "it should be 0.11" in found(at(events, -2, of_charge(account=_account("1/100"))))


@pytest.mark.parametrize("mechanism", [FiltCon(PureDP("1/50")), OdomCon(PureDP)])
def test_a_message_without_an_answer_is_charged(mechanism: Any) -> None:
    """Several launches, of which one may be refused, before a crash."""
    ledger = MemoryLedger(crash_at=5, stored=False)
    root = curator.open(ledger, mechanism, DATA, name="a", key=KEY, codec=STORED)
    root(WORD.mechanism)
    with pytest.raises(Crash):
        root.launch_many([WORD.mechanism, MUCH.mechanism])
    events = ledger.events["a"]
    told = checked(events)
    assert told.unanswered
    assert told.messages == 1
    assert float(sum(told.spent[()])) == (0.02 if isinstance(mechanism, FiltCon) else 100.02)
    cheap = at(events, -1, lambda body: body["charges"][0].update(charged=_charge("1/1000")))
    assert "it should be 0.011" in found(cheap)


def test_claims_below_the_launch_are_found() -> None:
    """A launch with a `d_out` is charged that, which is not below the mechanism's own loss."""
    launch = Launch(RandomWord(PureDP("1/100")), PureDP("1/50"))
    odometer = Launch(OdomCon(PureDP), PureDP("1/50"))
    events = events_of(FiltCon(PureDP(1)), (launch, odometer, Ask(1, WORD)), DATA)
    told = checked(events)
    assert (told.charges, told.claims, told.uncompared) == (3, 3, 0)
    below = replaced("query", '"1/100"', '"1/10"')
    assert "whose loss is larger" in found(at(events, 2, below))
    cheaper = of_charge(charged=_charge("1/60"), account=_account("1/60"))
    assert "charges PureDP(epsilon≈0.0167) for a launch at" in found(at(events, 2, cheaper))


def test_a_mechanism_of_a_site_is_counted() -> None:
    """Its charge is taken as it is, if the codec of the check does not know it."""
    told = verify(events_of(FiltCon(PureDP(1)), (WORD, WORD), DATA))
    assert (told.charges, told.claims, told.uncompared, told.unchecked) == (2, 0, 2, {})
