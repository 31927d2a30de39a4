"""The strongest adaptive analyst against a menu filter, by floats on a lattice of losses."""

from fractions import Fraction

import numpy as np

EPSILON, UNIT = Fraction(1), Fraction(1, 100)
COSTS = {entry: entry**2 for entry in (1, 2, 3, 5, 10, 20)}


class Lattice:
    """The analyst's value of each loss so far, for losses from -4 to 5."""

    low, high = -400, 500

    def __init__(self) -> None:
        self.levels = np.arange(self.low, self.high + 1)
        self.stop = np.maximum(0.0, -np.expm1(float(EPSILON) - self.levels * float(UNIT)))

    def launch(self, move: int, after: np.ndarray) -> np.ndarray:
        """The mean over the answers of a response; beyond the edges, their own values."""
        truth = 1 / (1 + np.exp(-move * float(UNIT)))
        up = np.concatenate([after[move:], np.full(move, after[-1])])
        down = np.concatenate([np.full(move, after[0]), after[:-move]])
        return np.asarray(truth * up + (1 - truth) * down)

    def at_zero(self, values: np.ndarray) -> float:
        """Return the value at a loss of zero."""
        return float(values[-self.low])
