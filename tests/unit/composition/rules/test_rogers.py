"""Rogers et al. 2016, Theorem 5.1, against 60-digit arithmetic and reference counts."""

from fractions import Fraction
from random import Random

import pytest

from composition import Rogers2016, admitted
from queryable import ApproxDP, PureDP
from tests.reference import mp, real


def test_the_bound_is_the_theorem_from_above() -> None:
    """On 150 random plans the left-hand side is at or a hair above its 60-digit value."""
    random = Random(5)
    for _ in range(150):
        budget = ApproxDP(
            Fraction(random.randint(1, 800), 100), Fraction(1, 10 ** random.randint(1, 15))
        )
        losses = [Fraction(random.randint(1, 3000), 10**4) for _ in range(random.randint(1, 12))]
        account = Rogers2016().open(budget)
        for epsilon in losses:
            account = account.add(PureDP(epsilon))
        log = -mp.log(real(budget.delta))
        x = real(budget.epsilon) ** 2 / (real("28.04") * log)
        v = real(sum(epsilon**2 for epsilon in losses))
        drift = sum(real(e) * mp.expm1(real(e)) / 2 for e in losses)
        true = drift + mp.sqrt(2 * (v + x) * (1 + mp.log(v / x + 1) / 2) * log)
        assert true <= real(account.bound) <= true * (1 + real("1e-20"))


@pytest.mark.parametrize(
    ("epsilon", "each", "count"),
    [
        (1, "0.1", 1),
        (1, "0.01", 154),
        (2, "0.1", 6),
        (2, "0.01", 610),
        (5, "0.1", 36),
        (5, "0.01", 3661),
    ],
)
def test_reference_counts(epsilon: int, each: str, count: int) -> None:
    """How many equal mechanisms fit at delta = 1e-6, computed elsewhere."""
    assert admitted(ApproxDP(epsilon, "1e-6"), Rogers2016(), PureDP(each)) == count


def test_many_at_once_are_as_many_in_turn() -> None:
    """Adding five at once gives the account of five."""
    account = Rogers2016().open(ApproxDP(1, "1e-6"))
    assert account.add_many(PureDP("0.01"), 2).add_many(PureDP("0.01"), 3) == account.add_many(
        PureDP("0.01"), 5
    )
