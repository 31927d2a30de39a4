"""The accounts of `KnownBlocks`: one for each block, charged by the launches over it.

Responsible for which blocks a launch charges, and for the account of each. The account in a receipt
has the blocks that the launch names, so those of the others are as they were.
"""

from collections.abc import Mapping
from fractions import Fraction
from heapq import nlargest
from itertools import pairwise
from typing import Any

from composition.rules.checks.compare import Verdict
from curator.logs.batches import Course
from curator.verification.accounts import (
    AccountKind,
    Amounts,
    Json,
    WrongAccountError,
    amounts_text,
    compact,
    tag_of,
)
from curator.verification.running import KINDS, fixed_of
from curator.verification.terms import measure_of, opened_by

MECHANISM, ACCOUNTS, LAUNCH = "blocks/1", "block-accounts/1", "launch-over/1"
_LAST = "last/1"

Accounts = Mapping[int, Json]
"""The accounts of blocks, by the places of these."""


class KnownBlocks:
    """What is known of one `KnownBlocks`.

    Args:
        mechanism: it, as JSON.
        bounded: whether the data protect units, and bound their rows.
        course: what the data's owner has fed so far.

    Attributes:
        unknown: whether its accounts are of a rule of a site.
    """

    def __init__(self, mechanism: Json, course: Course, *, bounded: bool) -> None:
        self._filter, self._course = mechanism["filter"], course
        self._of_rows = not bounded and mechanism.get("unit") is not None
        self._unit_rows = int(mechanism.get("unit_rows", 1))
        self._unit_blocks = int(mechanism.get("unit_blocks", 1))
        self._names: dict[int, str] = {}
        self._places: dict[str, int] = {}
        self._kind: AccountKind | None = None
        self._accounts: dict[int, Json] = {}
        self.unknown = False

    @property
    def most(self) -> int | None:
        """The limit on the number of launches."""
        return self._filter.get("max_mechanisms")  # type: ignore[no-any-return]

    def d_in(self, count: int) -> int:
        """In how many records the union of so many blocks differs."""
        rows = self._unit_rows * min(count, self._unit_blocks) if self._of_rows else 1
        return int(self._filter.get("d_in", 1)) * rows

    def read(self, account: Json) -> Accounts | None:
        """The accounts of the blocks in a receipt; None if they are of a rule of a site.

        Raises:
            WrongAccountError: they are not those of this `KnownBlocks`.
        """
        wanted = int(self._filter.get("d_in", 1)) * self._unit_blocks
        if account["blocks_of_unit"] != wanted:
            found = account["blocks_of_unit"]
            raise WrongAccountError(f"has units in {found} blocks in its account, not {wanted}")
        empty, groups = account["empty"], account["groups"]
        kind = self._known(empty)
        if kind is None:
            return None
        accounts: dict[int, Json] = {}
        for one, blocks in groups:
            if fixed_of(one) != kind.fixed:
                raise WrongAccountError("has another budget or rule in its account than before")
            for block in blocks:
                place = block["place"]
                if place in accounts:
                    raise WrongAccountError(f"has two accounts of block {compact(block['name'])}")
                accounts[place] = one
                self._meet(place, compact(block["name"]))
        return accounts

    def _known(self, empty: Json) -> AccountKind | None:
        """The kind of the accounts."""
        fixed = fixed_of(empty)
        kind = self._kind
        if kind is None:
            try:
                opened = opened_by(self._filter, empty)
            except KeyError:  # a rule of a site
                self.unknown = True
                return None
            kind = self._kind = KINDS[tag_of(empty)](fixed, opened, measure_of(self._filter))
        if fixed != kind.fixed or not kind.is_empty(empty):
            raise WrongAccountError("has another account of a block that was never charged")
        return kind

    def _meet(self, place: int, name: str) -> None:
        """Take the name and the place of a block, which never change."""
        if self._names.get(place) == name:
            return
        if place in self._names or name in self._places:
            raise WrongAccountError(f"has block {name} at another place than before")
        self._names[place], self._places[name] = name, place
        order = {each: number for number, each in enumerate(self._course.blocks)}
        fed = [order[each] for _, each in sorted(self._names.items()) if each in order]
        if any(not one < other for one, other in pairwise(fed)):
            raise WrongAccountError(f"has block {name} in another order than it was fed")

    def require_named(self, launch: Json, accounts: Accounts) -> None:
        """Check that the accounts are those of the blocks that a launch names, and closed.

        Raises:
            WrongAccountError: they are not.
        """
        named, places = launch["blocks"], sorted(accounts)
        fed = list(self._course.blocks)
        for place in places:
            name = self._names[place]
            if fed and name == fed[-1] and self._course.blocks[name]:
                raise WrongAccountError(f"launches over block {name}, which is open")
        if tag_of(named) == _LAST:
            in_a_row = places == list(range(places[0], places[0] + int(named["count"])))
            later = fed[fed.index(name) + 1 :] if (name := self._names[places[-1]]) in fed else []
            if not in_a_row or len(later) > 1:  # at most the one that is open
                raise WrongAccountError("charges other blocks than the last ones")
            return
        items = named["items"] if isinstance(named, dict) else named
        if sorted(map(compact, items)) != sorted(self._names[place] for place in places):
            raise WrongAccountError("charges other blocks than those that it names")

    def charge(self, accounts: Accounts, loss: Any, *, least: bool) -> list[Verdict]:
        """Charge blocks; whether each is within the budget then.

        Raises:
            WrongAccountError: an account is not the one before it and the charge.
        """
        kind = self._required
        for place, after in accounts.items():
            try:
                kind.moved(self._accounts.get(place), loss, after, least=least)
            except WrongAccountError as error:
                raise WrongAccountError(f"{error}, of block {self._names[place]}") from None
        self._accounts.update(accounts)
        return [kind.verdict(kind.amounts(each), each) for each in accounts.values()]

    def decline(self, accounts: Accounts, loss: Any, *, least: bool) -> Verdict:
        """Check that a refusal charged no block; whether the launch would fit in all of them.

        Raises:
            WrongAccountError: an account has changed.
        """
        kind, fits = self._required, list[Verdict]()
        for place, now in accounts.items():
            old, new = self.amounts(place), kind.amounts(now)
            more = least and all(a >= b for a, b in zip(new, old, strict=True))
            if new != old and not more:
                raise WrongAccountError(
                    f"has an account of {amounts_text(new)} of block {self._names[place]} after a "
                    f"refusal of {amounts_text(old)}"
                )
            fits.append(kind.after(now, loss))
        if False in fits:
            return False
        return None if None in fits else True

    def stands(self, accounts: Accounts) -> bool:
        """Whether these are the accounts of before."""
        return all(self._accounts.get(place) == each for place, each in accounts.items())

    def amounts(self, place: int) -> Amounts:
        """What a block has lost."""
        kind, account = self._required, self._accounts.get(place)
        return kind.empty() if account is None else kind.amounts(account)

    def spent(self) -> Amounts | None:
        """The sum of the blocks of one unit that lost most, in each coordinate."""
        if self._kind is None or not self._accounts:
            return None
        count = int(self._filter.get("d_in", 1)) * self._unit_blocks
        columns = zip(*map(self.amounts, self._accounts), strict=True)
        return tuple(sum(nlargest(count, column), Fraction(0)) for column in columns)

    @property
    def _required(self) -> AccountKind:
        assert self._kind is not None
        return self._kind
