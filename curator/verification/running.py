"""Every kind of account that the codec has, by its tag."""

from collections.abc import Mapping
from typing import Any

import attrs

from composition.rules.checks.account import Accountable
from curator.codec import CODEC
from curator.verification.accounts import AccountKind, Json, tag_of


@attrs.frozen
class Tagged:
    """The accounts with one tag; calling it gives those of one compositor."""

    account: type[Accountable]

    def __call__(self, fixed: Json, opened: Any = None, measure: Any = None) -> AccountKind:
        """The accounts with these terms."""
        return AccountKind(fixed, opened, measure)

    @property
    def changing(self) -> frozenset[str]:
        """The fields that charges change."""
        return frozenset({*self.account.charged, *self.account.marks})


KINDS: Mapping[str, Tagged] = {
    entry.tag: Tagged(kind)
    for entry in CODEC.entries
    for kind in entry.classes
    if issubclass(kind, Accountable)
}


def fixed_of(account: Any) -> Any:
    """An account without what a charge changes, also in the accounts in it."""
    if not isinstance(account, dict):
        return account
    kind = KINDS.get(tag_of(account))
    changing = kind.changing if kind else ()
    return {name: fixed_of(each) for name, each in account.items() if name not in changing}
