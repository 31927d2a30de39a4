"""The accounts of blocks are computed again from the launches over them, and each lie is found.

Events are edited and all hashes computed again, so that only the account is wrong.
"""

import json
from datetime import date
from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import AtMostADay, Blocks, FiltCon
from curator.ledgers import Event
from curator.verify import verify
from mechanisms import Table
from queryable import ZCDP, Ask, Last, Launch, LaunchOver, PureDP, Update
from queryable.messages import CloseBlock, LaunchMany
from tests import encoded
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
from tests.strategies import RandomBits, RandomWord
from tests.unit.curator.verification.test_all_kinds import BUDGET, checked, found, holds

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DAY = date(2026, 3, 1)
WORD, MUCH = RandomWord(PureDP("0.01")), RandomWord(PureDP(100))


def fed(*names: Any, close: bool = True) -> tuple[Any, ...]:
    """Each block with two batches; the last one stays open if it is not closed."""
    told = [
        message
        for name in names
        for message in (Update([1], name), Update([2, 3], name), CloseBlock(name))
    ]
    return tuple(told if close else told[:-1])


SCRIPT = (
    *fed("a", "b", DAY, 7),
    LaunchOver(WORD, ["a", "b"]),
    LaunchOver(WORD, [7, DAY]),
    LaunchOver(MUCH, ["a", 7]),
    LaunchMany([LaunchOver(WORD, ["b"]), LaunchOver(MUCH, ["b"]), LaunchOver(WORD, ["b", DAY])]),
    *fed("e", close=False),
    LaunchOver(RandomBits(PureDP("0.02")), ["a", "b", 7]),
    LaunchOver(WORD, Last(3)),
)
"""Charges: five, and two refusals; the last one is over b, the day and 7."""


def allowed() -> list[Any]:
    """Blocks with each rule that they take."""
    filters = [FiltCon(PureDP(1)), FiltCon(ZCDP(1)), FiltCon(PureDP(1), max_mechanisms=40)]
    filters += [FiltCon(BUDGET, rule) for rule in encoded.RULES]
    return [Blocks(each) for each in filters]


ALL = allowed()
ONE = ALL[0]


@pytest.mark.parametrize("mechanism", ALL, ids=str)
def test_blocks_hold(mechanism: Any) -> None:
    told = holds(mechanism, SCRIPT, [])
    assert (told.charges, told.claims, told.refusals) == (8, 6, 2)
    assert set(told.spent) == {()}


def test_blocks_in_a_filter_hold() -> None:
    """Below a person the accounts may be larger than what the ledger has."""
    below = [Ask(0, each) for each in SCRIPT if isinstance(each, LaunchOver)]
    for mechanism, hidden in ((ONE, False), (AtMostADay(PureDP(1)) @ ONE, True)):
        events = events_of(
            FiltCon(PureDP(3)), (*fed("a", "b", DAY, 7), Launch(mechanism), *below), []
        )
        told = checked(events)
        assert (told.unchecked, told.uncompared, told.persons > 0) == ({}, 0, hidden)
        assert told.spent[(0,)] >= (Fraction("0.02"),)


@pytest.mark.parametrize(
    ("data", "unit_rows", "d_in"),
    [(dict, 1, 2), (dict, 3, 6), (lambda rows: Table(rows, privacy_unit="who", max_rows=4), 1, 1)],
)
def test_units_in_several_blocks(data: Any, unit_rows: int, d_in: int) -> None:
    """The charge is for all rows of a unit that the launch may read."""
    blocks = Blocks(FiltCon(PureDP(1)), "who", 2, unit_rows=unit_rows)
    rows = {"who": [1, 2], "age": [3, 4]}
    script: list[Any] = [each for name in "abc" for each in (Update(rows, name), CloseBlock(name))]
    script += [LaunchOver(WORD, list(each)) for each in ("a", "bc")]
    events = events_of(blocks, script, data({"who": [1], "age": [2]}))
    told = checked(events)
    assert (told.charges, told.unchecked) == (2, {})
    assert told.spent[()] == (Fraction("0.02") * d_in if d_in > 1 else Fraction("0.02"),)
    d_in_charged = json.loads(events[-2].body)["charges"][0]["d_in"]
    assert "is charged at d_in=" in found(at(events, -2, of_charge(d_in=d_in_charged - 1)))


def _last(events: list[Event], change: Change) -> list[Event]:
    return at(events, charges_in(events)[-1], change)


def _scaled(factor: Fraction, number: int = 0) -> Change:
    """The account of one group is smaller."""

    def change(account: Any) -> None:
        total = account["groups"][number][0]["sum"]
        total["parts"] = [str(Fraction(each) * factor) for each in total["parts"]]

    return of_account(change)


def _spent(epsilon: str) -> Change:
    """The first group has spent this."""
    return of_account(lambda account: account["groups"][0][0]["sum"].update(parts=[epsilon]))


def _block(**parts: Any) -> Change:
    return of_account(lambda account: account["groups"][0][1][0].update(parts))


def _empty(**parts: Any) -> Change:
    return of_account(lambda account: account["empty"].update(parts))


def _left_out(account: Any) -> None:
    account["groups"][0][1] = account["groups"][0][1][1:]
    account["groups"] = [each for each in account["groups"] if each[1]]


def _twice(account: Any) -> None:
    account["groups"].append(account["groups"][0])


def _as_if_new(account: Any) -> None:
    """All blocks have what the launch costs, and lost what they had lost before."""
    account["groups"] = [
        [account["groups"][0][0], [each for _, blocks in account["groups"] for each in blocks]]
    ]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (_scaled(Fraction(1, 2)), "of block"),
        (_scaled(1 - Fraction(1, 10**6), 1), "of block"),
        (of_account(_as_if_new), "of block"),
        (of_account(_left_out), "charges other blocks"),
        (of_account(_twice), "two accounts of block"),
        (_block(name="x"), "at another place"),
        (_block(place=4), "at another place"),
        (of_account(lambda account: account.update(blocks_of_unit=2)), "in 2 blocks"),
        (of_charge(d_in=2), "at d_in=2"),
        (_empty(most=["2"]), "never charged"),
        (of_account(lambda it: it["empty"]["sum"].update(parts=["-1"])), "never charged"),
        (of_account(lambda it: it["groups"][0][0].update(most=["2"])), "another budget"),
        (of_charge(charged='{"@":"pure-dp/1","epsilon":"1/1000"}'), "it should be"),
    ],
)
def test_a_lie_about_a_block_is_found(change: Change, wrong: str) -> None:
    assert wrong in found(_last(events_of(ONE, SCRIPT, []), change))


def test_other_limits_are_found_at_the_first_launch() -> None:
    events = events_of(ONE, SCRIPT, [])
    assert "has limits" in found(at(events, charges_in(events)[0], _empty(most=["2"])))


def test_a_block_that_is_charged_less_is_found_at_the_next_launch() -> None:
    """Also if the lie is in an earlier launch, and all later accounts fit."""
    for count in range(5):
        events = events_of(ONE, SCRIPT, [])
        lie = at(events, charges_in(events)[-1 - count], _scaled(Fraction(9, 10)))
        assert "of block" in found(lie), count


def test_an_admission_above_the_budget_of_a_block_is_found() -> None:
    """With the accounts that it would lead to, and without a charge."""
    events = events_of(ONE, (*fed("a"), LaunchOver(MUCH, ["a"])), [])
    launched = at(events, -1, lambda body: body.update(answer='{"@":"launched/1"}'))
    assert "above the budget of a block" in found(at(launched, -1, _spent("100")))
    assert "charges nothing" in found(at(launched, -1, lambda body: body.pop("charges")))


@pytest.mark.parametrize("reason", ["blocks a cannot pay", "at mechanism count limit"])
def test_a_refusal_of_what_every_block_can_pay_is_found(reason: str) -> None:
    events = events_of(ONE, (*fed("a"), LaunchOver(MUCH, ["a"])), [])
    cheap = '{"@":"pure-dp/1","epsilon":"1/100"}'

    answer = json.dumps({"@": "refused/1", "reason": reason})
    refused = at(events, -1, lambda body: body.update(answer=answer))
    message = found(at(refused, -1, of_charge(charged=cheap)))
    assert "which fits in every block" in message or "by a limit of None" in message
    assert "after a refusal" in found(at(events, -1, _spent("1/2")))


def test_the_limit_of_launches_is_that_of_the_filter() -> None:
    limited = Blocks(FiltCon(PureDP(1), max_mechanisms=1))
    told = checked(events_of(limited, (*fed("a"), *[LaunchOver(WORD, ["a"])] * 3), []))
    assert (told.charges, told.refusals) == (3, 2)


@pytest.mark.parametrize(
    ("blocks", "wrong"),
    [
        (["a"], "charges other blocks than those"),
        (["a", "b", DAY, 7, "e"], "charges other blocks than those"),
        (Last(2), "charges other blocks than the last ones"),
    ],
)
def test_a_launch_that_names_other_blocks_is_found(blocks: Any, wrong: str) -> None:
    text = str(STORED.encode(LaunchOver(WORD, blocks)), "ascii")
    lie = _last(events_of(ONE, SCRIPT, []), lambda body: body.update(query=text))
    assert wrong in found(lie)


def test_a_launch_over_the_open_block_is_found() -> None:
    """It would read the block before it is whole."""
    events = events_of(ONE, (*fed("a"), LaunchOver(WORD, ["a"])), [])
    closing = next(place for place, each in enumerate(events) if "close-block" in each.body)

    def counted(body: dict[str, Any]) -> None:
        body["n"] -= 1

    left = [*events[:closing], edited(events[closing + 1], counted), *events[closing + 2 :]]
    answer = next(each for each in left if each.kind == "answer" and each.seq > closing)
    moved = edited(answer, lambda body: body.update(of=body["of"] - 1))
    assert "which is open" in found([moved if each is answer else each for each in left])


def test_blocks_in_another_order_are_found() -> None:
    """Two of them have changed their places, in all accounts."""
    old, new = (
        tuple(json.dumps(f'"name":"{name}","place":{place}')[1:-1] for name, place in pairs)
        for pairs in ((("a", 0), ("b", 1)), (("a", 1), ("b", 0)))
    )

    def swapped(event: Event) -> Event:
        body = event.body
        for before, after in zip(old, new, strict=True):
            body = body.replace(before, after)
        return attrs.evolve(event, body=body)

    events = events_of(ONE, (*fed("a", "b"), LaunchOver(WORD, ["a", "b"])), [])
    assert "in another order" in found([swapped(event) for event in events])


def test_last_blocks_that_are_not_the_last_are_found() -> None:
    """The accounts fit, but two later blocks were closed before."""
    events = events_of(ONE, (*fed("a", "b"), LaunchOver(WORD, Last(2)), *fed("c", "d")), [])
    later = [each for each in events if each.kind == "update"][6:]
    launch = [each for each in events if "launch-over" in each.body or each.kind == "answer"][1:]
    first = [each for each in events if each not in later and each not in launch]
    numbers = iter(range(7, 30))

    def renumbered(event: Event, seq: int) -> Event:
        def change(body: dict[str, Any]) -> None:
            if "n" in body:
                body["n"] = next(numbers)
            if "of" in body:
                body["of"] = seq - 1

        return edited(event, change)

    swapped = [*first, *later, *launch]
    told = [
        each if number < len(first) else renumbered(each, number + 1)
        for number, each in enumerate(swapped)
    ]
    assert "charges other blocks than the last ones" in found(told)


def test_a_launch_that_was_under_way_stands() -> None:
    """Its charges count, even if some of several were refused."""
    many = LaunchMany([LaunchOver(WORD, ["a"]), LaunchOver(MUCH, ["a"]), LaunchOver(WORD, ["a"])])
    events = events_of(ONE, (*fed("a"), LaunchOver(WORD, ["a"]), many), [])
    assert events[-1].kind == "answer"
    told = verify(chained_again(retold(events[:-1])), codec=STORED)
    assert told.unanswered
    assert told.spent[()] == (Fraction("0.03"),)
