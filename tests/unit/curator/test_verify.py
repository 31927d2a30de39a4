import contextlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

import curator
from composition import Basic, FiltCon
from curator.codec import CODEC, entry_of
from curator.ledgers import BrokenChainError, Event, SQLiteLedger
from curator.verify import VerificationError, verify
from mechanisms import Count, Laplace
from queryable import ApproxDP, PureDP, QueryRefusedError
from tests.ledgers import at, chained_again, of_account, of_charge, retold

DATA = {"age": [31, 47, 62] * 20}
KEY = b"k" * 32
BUDGET = ApproxDP(1, "1e-6")


def told(path: Path, mechanism: Any, *, nested: bool = False) -> list[Event]:
    """The events of a root that launched, was refused, launched several at once and nested."""
    ledger = SQLiteLedger(path / "ledger.db")
    root = curator.open(ledger, mechanism, DATA, name="visits", key=KEY)
    small, large = Laplace(Count(), epsilon="1/100"), Laplace(Count(), epsilon=50)
    root(small)
    root(small)
    for mechanisms in ([large], [small, large, small]):
        with contextlib.suppress(QueryRefusedError):
            root.launch_many(mechanisms)
    if nested:
        child = root.launch(FiltCon(PureDP("1/50")))
        child(small)
        child(small)
        with pytest.raises(QueryRefusedError):
            child(small)
    events = list(ledger.read("visits"))
    ledger.close()
    return events


def test_what_was_spent_is_told_for_each_compositor(tmp_path: Path) -> None:
    events = told(tmp_path, FiltCon(PureDP(1)), nested=True)
    found = verify(events)
    assert (found.root, found.events, found.head) == ("visits", len(events), events[-1].hash)
    fiftieth, most = Fraction(1, 50), Fraction(6, 100)
    assert dict(found.spent) == {(): (most,), (4,): (fiftieth,)}
    assert found.claims == 7


@attrs.frozen
class Mine(Basic):
    """A rule of a site."""

    vouched_for = "Haney et al. 2023, Theorem 1.20: it admits what Basic() admits"


def test_accounts_of_a_site_are_named(tmp_path: Path) -> None:
    codec = CODEC.joined([entry_of("mine/1", Mine)])
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    filtered = FiltCon(PureDP(1), Mine())
    root = curator.open(ledger, filtered, DATA, name="visits", key=KEY, codec=codec)
    root(Laplace(Count(), epsilon="1/100"))
    root(FiltCon(PureDP("1/10")))(Laplace(Count(), epsilon="1/100"))
    found = verify(ledger.read("visits"), codec=codec)
    ledger.close()
    assert found.unchecked == {"additive-account/1": 2}
    assert found.charges == 1


_less = of_account(lambda account: account["sum"].update(parts=["1/1000"]))
"""The account says that less was spent."""


def _cheaper(body: dict[str, Any]) -> None:
    """Charge and account say that less was charged than the mechanism loses."""
    of_charge(charged='{"@":"pure-dp/1","epsilon":"1/1000"}')(body)
    _less(body)


@pytest.mark.parametrize(
    ("change", "told_so"),
    [
        (lambda e: at(e, 2, _less), "account of 0.001; it should be 0.01"),
        (lambda e: at(e, 2, _cheaper), "whose loss is PureDP"),
        (lambda e: e[1:], "begins with `opened`"),
        (lambda e: [*e[:3], *e[4:]], "before the answer of event 3"),
        (lambda e: [*e[:2], *e[3:]], "waits for no answer"),
        (lambda e: [*e[:2], *e[4:]], "waits for no answer"),
        (lambda e: [*e, e[3]], "waits for no answer"),
        (lambda e: [*e, e[0]], "begins with `opened`"),
        (lambda e: [*e, attrs.evolve(e[0], kind="closed", body="{}"), e[2]], "was closed"),
        (lambda e: [*e[:3], attrs.evolve(e[3], body="[]"), *e[4:]], "is not what a curator writes"),
        (lambda e: [*e[:3], attrs.evolve(e[3], body="{"), *e[4:]], "is not what a curator writes"),
    ],
)
def test_an_edited_ledger_is_found(
    tmp_path: Path, change: Callable[[list[Event]], list[Event]], told_so: str
) -> None:
    """Somebody edits events and computes all hashes again."""
    events = told(tmp_path, FiltCon(PureDP(1)))
    verify(chained_again(events))
    with pytest.raises(VerificationError, match=told_so):
        verify(chained_again(change(events)))


def test_more_than_the_budget_is_found(tmp_path: Path) -> None:
    """The budget is made smaller, in the mechanism and in all accounts."""
    events = told(tmp_path, FiltCon(PureDP(1)))
    for whole in (r"\"epsilon\":\"1\"", r"\"most\":[\"1\"]"):
        part = whole.replace(r"\"1\"", r"\"1/60\"")
        events = [attrs.evolve(each, body=each.body.replace(whole, part)) for each in events]
    with pytest.raises(VerificationError, match=r"admits 0\.02, above the budget"):
        verify(chained_again(retold(events)))


def test_every_prefix_holds(tmp_path: Path) -> None:
    """A crash leaves a prefix; its last message may have no answer."""
    events = told(tmp_path, FiltCon(PureDP(1)), nested=True)
    found = [verify(events[:count]) for count in range(1, len(events) + 1)]
    assert [each.unanswered for each in found[:4]] == [True, False, True, False]
    assert [each.messages for each in found] == sorted(each.messages for each in found)


def test_a_missing_tail_is_found_by_a_hash(tmp_path: Path) -> None:
    events = told(tmp_path, FiltCon(PureDP(1)))
    verify(events[:-2])
    assert verify(events, head=events[3].hash).events == len(events)
    with pytest.raises(BrokenChainError, match="no event has the hash"):
        verify(events[:-2], head=events[-1].hash)
