"""`Lost`: the charge for messages that a ledger has lost; see `curator.anchors`."""

from typing import Any

import attrs

from queryable.losses import Loss
from queryable.losses.loss import group_size
from queryable.losses.numbers import at_least_one
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.wording.quoting import an_instance


def _d_in(value: Any) -> int:
    return at_least_one(value, "d_in")


@attrs.frozen
class Lost(Measurement[None]):
    """Releases nothing. Its loss stands for answers that were given and are not in the log.

    Privacy:
        Claim: it loses nothing, since nothing is read; it is charged as if it lost `charge`.
        Checked by: tests/unit/curator/test_anchors.py
    Args:
        charge: what the answers that were lost may have cost, in the compositor's measure.
        d_in: the records that `charge` is stated for.
        retires_others: whether its launch retires all children, because they may have answered
            queries that were lost.
    """

    charge: Loss = attrs.field(validator=an_instance(Loss))
    d_in: int = attrs.field(default=1, converter=_d_in)
    retires_others: bool = attrs.field(kw_only=True, default=True, validator=an_instance(bool))

    def loss(self, d_in: int) -> Loss:
        """The charge up to its own `d_in`; the group bound above it."""
        return self.charge.group(group_size(d_in, self.d_in))

    def release(self, dataset: Any, coins: Coins) -> None:
        """Nothing."""
