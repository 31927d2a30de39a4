"""Claims that are read from a log: frozen values, as `Map` is."""

from array import array

import pytest
from immutables import Map

from composition.compositors.claims import Claim
from composition.compositors.logged import LoggedClaims, with_logged
from mechanisms import Gaussian
from queryable import ZCDP, Statistic

SIZE = Gaussian(Statistic(len, l1=1, l2=1), rho=1)


def claim(number: int) -> Claim:
    return Claim(SIZE, ZCDP(number))


def numbers(claims: LoggedClaims) -> list[int]:
    return [int(each.loss.rho) for each in claims.values()]  # type: ignore[attr-defined]


def test_known_and_logged_claims_alternate() -> None:
    known = Map({0: claim(7)})
    first = with_logged(known, [10, 11], claim)
    second = first.set(3, claim(8))
    third = with_logged(second, [12], claim)
    assert [numbers(each) for each in (first, second, third)] == [
        [7, 10, 11],
        [7, 10, 11, 8],
        [7, 10, 11, 8, 12],
    ]
    assert [len(each) for each in (first, second, third)] == [3, 4, 5]
    assert third.set(1, claim(9))[1] == claim(9)
    assert third[1] == claim(10)


def test_two_values_go_on_from_one() -> None:
    """Neither sees what the other has."""
    start = with_logged(Map(), [1], claim)
    one, other = start.logged([2, 3]), start.logged([4])
    assert (numbers(one), numbers(other), numbers(start)) == ([1, 2, 3], [1, 4], [1])


def test_what_is_not_there() -> None:
    claims = LoggedClaims(claim, array("q", [1]), Map())
    assert [claims.get(child) for child in (-1, 1)] == [None, None]
    with pytest.raises(KeyError):
        claims[1]


def test_claims_compare_by_value() -> None:
    claims = with_logged(Map({0: claim(0)}), [1, 2], claim)
    assert claims == Map({0: claim(0), 1: claim(1), 2: claim(2)})
    assert Map({0: claim(0), 1: claim(1), 2: claim(2)}) == claims
    assert claims != Map({0: claim(0), 1: claim(1), 2: claim(3)})
    assert claims != with_logged(Map(), [0, 1], claim)
