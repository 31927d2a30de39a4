"""`Access`: the analysts and grants as of now. A pure value, which each change makes anew."""

import json
from collections.abc import Iterator
from typing import Any

import attrs
from immutables import Map

from curator.access.changes import Added, Allowed, Change, Granted, Revoked
from curator.access.tokens import is_same
from queryable.errors import InteractiveError
from queryable.wording.quoting import quoted

_PREFIX = 16  # digits of a hash by which it is looked up; the others are compared


class AccessChangeError(InteractiveError):
    """The access cannot be changed like this. Nothing was changed."""


@attrs.frozen
class Grant:
    """A filter of an analyst on a data set.

    Attributes:
        number: 1 for the first one of this analyst on this data set.
        child: its number among the children of the data set's root.
        name: the name under which it was launched.
        mechanism: the filter, as a text of the codec.
    """

    dataset: str
    number: int
    child: int
    name: str
    mechanism: str

    @property
    def title(self) -> str:
        """How the analyst names it: "visits", and "visits/2" for her second one."""
        return self.dataset if self.number == 1 else f"{self.dataset}/{self.number}"

    @property
    def root(self) -> str:
        """Its id in addresses: "visits", "visits:2"."""
        return self.title.replace("/", ":")

    @property
    def reach(self) -> "ReachedRoot":
        """What it is a grant of."""
        return ReachedRoot(self.dataset, (self.child,))


@attrs.frozen
class Analyst:
    """An analyst.

    Attributes:
        token: the hash of her token; None if it was revoked.
        grants: in the order in which they were given.
    """

    name: str
    token: str | None = attrs.field(default=None, repr=False)
    grants: tuple[Grant, ...] = ()

    def on(self, dataset: str) -> tuple[Grant, ...]:
        """Her grants on a data set."""
        return tuple(grant for grant in self.grants if grant.dataset == dataset)

    def reach(self, root: str) -> "ReachedRoot | None":
        """What a root's id reaches; None if it is not hers."""
        for grant in self.grants:
            if grant.root == root:
                return grant.reach
        return None


@attrs.frozen
class ReachedRoot:
    """What somebody reaches: a data set, and the path of the mechanism that is her root there."""

    dataset: str
    path: tuple[int, ...]


@attrs.frozen
class Access:
    """The analysts by name, and by the first digits of the hashes of their tokens.

    Attributes:
        allowed: for each data set, what was last allowed for an interrupted message.
    """

    analysts: "Map[str, Analyst]" = Map()
    _by_token: "Map[str, str]" = attrs.field(default=Map(), alias="by_token", repr=False)
    allowed: "Map[str, Allowed]" = Map()

    def __iter__(self) -> Iterator[Analyst]:
        return iter(sorted(self.analysts.values(), key=lambda each: each.name))

    def holders(self, dataset: str) -> dict[int | str, str]:
        """Who has which child of the root of a data set."""
        return {grant.child: analyst.name for analyst in self for grant in analyst.on(dataset)}

    def of_token(self, hashed: str) -> Analyst | None:
        """The analyst of a token, by its hash; None if it is unknown or was revoked."""
        name = self._by_token.get(hashed[:_PREFIX])
        if name is None:
            return None
        analyst = self.analysts[name]
        return analyst if analyst.token is not None and is_same(analyst.token, hashed) else None

    def grant_name(self, analyst: str, dataset: str) -> str:
        """The name under which the next filter of an analyst on a data set is launched.

        Raises:
            AccessChangeError: there is no such analyst.
        """
        number = len(self._known(analyst).on(dataset)) + 1
        return analyst if number == 1 else f"{analyst} {number}"

    def after(self, change: Change) -> "Access":
        """The access after a change.

        Raises:
            AccessChangeError: it is not possible.
        """
        match change:
            case Added(name, hashed):
                return self._added(name, hashed)
            case Revoked(name):
                return self._revoked(self._known(name))
            case Granted(name):
                return self._granted(self._known(name), change)
            case Allowed(dataset):
                return attrs.evolve(self, allowed=self.allowed.set(dataset, change))

    def tries(self, dataset: str, message: int) -> int:
        """How often the owner lets an interrupted message be tried; 0 without a word."""
        allowed = self.allowed.get(dataset)
        return allowed.tries if allowed is not None and allowed.message == message else 0

    def _known(self, name: str) -> Analyst:
        found = self.analysts.get(name)
        if found is None:
            raise AccessChangeError(
                f"there is no analyst {quoted(name)}: add them with `curator analyst add`"
            )
        return found

    def _added(self, name: str, hashed: str) -> "Access":
        present = self.analysts.get(name, Analyst(name))
        if present.token is not None:
            raise AccessChangeError(
                f"{name} has a token. For another one, revoke it first with `curator analyst "
                f"revoke`; the grants stay"
            )
        if hashed[:_PREFIX] in self._by_token:
            raise AccessChangeError("this token was given before")
        added = attrs.evolve(present, token=hashed)
        return attrs.evolve(
            self,
            analysts=self.analysts.set(name, added),
            by_token=self._by_token.set(hashed[:_PREFIX], name),
        )

    def _revoked(self, analyst: Analyst) -> "Access":
        if analyst.token is None:
            raise AccessChangeError(f"{analyst.name} has no token")
        after = self.analysts.set(analyst.name, attrs.evolve(analyst, token=None))
        return attrs.evolve(self, analysts=after)

    def _granted(self, analyst: Analyst, change: Granted) -> "Access":
        for other in self.analysts.values():
            for grant in other.on(change.dataset):
                if grant.child == change.child:
                    raise AccessChangeError(
                        f"child {change.child} of {change.dataset} was granted to {other.name}"
                    )
        grant = Grant(
            change.dataset,
            len(analyst.on(change.dataset)) + 1,
            change.child,
            change.name,
            change.mechanism,
        )
        after = attrs.evolve(analyst, grants=(*analyst.grants, grant))
        return attrs.evolve(self, analysts=self.analysts.set(analyst.name, after))


def analyst_row(analyst: Analyst) -> dict[str, Any]:
    """An analyst as values of JSON; nothing of the token."""
    grants = [
        {
            **attrs.asdict(grant),
            "mechanism": json.loads(grant.mechanism),
            "root": grant.root,
            "title": grant.title,
        }
        for grant in analyst.grants
    ]
    return {"name": analyst.name, "token": analyst.token is not None, "grants": grants}
