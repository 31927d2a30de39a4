"""Old copies of a ledger that are restored: what is spent in all, and which coins are used."""

import os
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest

import curator
from composition import FiltCon
from curator import Anchor, SealedError, SQLiteLedger, moorings
from curator.lost import Lost
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, PureDP, Queryable, QueryRefusedError
from queryable.randomness import sealed
from queryable.randomness.sealed import SealedCoins
from tests.stored import KEY, STORED
from tests.strategies import RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": list(range(60))}
BUDGET = Fraction(1)
SEARCH, TEAM = SparseVector(30, epsilon="1/10", cutoff=10**6), FiltCon(ZCDP("1/20"))
COSTS: dict[Any, Fraction] = {each: each.privacy_map(1, ZCDP).rho for each in (SEARCH, TEAM)}


class Hasty(sqlite3.Connection):
    """A connection that does not wait for the disk: no power is lost here."""

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("= FULL", "= OFF"), *arguments)


def hasty(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Hasty)


@pytest.fixture(autouse=True)
def _no_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class Disk:
    """A ledger's files, and copies of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "ledger.db"
        self.ledger = SQLiteLedger(self.path, connect=hasty)
        self.copies: list[tuple[Path, Any]] = []

    def copy(self, known: Any) -> None:
        """Copy the files, as a backup does, with what the client knew then."""
        to = self.folder / f"copy {len(self.copies)}"
        to.mkdir()
        for each in self.folder.glob("ledger.db*"):
            shutil.copy(each, to)
        self.copies.append((to, known))

    def restore(self, chance: Random) -> Any:
        """Put a copy in place of the files; returns what the client knew."""
        came, known = chance.choice(self.copies[-5:])
        self.ledger.close()
        for each in self.folder.glob("ledger.db*"):
            each.unlink()
        for each in came.iterdir():
            if not each.name.endswith("-shm"):
                shutil.copy(each, self.folder)
        self.ledger = SQLiteLedger(self.path, connect=hasty)
        return known


@attrs.define
class Lived:
    """What a client of one history has: how much it told its children, by their launches."""

    children: dict[int, int] = attrs.field(factory=dict)  # child ids to serial numbers
    told: dict[int, int] = attrs.field(factory=dict)  # serial numbers to messages

    def copy(self) -> "Lived":
        return Lived({**self.children}, {**self.told})


class Owner:
    """Restores old copies of a ledger, and keeps account of what all clients together got."""

    def __init__(self, folder: Path, seed: int, block: Any = None) -> None:
        self.disk, self.chance = Disk(folder), Random(seed)
        self.anchor = Anchor(folder / "anchor", block)
        self.lived = Lived()
        self.spent = Fraction(0)  # by all answers of all histories
        self.told: dict[int, int] = {}  # messages to a child, in the history that told it most
        self.inside: dict[int, Fraction] = {}  # what was spent of a child's budget
        self.sealed = self.went_on = 0
        self.table = self.opened()

    def opened(self, *, charge: bool = False) -> Queryable:
        return curator.open(
            self.disk.ledger,
            FiltCon(ZCDP(BUDGET)),
            DATA,
            name="visits",
            key=KEY,
            anchor=self.anchor,
            charge_to_anchor=charge,
        )

    def message(self) -> None:
        """One random message; whatever is answered counts, in whichever history."""
        chance, table, lived = self.chance, self.table, self.lived
        where = Count(column("age") >= chance.randrange(60))
        kind = chance.randrange(8) if lived.children else chance.randrange(4)
        if kind < 2:
            rho = Fraction(chance.randint(1, 20), 1000)
            table.launch(Gaussian(where, rho=rho))
            self.spent += rho
        elif kind == 2:
            self.child(SEARCH)
        elif kind == 3:
            self.child(TEAM)
        else:
            child = chance.choice([*lived.children])
            serial = lived.children[child]
            handle = table.children[child]
            if serial in self.inside:
                rho = COSTS[TEAM] * chance.randint(1, 9) / 20
                handle.launch(Gaussian(where, rho=rho))
                self.inside[serial] += rho
            else:
                handle(where)
            # One interaction only: a child goes on where it was told most.
            assert lived.told[serial] == self.told[serial], "a child went on in two histories"
            lived.told[serial] += 1
            self.told[serial] += 1

    def child(self, mechanism: Any) -> None:
        self.table.launch(mechanism)
        serial = len(self.told)
        self.lived.children[max(self.table.children)] = serial
        self.lived.told[serial] = self.told[serial] = 0
        self.spent += COSTS[mechanism]
        if mechanism is TEAM:
            self.inside[serial] = Fraction(0)

    def messages(self, most: int) -> None:
        for _ in range(self.chance.randint(0, most)):
            try:
                self.message()
            except QueryRefusedError:
                continue

    def restore(self) -> None:
        """Put an old copy in place of the ledger; open it, or charge it first."""
        if self.chance.randrange(2):
            curator.release(self.table)
        self.lived = self.disk.restore(self.chance).copy()
        try:
            self.table = self.opened()
            self.went_on += 1
        except SealedError:
            self.sealed += 1
            left = curator.view(self.disk.path, "visits").privacy_loss()
            assert left <= ZCDP(BUDGET)
            self.table = self.opened(charge=True)
        live = {child for child in self.lived.children if self.is_live(child)}
        self.lived.children = {k: v for k, v in self.lived.children.items() if k in live}

    def is_live(self, child: int) -> bool:
        return child in self.table._root.state.children  # type: ignore[attr-defined]

    def check(self) -> None:
        """No history has forgotten what another one spent."""
        loss = self.table.privacy_loss()
        assert isinstance(loss, ZCDP)
        assert self.spent <= loss.rho <= BUDGET
        assert all(inside <= COSTS[TEAM] for inside in self.inside.values())


def restored(folder: Path, copies: int, seed: int, block: Any = None) -> Owner:
    """Restore old copies at random, and go on after each with other messages."""
    folder.mkdir()
    owner = Owner(folder, seed, block)
    for number in range(copies):
        owner.messages(3)
        if number % 2 == 0:
            owner.disk.copy(owner.lived.copy())
        owner.messages(3)
        owner.check()
        owner.restore()
        owner.check()
    curator.release(owner.table)
    return owner


def runs(folder: Path, copies: int, block: Any = None) -> list[Owner]:
    """Several owners, each with a budget that lasts for some of the copies."""
    return [restored(folder / str(seed), 20, seed, block) for seed in range(copies // 20)]


def test_with_an_anchor_no_copy_spends_again(tmp_path: Path) -> None:
    """Each of 60 copies is sealed, or is the newest one. All histories share one budget."""
    owners = runs(tmp_path, 60)
    assert sum(owner.sealed for owner in owners) >= 36
    assert sum(owner.went_on for owner in owners) >= 2


@pytest.mark.parametrize("copies", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_nor_with_a_bound_that_is_raised_in_blocks(tmp_path: Path, copies: int) -> None:
    """Then the newest copy is sealed too, if the process ended without a release."""
    owners = runs(tmp_path, copies, ZCDP("1/50"))
    assert sum(owner.sealed for owner in owners) >= 0.6 * copies


def test_the_copies_find_an_anchor_that_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        moorings.Mooring, "go_on", lambda self, root, charge: self.start(root.state)
    )
    real = moorings.moored

    def moored(*arguments: Any, **named: Any) -> Any:
        found = real(*arguments, **{**named, "charge": True})
        assert found is not None
        found.behind = False
        return found

    monkeypatch.setattr("curator.root.moored", moored)
    with pytest.raises(AssertionError):
        runs(tmp_path, 30)


def test_the_copies_find_children_that_are_not_retired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charging the root is not enough: its children were paid for before."""
    monkeypatch.setattr(
        moorings,
        "Lost",
        lambda charge, d_in, retires_others: Lost(charge, d_in, retires_others=False),
    )
    with pytest.raises(AssertionError, match="two histories"):
        runs(tmp_path, 50)


Asked = tuple[Fraction, ...]


def words(folder: Path, copies: int, seed: int = 1) -> dict[Asked, int]:
    """64 random bits for each message of many histories, by all that was asked up to it."""
    chance, disk = Random(seed), Disk(folder)
    asked: Asked = ()
    found: dict[Asked, int] = {}
    for number in range(copies):
        table = curator.open(
            disk.ledger, FiltCon(PureDP(10**6)), DATA, name="visits", key=KEY, codec=STORED
        )
        for place in range(chance.randint(2, 4)):
            if place == number % 4:
                disk.copy(asked)
            question = Fraction(chance.randint(1, 9))
            word = table.launch(RandomWord(PureDP(question)))
            asked = (*asked, question)
            assert found.setdefault(asked, word) == word, "one history has two answers"
        curator.release(table)
        asked = disk.restore(chance)
    assert len({*found.values()}) == len(found), "coins were used for two questions"
    return found


def test_without_an_anchor_no_coin_is_used_for_two_questions(tmp_path: Path) -> None:
    assert len(words(tmp_path, 100)) > 100


def test_the_copies_find_coins_of_the_message_number_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two histories then have the same noise in messages of the same number."""

    def asked(self: Any, path: Any, query: Any) -> SealedCoins:
        count = self._count + 1
        return self._at(sealed._hash(b"asked", b"%d" % count), count)  # type: ignore[no-any-return]

    monkeypatch.setattr(SealedCoins, "asked", asked)
    with pytest.raises(AssertionError, match="two questions"):
        words(tmp_path, 20)
