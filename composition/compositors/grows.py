"""Compositors whose table cell, looked up at construction, says whether the data may grow."""

from collections.abc import Generator
from typing import Any

from composition.proofs import Proof
from queryable.conversation import Compositor, Data, Later, Ready
from queryable.data.growing import grown
from queryable.messages import CloseBlock, Update
from queryable.streams.levels import DataLevel, Growth, Neighbours

_GROWTH = Growth()


class GrowsByProof(Compositor):
    """Base of compositors with one `proof`, which see batches through their data only."""

    proof: Proof
    neighbours: Neighbours = DataLevel()

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        """None if no theorem covers data that grow."""
        return _GROWTH if self.proof.grows else None

    def require_growing(self) -> None:
        """Check that a theorem covers data that grow.

        Raises:
            UnprovenCompositionError: none does.
        """
        self.proof.require_growing()


def grown_by(message: Update | CloseBlock, data: Data) -> Generator[Any, Any, Data]:
    """The data after a message of their owner.

    The records are made now, so that a batch that does not fit is refused.
    """
    if isinstance(message, CloseBlock):
        return data
    rows = Later(grown, data.rows, message.records, message.block)
    yield Ready("data", rows)
    return Data(data.facts.with_block(message.block), rows)
