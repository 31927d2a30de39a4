import base64
import json
from pathlib import Path

import pytest

from curator.access import (
    ROOT,
    Access,
    AccessChangeError,
    AccessStore,
    Added,
    Change,
    Granted,
    ReachedRoot,
    Revoked,
    access_of,
    analyst_row,
    hash_of,
    make_token,
)
from curator.access.changes import body_of, change_of
from curator.ledgers import BrokenChainError, LeaseError, SQLiteLedger, following
from tests.stored import MemoryLedger

ONE, TWO, THREE = (hash_of(f"qy_{number}") for number in range(3))
FILTER = '{"@":"filt-con/1"}'


def after(*changes: Change) -> Access:
    access = Access()
    for change in changes:
        access = access.after(change)
    return access


def granted(analyst: str, child: int, dataset: str = "visits", name: str = "") -> Granted:
    return Granted(analyst, dataset, child, name or analyst, FILTER)


def test_tokens_have_256_random_bits_and_only_their_hash_is_kept() -> None:
    tokens = {make_token() for _ in range(100)}
    assert len(tokens) == 100
    for token in tokens:
        assert token.startswith("qy_")
        assert len(base64.urlsafe_b64decode(token[3:] + "=")) == 32
        assert len(hash_of(token)) == 64
        assert token[3:] not in hash_of(token)


def test_a_token_is_its_analysts() -> None:
    access = after(Added("ada", ONE), Added("bo", TWO))
    assert [access.of_token(each) for each in (ONE, TWO, THREE)] == [
        *(access.analysts["ada"], access.analysts["bo"], None)
    ]
    for alike in (ONE[:-1] + ("0" if ONE[-1] != "0" else "1"), ONE[:16], ""):
        assert access.of_token(alike) is None


def test_a_revoked_token_is_unknown_and_a_new_one_has_the_old_grants() -> None:
    access = after(Added("ada", ONE), granted("ada", 0), Revoked("ada"))
    assert access.of_token(ONE) is None
    access = access.after(Added("ada", TWO))
    assert access.of_token(ONE) is None
    ada = access.of_token(TWO)
    assert ada is not None
    assert ada.reach("visits") == ReachedRoot("visits", (0,))


@pytest.mark.parametrize(
    ("changes", "wrong", "text"),
    [
        ([Added("ada", ONE)], Added("ada", TWO), "revoke it first"),
        ([Added("ada", ONE)], Added("bo", ONE), "given before"),
        ([Added("ada", ONE), Revoked("ada")], Added("bo", ONE), "given before"),
        ([Added("ada", ONE), Revoked("ada")], Revoked("ada"), "no token"),
        ([], Revoked("ada"), "no analyst"),
        ([], granted("ada", 0), "no analyst"),
        ([Added("ada", ONE), Added("bo", TWO), granted("bo", 3)], granted("ada", 3), "to bo"),
    ],
)
def test_changes_that_are_not_possible(changes: list[Change], wrong: Change, text: str) -> None:
    access = after(*changes)
    with pytest.raises(AccessChangeError, match=text):
        access.after(wrong)


def test_grants_only_add_and_each_has_a_name_of_its_own() -> None:
    access = after(Added("ada", ONE), Added("bo", TWO))
    assert access.grant_name("ada", "visits") == "ada"
    access = access.after(granted("ada", 4)).after(granted("ada", 5, "calls"))
    assert access.grant_name("ada", "visits") == "ada 2"
    access = access.after(granted("ada", 6, name="ada 2"))
    ada = access.analysts["ada"]
    assert [grant.title for grant in ada.grants] == ["visits", "calls", "visits/2"]
    assert [grant.root for grant in ada.grants] == ["visits", "calls", "visits:2"]
    assert ada.reach("visits:2") == ReachedRoot("visits", (6,))
    assert [ada.reach(each) for each in ("visits/2", "visits:1", "visits:3", "bo", "")] == [
        None
    ] * 5
    assert access.analysts["bo"].reach("visits") is None


def test_a_row_of_an_analyst_has_nothing_of_the_token() -> None:
    access = after(Added("ada", ONE), granted("ada", 0))
    row = analyst_row(access.analysts["ada"])
    assert ONE not in json.dumps(row)
    assert row["token"] is True
    assert row["grants"][0]["mechanism"] == json.loads(FILTER)
    assert ONE not in repr(access)
    assert ONE not in repr(Added("ada", ONE))


@pytest.mark.parametrize("change", [Added("a", ONE), Revoked("a"), granted("a", 3)])
def test_changes_are_read_back_from_bodies(change: Change) -> None:
    assert change_of(json.loads(json.dumps(body_of(change)))) == change


def test_the_store_keeps_the_access(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    store = AccessStore(ledger)
    assert store.read() == Access()
    assert ledger.roots() == ()
    for change in (Added("ada", ONE), granted("ada", 0), Revoked("ada"), Added("ada", TWO)):
        store.change(change)
    other = AccessStore(ledger)
    assert other.read() == store.access
    assert [event.kind for event in ledger.read(ROOT)] == ["opened", *["exchange"] * 4]
    other.change(Added("bo", THREE))
    assert store.access != other.access
    assert store.read() == other.access == access_of(ledger.read(ROOT))
    ledger.close()


def test_a_change_that_is_not_possible_stores_nothing() -> None:
    ledger = MemoryLedger()
    store = AccessStore(ledger)
    store.change(Added("ada", ONE))
    with pytest.raises(AccessChangeError):
        store.change(Added("ada", TWO))
    assert len([*ledger.read(ROOT)]) == 2
    store.change(Revoked("ada"))
    assert store.read().of_token(ONE) is None


def test_two_stores_that_change_at_once_wait_for_each_other() -> None:
    ledger, pauses = MemoryLedger(), []
    leased = ledger.lease

    def busy(root: str, holder: str, ttl: float) -> int:
        if len(pauses) < 3:  # for ever, if nothing is added to it
            raise LeaseError("held")
        return leased(root, holder, ttl)

    ledger.lease = busy  # type: ignore[method-assign]
    AccessStore(ledger, wait=pauses.append).change(Added("ada", ONE))
    assert len(pauses) == 3
    pauses.clear()
    with pytest.raises(LeaseError):
        AccessStore(ledger, wait=lambda _: None).change(Added("bo", TWO))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("exchange", '{"do":"reset"}'),
        ("exchange", "["),
        ("intent", "{}"),
        ("exchange", json.dumps(body_of(Revoked("ada")))),
    ],
)
def test_events_that_are_no_changes_are_found(kind: str, body: str) -> None:
    ledger = MemoryLedger()
    store = AccessStore(ledger)
    store.change(Added("bo", ONE))
    kept = ledger.events[ROOT]
    kept.append(following(kept[-1], ROOT, kept[-1].epoch, kind, body))
    with pytest.raises(BrokenChainError, match="event 3 is no change"):
        AccessStore(ledger).read()
    with pytest.raises(BrokenChainError, match="this version"):
        access_of([following(None, ROOT, 1, "opened", '{"access":2}')])
