"""Coins that note what is drawn, and coins that give it again.

Responsible for the draws of one leaf. Does not know what is done with them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from queryable.audit.neighbours.alike import same_value
from queryable.randomness.coins import ChildId, Coins, Shape
from queryable.randomness.laws import Law


class Draw(NamedTuple):
    """A law, the shape of what was drawn, and the value."""

    law: Law[Any]
    size: Shape | None
    value: Any


class Roll:
    """The draws so far, of all coins of one run.

    Args:
        given: the draws that are given again; None to draw.

    Attributes:
        unlike: the first draw that was asked for and is not the given one; None if there is none.
    """

    def __init__(self, given: Sequence[Draw] | None = None) -> None:
        self.given = given
        self.draws: list[Draw] = []
        self.unlike: str | None = None

    def draw(self, coins: Coins, law: Law[Any], size: Shape | None) -> Any:
        """The value that is given for this draw, or a new one."""
        at = len(self.draws)
        known = self.given[at] if self.given is not None and at < len(self.given) else None
        if self.given is not None and (
            known is None or known.size != size or not same_value(known.law, law)
        ):
            self.unlike = self.unlike or f"draw {at + 1} is of another law"
        if known is not None and known.size == size:
            value = known.value
        else:
            value = coins.draw(law) if size is None else coins.draw(law, size)
        self.draws.append(Draw(law, size, value))
        return value

    @property
    def differs(self) -> str | None:
        """How the draws differ from the given ones."""
        if self.given is not None and self.unlike is None and len(self.draws) < len(self.given):
            return f"{len(self.draws)} values are drawn instead of {len(self.given)}"
        return self.unlike


class Tape:
    """Coins whose draws are on a roll."""

    __slots__ = ("_inner", "_roll")

    def __init__(self, inner: Coins, roll: Roll) -> None:
        self._inner, self._roll = inner, roll

    def draw(self, law: Law[Any], size: Shape | None = None) -> Any:
        """One draw of the law, or an array of them."""
        return self._roll.draw(self._inner, law, size)

    def spawn(self, child: ChildId, message: int) -> "Tape":
        """The coins of a child, on the same roll."""
        return Tape(self._inner.spawn(child, message), self._roll)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # fair bits, which no law of ours is drawn from directly
