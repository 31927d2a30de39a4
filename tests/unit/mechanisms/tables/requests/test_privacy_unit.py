"""Privacy units: what their bounds do to sensitivities, against every way to fill them."""

from itertools import product
from math import isqrt

from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import Neighbours, PrivacyUnit
from mechanisms.tables.requests.privacy_unit import contribution, root
from queryable import ZCDP

caps = st.one_of(st.none(), st.integers(1, 4))


@given(st.integers(1, 6), caps, caps, st.integers(1, 6))
def test_contributions_are_the_worst_there_are(
    rows: int, groups: int | None, each: int | None, keys: int
) -> None:
    """The norms are reached by some numbers of rows in so many groups, and exceeded by none."""
    per = PrivacyUnit("id", max_rows=rows, max_groups=groups, max_rows_per_group=each)
    allowed = [
        counts
        for counts in product(range((each or rows) + 1), repeat=keys)
        if sum(counts) <= rows and sum(map(bool, counts)) <= (groups or keys)
    ]
    worst = contribution(per, keys)
    assert worst.l1 == max(map(sum, allowed))
    assert worst.l2_squared == max(sum(count**2 for count in counts) for counts in allowed)
    assert worst.linf == max(map(max, allowed))


def test_without_groups_all_rows_count() -> None:
    per = PrivacyUnit("id", max_rows=5, max_groups=1, max_rows_per_group=2)
    assert contribution(per).l1 == 5
    assert contribution(None, 3).l2_squared == 1


@given(st.integers(0, 10**30))
def test_roots_are_never_too_small(square: int) -> None:
    assert root(square) ** 2 >= square
    if isqrt(square) ** 2 == square:
        assert root(square) == isqrt(square)


def test_neighbours_by_name() -> None:
    """A budget for substitutions admits less: two units differ."""
    budget = FiltCon(ZCDP(1), d_in=Neighbours.SUBSTITUTE)
    assert budget == FiltCon(ZCDP(1), d_in=2)
    assert FiltCon(ZCDP(1), d_in=Neighbours.ADD_REMOVE) == FiltCon(ZCDP(1))
