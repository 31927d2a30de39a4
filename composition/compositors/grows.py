"""Compositors whose table cell, looked up at construction, says whether the data may grow."""

from composition.proofs import Proof
from queryable.conversation import Compositor
from queryable.streams import DataLevel, Neighbours


class GrowsByProof(Compositor):
    """Base of compositors with one `proof`, which see batches through their data only."""

    proof: Proof
    neighbours: Neighbours = DataLevel()

    @property
    def continual(self) -> bool:  # type: ignore[override]
        """Whether a theorem covers data that grow."""
        return self.proof.grows

    def require_growing(self) -> None:
        """Check that a theorem covers data that grow.

        Raises:
            UnprovenCompositionError: none does.
        """
        self.proof.require_growing()
