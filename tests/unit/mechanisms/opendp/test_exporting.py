"""`to_opendp` over a stand-in: what a map states, what is refused, and in which order data come."""

from collections.abc import Callable
from fractions import Fraction
from math import inf, nan, nextafter
from typing import Any

import pytest

from composition import FiltCon, OdomCon
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse, TreeCounter, column
from mechanisms.opendp import to_opendp
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    Bit,
    Launch,
    MechanismFault,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    QueryError,
    QueryRefusedError,
    Statistic,
    UnprovenCompositionError,
    UserLevel,
)
from queryable.losses import FDP, GDP, RDP, ApproxZCDP
from queryable.mechanism import Measurement
from queryable.messages import LaunchMany
from tests.strategies import Faulty, Toy, raising
from tests.unit.mechanisms.opendp import stand_in as odp
from tests.unit.mechanisms.opendp.stand_in import in_place_of_opendp

__all__ = ["in_place_of_opendp"]

SIZE = Statistic(len, l1=1, l2=1)
DOMAIN = odp.Vectors()
SPACE = DOMAIN, odp.SYMMETRIC
SECRET = "the patient is 47"


class Seen(Measurement[Any]):
    """Answers the data: for tests of their form, where nothing is private."""

    def __init__(self, claim: Any = None, most: int = 10**9) -> None:
        self.claim, self.most = claim or PureDP("1/3"), most

    def loss(self, d_in: int) -> Any:
        if d_in > self.most:
            raise ValueError("no map there")
        return self.claim

    def release(self, dataset: Any, coins: Any) -> Any:
        return dataset


def parts(distance: Any) -> tuple[float, ...]:
    return distance if isinstance(distance, tuple) else (distance,)


@pytest.mark.parametrize(
    ("mechanism", "measure"),
    [
        (Laplace(SIZE, epsilon="1/3"), odp.PURE),
        (Gaussian(SIZE, rho="1/30"), odp.ZCDP),
        (RandomizedResponse(Bit(any), odds=3), odp.PURE),
        (RandomizedResponse(Bit(any), odds=3, delta="1/7"), odp.approximate(odp.PURE)),
        (FiltCon(PureDP("2/3")), odp.PURE),
        (FiltCon(ZCDP("1/10"), d_in=2), odp.ZCDP),
        (FiltCon(ApproxDP("1/3", "1e-7")), odp.approximate(odp.PURE)),
        (Toy(GDP("1/3")), odp.ZCDP),
    ],
    ids=repr,
)
def test_a_map_is_the_claim_rounded_up(mechanism: Any, measure: Any) -> None:
    """To the least float at or above it, at each distance."""
    theirs = to_opendp(mechanism, *SPACE)
    assert theirs.output_measure == measure
    stated = ZCDP if measure == odp.ZCDP else None
    for d_in in range(6):
        exact = mechanism.privacy_map(d_in, stated).parts
        for value, distance in zip(exact, parts(theirs.map(d_in)), strict=True):
            assert Fraction(distance) >= value
            assert not value or Fraction(nextafter(distance, -inf)) < value


def test_measures_may_be_chosen() -> None:
    count = Laplace(SIZE, epsilon="1/3")
    assert to_opendp(count, *SPACE, measure=ZCDP).map(1) < 1 / 18
    two = to_opendp(Gaussian(SIZE, rho="1/30"), *SPACE, measure=ApproxDP, delta="1e-6")
    epsilon, delta = two.map(1)
    exact = Gaussian(SIZE, rho="1/30").privacy_map(1).to(ApproxDP, "1e-6")
    assert (Fraction(epsilon), Fraction(delta)) >= exact.parts
    assert epsilon == pytest.approx(float(exact.epsilon), rel=1e-15)
    assert two.map(0) == (0.0, 0.0)
    bound = to_opendp(
        Toy(FDP([(0, "9/10"), ("9/10", 0), (1, 0)])), *SPACE, measure=ApproxDP, delta="1/5"
    )
    assert bound.map(1)[1] >= 0.2


def test_groups_where_the_map_ends() -> None:
    """By steps from neighbour to neighbour, for measures that have a bound for it."""
    assert to_opendp(Seen(most=1), *SPACE).map(3) == 1.0
    assert to_opendp(Seen(ZCDP("1/4"), most=1), *SPACE).map(3) == 2.25
    with pytest.raises(ValueError, match="no group bound is proven"):
        to_opendp(Seen(ApproxZCDP("1/4", "1/9"), most=1), *SPACE).map(2)


class Uncoined(Toy):
    """Interactive, with an approximate zCDP that no coin pays."""

    coin_at_launch = False


REFUSED: tuple[tuple[Any, str, Callable[[], Any]], ...] = (
    (TypeError, "mechanism is 7", lambda: to_opendp(7, *SPACE)),  # type: ignore[arg-type]
    (TypeError, "input domain", lambda: to_opendp(Seen(), None, odp.SYMMETRIC)),
    (TypeError, "input metric", lambda: to_opendp(Seen(), DOMAIN, odp.Named("Hamming"))),
    (TypeError, "should be one of", lambda: to_opendp(Seen(), *SPACE, measure=GDP)),
    (ValueError, "no theorem", lambda: to_opendp(Gaussian(SIZE, rho=1), *SPACE, measure=PureDP)),
    (ValueError, "delta", lambda: to_opendp(Gaussian(SIZE, rho=1), *SPACE, measure=ApproxDP)),
    (ValueError, "has no delta", lambda: to_opendp(Seen(), *SPACE, measure=ZCDP, delta="1/9")),
    (
        ValueError,
        "give measure",
        lambda: to_opendp(Toy(FDP([(0, "1/2"), ("1/2", 0), (1, 0)])), *SPACE),
    ),
    (ValueError, "give measure", lambda: to_opendp(FiltCon(RDP(8, 1)), *SPACE)),
    (PrivacyClaimError, "an odometer has no loss", lambda: to_opendp(OdomCon(PureDP), *SPACE)),
    (UnprovenCompositionError, "coin", lambda: to_opendp(Uncoined(ApproxZCDP(1, "1/9")), *SPACE)),
    (
        QueryError,
        "there is no column",
        lambda: to_opendp(Laplace(Count(column("b") > 1), scale=1), *SPACE, column="a"),
    ),
    (
        QueryError,
        "who",
        lambda: to_opendp(
            TreeCounter(Count(), epsilon=1, neighbours=UserLevel("who", 2)), *SPACE, column="a"
        ),
    ),
)


@pytest.mark.parametrize(("error", "words", "make"), REFUSED, ids=[each[1] for each in REFUSED])
def test_what_is_refused(error: Any, words: str, make: Callable[[], Any]) -> None:
    with pytest.raises(error, match=words):
        make()


def test_lists_of_the_same_values_are_the_same_data() -> None:
    """Where the metric does not look at the order; zeros and NaNs are one value each."""
    alike = to_opendp(Seen(), *SPACE)
    assert alike([3.0, -0.0, 1.0]) == alike([1.0, 3.0, 0.0]) == [0.0, 1.0, 3.0]
    assert repr(alike([-0.0])) == "[0.0]"
    ordered = to_opendp(Seen(), DOMAIN, odp.ORDERED, column="a")
    assert ordered([3.0, 1.0]) == {"a": [3.0, 1.0]}
    assert ordered([3.0, nan, "1"]) == {"a": [3.0]}  # what OpenDP's domain does not hold


def test_a_column_is_counted() -> None:
    count = Laplace(Count(column("age") > 40), epsilon=10**9)
    assert to_opendp(count, *SPACE, column="age")([31.0, 47.0, 62.0]) == 2


def test_an_interactive_mechanism_is_asked_through_theirs() -> None:
    """Their queryable is a function here; children are queryables as well."""
    ask = to_opendp(FiltCon(PureDP(1)), *SPACE)([3.0, 1.0, 2.0])
    assert ask(None) is None
    assert ask(PrivacyLossQuery()) == PureDP(0)
    assert isinstance(ask(Laplace(SIZE, epsilon="1/4")), int)
    inner = ask(FiltCon(PureDP("1/2")))
    assert isinstance(inner(Launch(Laplace(SIZE, epsilon="1/4"))), int)
    several = ask(LaunchMany([Launch(Seen(PureDP("1/8"))), Launch(FiltCon(PureDP("1/16")))]))
    assert several[0] == [1.0, 2.0, 3.0]
    assert several[1](PrivacyLossQuery()) == PureDP(0)
    assert ask(Ask(1, PrivacyLossQuery())) == PureDP("1/4")
    assert ask(PrivacyLossQuery()) == PureDP("15/16")
    with pytest.raises(QueryRefusedError, match="insufficient budget"):
        ask(Laplace(SIZE, epsilon="1/4"))


def test_each_invocation_starts_again() -> None:
    """OpenDP charges for each, so each has the whole budget."""
    theirs = to_opendp(FiltCon(PureDP(1)), *SPACE)
    for _ in range(2):
        ask = theirs([1.0])
        ask(Laplace(SIZE, epsilon=1))
        assert ask(PrivacyLossQuery()) == PureDP(1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_nothing_but_an_exception_is_raised_there(error: type[BaseException]) -> None:
    """C would go on without a value."""
    theirs = to_opendp(Faulty(raising(error(SECRET)), good=0), *SPACE)([1.0])
    with pytest.raises(RuntimeError, match=f"it was interrupted: {error.__name__}$") as raised:
        theirs("bits")
    assert raised.value.__cause__ is raised.value.__context__ is None


def test_a_failure_says_only_that_it_happened() -> None:
    told: list[BaseException] = []
    for failing in (
        Faulty(raising(ValueError(SECRET)), at_launch=True),
        Laplace(Statistic(raising(ValueError(SECRET)), l1=1, l2=1), epsilon=1),
    ):
        with pytest.raises(MechanismFault) as raised:
            to_opendp(failing, *SPACE, on_fault=told.append)([1.0])
        assert SECRET not in repr(raised.value)
        assert raised.value.__cause__ is raised.value.__context__ is None
    assert [*map(str, told)] == [SECRET] * 2
