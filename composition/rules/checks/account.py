"""What an account says of itself, to whoever writes, checks or charges it.

So a codec, a verifier and an anchor name no rule: they ask the account. What its methods compute
for a check, they compute by this room alone.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar

from composition.rules.checks.added import parts_of
from composition.rules.checks.compare import Verdict
from queryable.losses import Loss, Parts


class Accountable:
    """What every account can be asked.

    The defaults are right for an account that says nothing: it has no amounts, and is not checked.

    Attributes:
        charged: the fields that charges add to. If it is empty, the account in `inner` has them.
        inner: the field with the account that is charged; empty if it is this one.
        exact: how many of the amounts are exact sums, from the first on; all if it is None.
        marks: other fields that charges change.
        derived: fields, also of its parts, that are computed if the mechanism does not state them,
            perhaps in floats; `wrong_terms` checks them. All fields but these three kinds are as
            in the account that the compositor opens.
    """

    charged: ClassVar[tuple[str, ...]] = ()
    inner: ClassVar[str] = ""
    exact: ClassVar[int | None] = None
    marks: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[tuple[str, ...]] = ()

    def amounts(self) -> Parts:
        """What was charged, as numbers."""
        if self.inner:
            found: Parts = getattr(self, self.inner).amounts()
            return found
        return tuple(chain.from_iterable(_numbers(getattr(self, name)) for name in self.charged))

    def added(self, loss: Any) -> Parts:
        """What one launch adds to the amounts; fewer if the last ones are no sums.

        Raises:
            ValueError: no launch states such a loss; the text goes on after the loss.
        """
        found: Parts = getattr(self, self.inner).added(loss) if self.inner else parts_of(loss)
        return found

    def check(self, amounts: Parts) -> Verdict:
        """Whether these amounts are within the limits; None if that is not known."""
        return None

    def fits(self, loss: Any) -> Verdict:
        """Whether one more launch would be within the limits."""
        try:
            added = self.added(loss)
        except ValueError:
            return False
        return self.check(tuple(a + b for a, b in zip(self.amounts(), added, strict=True)))

    def wrong_step(self, loss: Any, after: Any, *, least: bool) -> str:
        """What is wrong with the next account after a launch, apart from the sums; or "".

        The text begins with a verb, such as "has".

        Args:
            least: whether more than this launch may have been charged.
        """
        if self.inner:
            inside, next_one = getattr(self, self.inner), getattr(after, self.inner)
            wrong: str = inside.wrong_step(loss, next_one, least=least)
            return wrong
        return ""

    def wrong_terms(self) -> str:
        """What is wrong with what no charge changes, in the same form."""
        return getattr(self, self.inner).wrong_terms() if self.inner else ""

    def limits(self) -> Parts | None:
        """The largest amounts that are within the budget; None if it has none in these terms."""
        return None

    def costing(self, amounts: Parts) -> Loss | None:
        """The least loss that adds these amounts, at least; None if there is none for some."""
        return None


def _numbers(value: Any) -> Iterable[Fraction]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (Fraction(value),)
