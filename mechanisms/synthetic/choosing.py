"""What a choice of a marginal says about those that were not chosen. Reads no data."""

from collections.abc import Callable
from fractions import Fraction

import attrs

from mechanisms.synthetic.fit_queries import PassedOver
from mechanisms.synthetic.graphical import GRID, on_grid
from mechanisms.synthetic.scores import Distances
from queryable.data.cells import Array

_USUAL = Fraction(1, 20)


@attrs.frozen(eq=False)
class ChosenMarginal:
    """A marginal that was chosen and measured. All of it is public.

    Attributes:
        scores: what was chosen from, with the model's counts at that time.
        names: the columns that were chosen.
        epsilon: of the choice.
        number: of the choice, from 1.
        counts: the noisy marginal.
        variance: of its noise.
    """

    scores: Distances
    names: tuple[str, ...]
    epsilon: Fraction
    number: int
    counts: Array
    variance: Fraction

    def about(
        self, names: tuple[str, ...], model: Callable[[tuple[str, ...]], Array | None]
    ) -> PassedOver | None:
        """The smallest bound of a marginal with these columns; None if none could be chosen.

        Args:
            names: the columns of a question.
            model: the model's counts now, of the columns of a marginal; None if they are too many.
        """
        every = self.scores.compared
        [best] = [each for each in every if each.marginal.names == self.names]
        noisy = int(abs(self.counts.astype(object) * GRID - best.modelled).sum())
        score = best.weight * noisy - best.less
        found = []
        for each in every:
            if set(names) <= set(each.marginal.names):
                now = model(each.marginal.names)
                if now is None:
                    continue
                one = GRID * each.weight
                moved = int(abs(each.modelled - on_grid(now)).sum())
                if names != each.marginal.names:
                    moved += 2 * now.size  # counts of both sets of columns are on the grid
                found.append(
                    PassedOver(
                        distance=Fraction(score + each.less, one),
                        square=Fraction(best.weight, each.weight) ** 2
                        * self.variance
                        * self.counts.size,
                        scale=2 * self.scores.linf / self.epsilon / one,
                        candidates=len(every),
                        number=self.number,
                        moved=Fraction(moved, GRID),
                    )
                )
        return min(found, key=lambda each: each.half_width(_USUAL), default=None)
