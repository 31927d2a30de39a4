"""Several Gaussians as one launch: its loss and its answers; a wrong column is not charged."""

from fractions import Fraction
from itertools import permutations

import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, GroupBy, PrivacyUnit
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.together import GaussiansTogether
from queryable import ZCDP, Queryable, QueryError, SeededCoins

DATA = {"city": ["a", "a", "b"]}
TOTAL = Gaussian(Combined(Count(), [[[1000]]]), variance=Fraction(100))


def by(column: str) -> Gaussian:
    """Two combinations of the counts of a and b."""
    groups = GroupBy({column: ["a", "b"]}, Count())
    return Gaussian(Combined(groups, [[[1000, 0], [0, 1000]]]), variance=Fraction(100))


def test_losses_add_up_and_answers_are_those_of_the_parts() -> None:
    together = GaussiansTogether([TOTAL, by("city")])
    assert together.loss(1) == ZCDP(TOTAL.loss(1).rho + by("city").loss(1).rho)
    assert together.loss(2).rho == 4 * together.loss(1).rho
    total, each = together.release(DATA, SeededCoins(1))
    assert abs(int(total[0]) - 3000) < 100
    assert abs(each - [2000, 1000]).max() < 100
    assert int(total[0]) - 3000 != int(each.sum()) - 3000  # the noise is drawn for each


def test_a_wrong_column_is_not_charged() -> None:
    root = Queryable(FiltCon(ZCDP(10**9)), DATA, coins=SeededCoins(3), allow_seeded=True)
    with pytest.raises(QueryError):
        root.launch(GaussiansTogether([TOTAL, by("town")]))
    assert root.privacy_loss() == ZCDP(0)


def test_parts_bound_one_unit_in_one_way() -> None:
    """Data were checked for the widest part, and another one failed after the charge."""
    units = None, PrivacyUnit("who", max_rows=2), PrivacyUnit("who", max_rows=3)
    parts = [Gaussian(Combined(Count(per=per), [[[1000]]]), variance=100) for per in units]
    for one, other in permutations(parts, 2):
        with pytest.raises(ValueError, match="one privacy unit in one way"):
            GaussiansTogether([one, other])
    assert GaussiansTogether(parts[1:2] * 2).loss(1).rho == 2 * parts[1].loss(1).rho
