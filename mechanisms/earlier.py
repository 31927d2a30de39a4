"""Mechanisms whose noise has changed, as logs and analysts of earlier versions have them.

A log that has one of them goes on with the algorithm, the noise and the claim that it was written
with. They are read by their old tags and launched in no other way.
"""

from fractions import Fraction

import attrs

from mechanisms.multiplicative_weights import PrivateMultiplicativeWeights
from mechanisms.sparse_vector import SparseVector
from queryable.losses import Loss, Measure
from queryable.mechanism import InteractiveMechanism


@attrs.frozen
class EarlierSparseVector(SparseVector):
    """A `SparseVector` with new noise on the threshold after each True, and an even split.

    Privacy:
        Claim: PureDP(d_in * epsilon), for every adversary and any number of queries.
        Theorem: Dwork, Roth 2014, Theorems 3.23 and 3.25; docs/theory.md, sparse vector (5.21).
        Assumes: the statistics' declared `l1`.
        Checked by: tests/attacks/test_sparse_vectors.py, tests/unit/mechanisms/test_earlier.py
    """

    monotone: bool | None = attrs.field(init=False, default=False, repr=False)
    gap: bool = attrs.field(init=False, default=False, repr=False)
    refresh: bool = attrs.field(init=False, default=True, repr=False)

    def _split(self) -> tuple[Fraction, Fraction]:
        half = self.epsilon / self.cutoff / 2
        return half, half

    @property
    def public_name(self) -> str:
        """The name that it had."""
        return SparseVector.__name__

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss converted, as it was charged, although a smaller one in zCDP is known."""
        return InteractiveMechanism.privacy_map(self, d_in, measure)


@attrs.frozen
class EarlierWeights(PrivateMultiplicativeWeights):
    """`PrivateMultiplicativeWeights` over an `EarlierSparseVector`."""

    @property
    def public_name(self) -> str:
        """The name that it had."""
        return PrivateMultiplicativeWeights.__name__

    def _detector(self, most: int) -> SparseVector:
        return EarlierSparseVector(
            self.threshold, self.epsilon / 2, cutoff=self.updates, sensitivity=most
        )
