"""The own state of `Blocks`, and what a launch over blocks and its parameters may be."""

from typing import Any

import attrs

from composition.compositors.blocks.accounts import Block
from composition.compositors.blocks.register import BlockRegister
from composition.compositors.blocks.units import NO_UNITS
from composition.compositors.claims import Claim, correction
from composition.compositors.filters import FiltCon
from composition.compositors.launching import Order
from composition.compositors.logged import Claims
from composition.compositors.state import NO_CLAIMS, Charged
from queryable.conversation import Data, Later
from queryable.errors import QueryError, UnknownQueryError
from queryable.losses import AdditiveLoss
from queryable.losses.numbers import at_least_one
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Launch
from queryable.streams.blocks import LaunchOver
from queryable.wording.quoting import quoted


@attrs.define(unsafe_hash=True)
class ClaimOver(Claim):
    """The claim of a launch over blocks; `d_in` is the number of records that it is stated for."""

    d_in: int = attrs.field(default=1, kw_only=True)


_NO_UNITS = Later.of(NO_UNITS)


@attrs.frozen
class BlocksState(Charged):
    """The own state of `Blocks`.

    Attributes:
        data: all records.
        register: the blocks and their accounts.
        claims: one claim for each launch that was charged, by child id.
        units: in which blocks each unit is, if that is bounded; a `Later` of `Units`.
    """

    data: Data = attrs.field(repr=False)
    register: BlockRegister
    claims: Claims = NO_CLAIMS
    units: Later = attrs.field(default=_NO_UNITS, repr=False)

    def shared(self, claim: Claim) -> Claim:
        """As in `Charged`, for claims at one `d_in`."""
        last = super().shared(claim)
        return last if d_in_of_claim(last) == d_in_of_claim(claim) else claim


def d_in_of_claim(claim: Any) -> int:
    """The number of records that a claim over blocks is stated for."""
    assert isinstance(claim, ClaimOver)
    return claim.d_in


@attrs.define(eq=False)
class OrderOver(Order):
    """A launch that was checked: the blocks that it names, and what each will be charged."""

    launch: LaunchOver
    claim: ClaimOver
    blocks: tuple[Block, ...]


def plain_filter(_: object, attribute: Any, value: Any) -> None:
    """An attrs validator: a `FiltCon` that refuses, whose budget adds up."""
    if type(value) is not FiltCon:
        raise TypeError(
            f"{attribute.name} is {quoted(value)}; it should be a FiltCon, such as "
            "FiltCon(ZCDP('1/10')), with what each block may lose"
        )
    if value.on_exceed != "refuse":
        raise ValueError("on_exceed is 'halt'; a block that cannot pay refuses: leave it out")
    if not isinstance(value.budget, AdditiveLoss):
        budget = quoted(value.budget)
        raise ValueError(f"the budget of a block adds up, as ZCDP does: it is {budget}")


def unit_blocks(value: Any) -> int:
    """Read the number of blocks that a unit counts in."""
    return at_least_one(value, "unit_blocks")


def unit_rows(value: Any) -> int:
    """Read the number of rows of a unit that count in a block."""
    return at_least_one(value, "unit_rows")


def unit_column(value: Any) -> str | None:
    """Read the name of the column that names units, or None."""
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise TypeError(f"unit is {quoted(value)}; it should be the column that names units")
    return str(value)


def parsed_over(query: Any) -> LaunchOver:
    """The launch as a plain `LaunchOver`, whose attributes are read once.

    Raises:
        QueryError: not a launch of an interactive mechanism over blocks.
    """
    if not isinstance(query, LaunchOver):
        raise QueryError(f"{correction(query)}; expected a LaunchOver, which names blocks")
    mechanism = query.mechanism
    if not isinstance(mechanism, InteractiveMechanism):
        raise QueryError(f"{correction(mechanism)}, and a launch takes an interactive mechanism")
    return LaunchOver(mechanism, query.blocks, query.d_out)


def whom(unit: str | None, blocks: int) -> str:
    """Whom blocks protect whose units, if they have some, count in so many of them."""
    if unit is None:
        return (
            "Here each record is protected in its own block: a person with records in k blocks is "
            "protected as k records, so read privacy_loss(d_in=k)."
        )
    return (
        f"Here all records of one {unit} are protected together: those in its first {blocks:,} "
        "blocks count, and later ones are dropped."
    )


def not_answered(query: Any, name: str) -> UnknownQueryError:
    """The error for a query that `Blocks` does not answer.

    Args:
        name: the class of the compositor.
    """
    if isinstance(query, Launch):
        return UnknownQueryError(
            "name the blocks to launch on, as in launch_over(mechanism, ['monday']) or "
            "release(statistic, .., blocks=Last(7)); nothing is charged"
        )
    return UnknownQueryError(
        f"{correction(query)}, and {name} answers LaunchOver, LaunchMany, Ask, PrivacyLossQuery, "
        "BlockLossQuery, BlocksQuery, RemainingQuery, CanAfford and MeasureQuery"
    )
