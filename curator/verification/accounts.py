"""The accounts of one compositor: what a charge adds to one, and whether it is within its limits.

An account is read from the JSON object of its tag. It says which of its numbers charges change,
what a loss adds to them, and whether they are within its limits. It computes that by
`composition.rules.checks`, and not as its rule decides. The sums are computed here. They are exact,
except that the code rounds a sum of more than 4,096 bits up.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs

from composition.rules.checks.account import Accountable
from composition.rules.checks.compare import Verdict
from curator.codec import CODEC, CodecError

Json = Mapping[str, Any]
Amounts = tuple[Fraction, ...]

_LONGEST = 4096
_ROUNDED = 1 + Fraction(1, 2**2000)


class WrongAccountError(ValueError):
    """An account is not what its charges and its compositor say."""


def tag_of(value: Any) -> str:
    """The tag of a JSON object; empty if it has none."""
    return str(value.get("@", "")) if isinstance(value, dict) else ""


def compact(value: Any) -> str:
    """JSON as a codec writes it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def amounts_text(amounts: Amounts) -> str:
    """Amounts for people."""
    return ", ".join(f"{float(amount):.6g}" for amount in amounts)


def is_sum(after: Fraction, before: Fraction, added: Fraction, *, least: bool) -> bool:
    """Whether `after` is the sum, as the code writes it; or at least the sum."""
    exact = before + added
    if after == exact or (least and after >= exact):
        return True
    return exact.denominator.bit_length() > _LONGEST and exact <= after <= exact * _ROUNDED


@lru_cache(maxsize=1024)
def _decoded(text: str) -> Accountable:
    try:
        account = CODEC.decode(text)
    except CodecError as error:
        raise WrongAccountError(f"has no account of ours: {error}") from None
    if not isinstance(account, Accountable):
        raise WrongAccountError(f"has {tag_of(json.loads(text))} in the place of an account")
    return account


def read(account: Json) -> Accountable:
    """The account of a JSON object.

    Raises:
        WrongAccountError: its constructor refuses it.
    """
    return _decoded(compact(account))


@attrs.frozen
class AccountKind:
    """The accounts of one compositor.

    Attributes:
        fixed: the fields that no charge changes, as JSON.
        opened: the account before the first charge.
        measure: that of the losses which are charged; None if it is not known.
    """

    fixed: Json
    opened: Any = None
    measure: Any = None

    @property
    def adds(self) -> bool:
        """Whether launches change its numbers, so that a charge cannot leave it as it is."""
        return bool(self.opened.charged or self.opened.inner)

    def amounts(self, account: Json) -> Amounts:
        """What was spent, as numbers."""
        return read(account).amounts()

    def empty(self) -> Amounts:
        """The amounts before the first charge."""
        return tuple(Fraction(0) for _ in self.opened.amounts())

    def is_empty(self, account: Json) -> bool:
        """Whether nothing was charged."""
        try:
            return self.amounts(account) == self.empty()
        except WrongAccountError:
            return False

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """Whether amounts are within the limits of an account."""
        return read(account).check(amounts)

    def after(self, account: Json, loss: Any) -> Verdict:
        """Whether one more charge would be within the limits.

        Raises:
            WrongAccountError: the loss is of another measure.
        """
        self.require_measure(loss)
        return read(account).fits(loss)

    def require_measure(self, loss: Any) -> None:
        """Check that a charge is a loss of the measure of the compositor's children.

        Raises:
            WrongAccountError: it is of another one, whose numbers mean something else.
        """
        if self.measure is not None and loss.measure != self.measure:
            raise WrongAccountError(
                f"charges {loss}, which is no loss of this compositor's measure"
            )

    def moved(self, before: Json | None, loss: Any, after: Json, *, least: bool) -> None:
        """Check that a charge leads from one account to the next; `least`: to that or to more.

        Raises:
            WrongAccountError: it does not.
        """
        self.require_measure(loss)
        old, new = self.opened if before is None else read(before), read(after)
        try:
            added = self.opened.added(loss)[: self.opened.exact]
        except ValueError as error:
            raise WrongAccountError(f"charges {loss}, {error}") from None
        spent = self.empty() if before is None else old.amounts()
        self.follows(spent, added, new.amounts(), least=least)
        wrong = old.wrong_step(loss, new, least=least)
        if wrong:
            raise WrongAccountError(wrong)

    def follows(self, old: Amounts, added: Amounts, new: Amounts, *, least: bool) -> None:
        """Check the sums of the first amounts.

        Raises:
            WrongAccountError: one is another.
        """
        if len(added) > min(len(old), len(new)):
            raise WrongAccountError(f"has an account of {len(new)} numbers for another charge")
        if not all(is_sum(*each, least=least) for each in zip(new, old, added, strict=False)):
            wanted = tuple(a + b for a, b in zip(old, added, strict=False))
            raise WrongAccountError(
                f"has an account of {amounts_text(new)}; it should be {'at least ' * least}"
                f"{amounts_text(wanted)}"
            )
