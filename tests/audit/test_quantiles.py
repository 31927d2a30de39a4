"""Private quantiles of groups: the exact loss on neighbouring data, and false claims caught."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from mechanisms import PrivacyUnit, Quantiles
from mechanisms.tables.quantiles.choices import PrivateQuantiles
from queryable import ZCDP, PureDP
from queryable.audit import audit

GRID = tuple(range(12))
Rows = tuple[tuple[str, int], ...]
"""Group and cell of each row."""
Laws = list[Any]
"""The log-probabilities of each draw; draws are independent given the data."""


def mechanism(per: PrivacyUnit | None, levels: Any, confidence: Any) -> PrivateQuantiles:
    """Quantiles of two groups."""
    counts = Quantiles("x", levels, GRID, by={"g": ["a", "b"]}, per=per)
    return PrivateQuantiles(counts, "1/4" if confidence is None else 3, confidence)


COUNTS = mechanism(None, "1/2", None).counts


@cache
def counted(rows: Rows) -> Any:
    """The counts of rows that the bounds have left."""
    return COUNTS({"g": [group for group, _ in rows], "x": [cell for _, cell in rows]})


def laws(asked: PrivateQuantiles, counts: Any) -> Laws:
    found = []
    for group, level in product(counts, asked.counts.several_levels):
        for law in asked.laws(level, group):
            weights = -np.array([float(law.exponent(each)) for each in range(len(law.gaps))])
            found.append(weights - np.logaddexp.reduce(weights))
    return found


def pure(p: Laws, q: Laws) -> float:
    """The largest loss of all draws together."""
    return float(sum(max(a - b) for a, b in zip(p, q, strict=True)))


def concentrated(p: Laws, q: Laws) -> float:
    """The largest D_alpha / alpha of all draws together, over a few orders."""
    return max(
        sum(np.logaddexp.reduce(alpha * a + (1 - alpha) * b) for a, b in zip(p, q, strict=True))
        / (alpha * (alpha - 1))
        for alpha in (1.001, 1.5, 2, 4, 16)
    )


UNITS = [
    PrivacyUnit("who", max_rows=1),
    PrivacyUnit("who", max_rows=2),
    PrivacyUnit("who", max_rows=2, max_rows_per_group=1),
    PrivacyUnit("who", max_rows=3, max_rows_per_group=2),
    PrivacyUnit("who", max_rows=3, max_groups=1, max_rows_per_group=2),
]
units = pytest.mark.parametrize("per", UNITS, ids=str)


def contributed(per: PrivacyUnit) -> Iterator[Rows]:
    """What one person may contribute within the bounds, in a few ways."""
    for size in range(1, per.max_rows + 1):
        for groups in combinations_with_replacement("ab", size):
            held = [groups.count(group) for group in set(groups)]
            if len(held) <= per.groups and max(held) <= per.rows_per_group:
                for cell in (-1, 5, 12):
                    yield tuple((group, cell) for group in groups)
                yield tuple((group, -1 if group == "a" else 12) for group in groups)


def losses(asked: PrivateQuantiles, per: PrivacyUnit) -> tuple[float, float]:
    """The pure and the concentrated loss, over persons within these bounds who come or go.

    The rows of others are beyond the grid, so that its values tie. The loss is largest where they
    tie at the target of a draw; draws have different targets.
    """
    epsilon, rho = 0.0, 0.0
    for apart in (0, 4, 24, -36):
        others = np.zeros((2, 2 * len(GRID) + 1), dtype=np.int64)
        others[:, 0], others[:, -1] = 60 + max(apart, 0), 60 + max(-apart, 0)
        here = laws(asked, others)
        for rows in contributed(per):
            there = laws(asked, others + counted(rows))
            for pair in ((here, there), (there, here)):
                epsilon, rho = max(epsilon, pure(*pair)), max(rho, concentrated(*pair))
    return epsilon, rho


@units
@pytest.mark.parametrize("levels", ["1/2", ["1/4", "1/2"]], ids=str)
@pytest.mark.parametrize("confidence", ["0.8", None])
def test_the_loss_of_a_person_is_within_the_claim(
    per: PrivacyUnit, levels: Any, confidence: Any
) -> None:
    """Epsilon and rho of the exact laws, for many ways to spread rows over two groups."""
    asked = mechanism(per, levels, confidence)
    epsilon, rho = losses(asked, per)
    assert asked.epsilon / 3 < epsilon <= asked.epsilon + 1e-9
    assert claimed_rho(asked) / 9 < rho <= claimed_rho(asked) + 1e-9


def claimed_rho(asked: PrivateQuantiles) -> float:
    claim: Any = asked.privacy_map(1, ZCDP)
    return float(claim.rho)


@pytest.mark.parametrize("rows", [1, 2])
def test_twice_the_rows_of_the_bound_are_found_out(rows: int) -> None:
    """An estimate alone attains most of its epsilon and of its rho."""
    asked = mechanism(PrivacyUnit("who", max_rows=rows), "1/2", None)
    epsilon, rho = losses(asked, PrivacyUnit("who", max_rows=2 * rows))
    assert epsilon > asked.epsilon
    assert rho > claimed_rho(asked)


def test_rho_needs_the_bound_on_rows_in_a_group() -> None:
    """For one row in each of two groups it is half as much as for two rows in one group."""
    asked = mechanism(PrivacyUnit("who", max_rows=2, max_rows_per_group=1), "1/2", None)
    epsilon, rho = losses(asked, PrivacyUnit("who", max_rows=2))
    assert epsilon <= asked.epsilon
    assert rho > claimed_rho(asked)


def test_the_claim_of_rows_holds_for_views() -> None:
    """The law of whole answers, enumerated; a fifth of the claim is refuted."""
    asked = PrivateQuantiles(Quantiles("x", "1/2", [0], by={"g": ["a", "b"]}), 3, "0.8")
    few = ("a", 0), ("a", 1), ("b", -1), *[("b", 1)] * 9
    more = (*few, ("b", -1))
    pairs = [
        tuple({"g": [g for g, _ in rows], "x": [x for _, x in rows]} for rows in pair)
        for pair in ((few, more), ((), (("a", 1),)), (few, few[1:]))
    ]
    claims = [PureDP(3), asked.privacy_map(1, ZCDP)]
    assert all(audit(asked, pairs, claim=claim).holds for claim in claims)
    assert audit(asked, pairs, claim=PureDP("3/5")).refuted
