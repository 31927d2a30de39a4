"""The mechanisms of a root by their paths, as the ledger tells them, and their accounts.

A *hidden* compositor is behind a person in the middle, or below one that is. The person may launch
what is not in the ledger, so such an account may only be more than the ledger's charges come to.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from curator.logs.batches import Course
from curator.verification.accounts import AccountKind, Amounts, Json, WrongAccountError, tag_of
from curator.verification.blocks import MECHANISM as BLOCKS
from curator.verification.blocks import KnownBlocks
from curator.verification.charges import Spender
from curator.verification.running import KINDS, fixed_of
from curator.verification.terms import (
    FILTERS,
    INDIVIDUAL,
    ODOMETERS,
    is_ours,
    measure_of,
    opened_by,
)

Path = tuple[Any, ...]


@attrs.define
class TreeMember:
    """One mechanism.

    Attributes:
        mechanism: it without persons, as JSON; None if it is not in the ledger.
        hidden: whether a person in the middle is on the way to it.
        launches: the number of charged launches; the next child's id.
        account: the last account; None before the first.
        kind: its kind; None before the first.
        spenders: children that are charged as they answer, by id.
        halted: whether it answers nothing any more.
        unknown: whether its account is of a kind that is not computed.
        chosen: what a `Universal` was charged, once it has become another mechanism.
        blocks: the accounts of a `KnownBlocks`.
    """

    mechanism: Json | None
    hidden: bool
    launches: int = 0
    account: Json | None = None
    kind: AccountKind | None = None
    spenders: dict[Any, Spender] = attrs.field(factory=dict)
    halted: bool = False
    unknown: bool = False
    chosen: Amounts | None = None
    blocks: KnownBlocks | None = None

    @property
    def composes(self) -> bool:
        """Whether it is a filter or an odometer of ours."""
        return tag_of(self.mechanism) in FILTERS | ODOMETERS

    @property
    def d_in(self) -> int | None:
        """The number of records that it charges for."""
        return None if self.mechanism is None else int(self.mechanism.get("d_in", 1))

    @property
    def spends(self) -> bool:
        """Whether it charges children as they answer."""
        return tag_of(self.mechanism) == "ex-post/1"

    def accept(self, account: Json) -> AccountKind | None:
        """The kind of an account, whose fixed part is that of the compositor.

        Raises:
            WrongAccountError: it is not.
        """
        fixed = fixed_of(account)
        if self.kind is not None:
            if fixed != self.kind.fixed:
                raise WrongAccountError("has another budget or rule in its account than before")
            return self.kind
        composes = self.composes or tag_of(self.mechanism) == INDIVIDUAL
        kind = KINDS.get(tag_of(account)) if composes else None
        try:
            opened = opened_by(self.mechanism, account) if kind and self.mechanism else None
        except KeyError:  # a rule of a site
            kind = None
        if kind is None:
            if composes and self.mechanism and is_ours(self.mechanism):
                raise WrongAccountError(f"has {tag_of(account)} in the place of an account")
            self.unknown = True
            return None
        self.kind = kind(fixed, opened, measure_of(self.mechanism))
        return self.kind

    @property
    def spent(self) -> Amounts | None:
        """What was charged; None if that is not known."""
        if self.blocks is not None:
            return self.blocks.spent()
        if self.kind is None or self.account is None:
            return self.chosen
        return self.kind.amounts(self.account)


class Tree:
    """All mechanisms that are known so far.

    Args:
        course: what the data's owner has fed so far.
    """

    def __init__(self, course: Course) -> None:
        self._nodes: dict[Path, TreeMember] = {}
        self._course, self._bounded = course, False

    def node(self, path: Path) -> TreeMember | None:
        """The mechanism at a path."""
        return self._nodes.get(path)

    def start(self, mechanism: Json, answer: Any, *, bounded: bool = False) -> None:
        """Begin with the root's mechanism and its opening answer.

        Args:
            bounded: whether the data protect units, and bound their rows.
        """
        self._bounded = bounded
        self._put((), mechanism, hidden=False)
        node = self._nodes[()]
        fixed = list(_children(node.mechanism))
        if fixed and not node.hidden:
            told = answer if isinstance(answer, list) else []
            if len(told) != len(fixed) or not all(map(_answers, told, (name for name, _ in fixed))):
                raise WrongAccountError("does not start the mechanisms that it was opened with")

    def replace(self, path: Path, mechanism: Json, chosen: Amounts) -> None:
        """Put the mechanism that a `Universal` has become in its place."""
        self._put(path, mechanism, hidden=self._nodes[path].hidden)
        self._nodes[path].chosen = chosen

    def launched(self, path: Path, child: Any, mechanism: Json | None) -> None:
        """Add a child.

        Raises:
            WrongAccountError: its id is another one's.
        """
        place = (*path, child)
        if place in self._nodes:
            raise WrongAccountError(f"gives the id {child!r} a second time")
        parent = self._nodes.get(path)
        self._put(place, mechanism, hidden=parent is None or parent.hidden)

    def _put(self, path: Path, mechanism: Json | None, *, hidden: bool) -> None:
        while tag_of(mechanism) == "postprocessed/1":
            assert mechanism is not None
            mechanism, hidden = mechanism["mechanism"], True
        node = self._nodes[path] = TreeMember(mechanism, hidden)
        if mechanism is not None and tag_of(mechanism) == BLOCKS:
            node.blocks = KnownBlocks(mechanism, self._course, bounded=self._bounded)
        for name, each in _children(mechanism):
            self._put((*path, name), each, hidden=hidden)

    def spent(self) -> Mapping[Path, Amounts]:
        """What each compositor has charged, by the path to it."""
        pairs = ((path, node.spent) for path, node in self._nodes.items())
        return {path: amounts for path, amounts in pairs if amounts is not None}


def _children(mechanism: Json | None) -> Iterator[tuple[Any, Json]]:
    """The mechanisms that are started together with a compositor, by their names."""
    if mechanism is None:
        return
    match tag_of(mechanism):
        case "con-comp/1":
            yield from enumerate(mechanism["mechanisms"])
        case "parallel/1":
            yield from mechanism["mechanisms"]


def _answers(answer: Any, name: Any) -> bool:
    """Whether an opening answer may be that of this child; a measurement is no child."""
    if tag_of(answer) == "failed/1":
        return True
    return tag_of(answer) == "launched/1" and answer.get("child") in (None, name)
