"""Values computed elsewhere in double precision: counts match exactly, reals to 1e-9.

Every real is also compared with its formula at 60 digits: it is never below the true loss.
"""

from fractions import Fraction
from typing import Any

import pytest

from composition import (
    Basic,
    LinearOdometer,
    MixtureOdometer,
    OneSidedMixtureOdometer,
    Rogers2016,
    Rogers2016Odometer,
    StitchedOdometer,
    ViaZCDP,
    Whitehouse2023,
    admitted,
    filter_of,
)
from composition.rules.optimal import optimal_delta
from queryable import ZCDP, ApproxDP, PureDP
from queryable.losses import conversions
from tests.reference import (
    gaussian_profile,
    laplace_zcdp,
    linear,
    mixture,
    mp,
    one_sided,
    real,
    response_renyi,
    rogers,
    stitched,
    zcdp_epsilon,
)

F = Fraction
DELTA = F(1, 10**6)


def assert_hits(found: Fraction, stated: str, true: Any) -> None:
    """At or above the true value, and all three values within 1e-9 of each other."""
    assert true <= real(found) <= true * (1 + real("1e-9"))
    assert abs(real(found) - real(stated)) <= real("1e-9") * real(stated)


# The number of equal mechanisms that are admitted at delta = 1e-6.

ADMITTED = [  # epsilon, epsilon_i, basic, Rogers, Whitehouse, tanh with BS16 and CKS, the optimum
    (1, "0.1", 10, 1, 3, 3, 4, 10),
    (1, "0.01", 100, 154, 349, 349, 487, 562),
    (2, "0.1", 20, 6, 13, 13, 17, 24),
    (2, "0.01", 200, 610, 1351, 1351, 1763, 2012),
    (5, "0.1", 50, 36, 77, 77, 92, 108),
    pytest.param(5, "0.01", 500, 3661, 7706, 7706, 9261, 10414, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(
    ("epsilon", "each", "basic", "rogers_2016", "whitehouse", "bs16", "cks", "optimum"), ADMITTED
)
def test_admitted(
    epsilon: int,
    each: str,
    basic: int,
    rogers_2016: int,
    whitehouse: int,
    bs16: int,
    cks: int,
    optimum: int,
) -> None:
    """Counts for a new filter; the optimised line converts zCDP as Bun and Steinke do."""
    budget, loss = ApproxDP(epsilon, DELTA), PureDP(each)
    line = filter_of(LinearOdometer(DELTA, epsilon))
    rules = (Basic(), Rogers2016(), Whitehouse2023(), line, ViaZCDP())
    found = [admitted(budget, rule, loss) for rule in rules]
    assert found == [basic, rogers_2016, whitehouse, bs16, cks]
    assert optimal_delta([loss] * optimum, epsilon) <= DELTA
    assert optimal_delta([loss] * (optimum + 1), epsilon) > DELTA


# Reports of odometers at delta = 1e-6, by V.

ODOMETERS = (
    (LinearOdometer(DELTA, 1), linear, 1),
    (LinearOdometer(DELTA, 5), linear, 5),
    (MixtureOdometer(DELTA, "0.1"), mixture, "0.1"),
    (OneSidedMixtureOdometer(DELTA, "0.1"), one_sided, "0.1"),
    (StitchedOdometer(DELTA, "0.01"), stitched, "0.01"),
    (Rogers2016Odometer(DELTA, 10**6), rogers, 10**6),
)
REPORTED = {
    "0.01": (
        "0.6368769809331578",
        "2.342265157094553",
        "1.751395270988391",
        "1.7071762817932385",
        "0.5628406662896966",
        "0.8834427734425617",
    ),
    "0.1": (
        "1.947379880792639",
        "2.656710288420435",
        "2.430091103150822",
        "2.3711149969560013",
        "1.93012548999233",
        "2.8278799581937655",
    ),
    "1": (
        "15.05240887938745",
        "5.801161601679256",
        "6.247330513168667",
        "6.113099351171093",
        "6.5824829051484475",
        "9.284427734425616",
    ),
    "10": (
        "146.10269886533555",
        "37.24567473426746",
        "23.046773409420727",
        "22.654587441336286",
        "24.503726521757585",
        "81.2235879640117",
    ),
}


@pytest.mark.parametrize("variance", REPORTED)
def test_reported(variance: str) -> None:
    """Reports after launches with 2*rho = V."""
    v = F(variance)
    for (odometer, formula, parameter), stated in zip(ODOMETERS, REPORTED[variance], strict=True):
        true = formula(real(v), real(DELTA), real(parameter))
        assert_hits(odometer.bound([ZCDP(v / 2)]), stated, true)


@pytest.mark.parametrize(
    ("variance", "stated"),
    [
        ("0.01", "0.5306521769756932"),
        ("0.1", "1.71225813626911"),
        ("1", "5.756521769756932"),
        ("10", "21.6225813626911"),
    ],
)
def test_advanced_at_a_fixed_time(variance: str, stated: str) -> None:
    """sqrt(2LV) + V/2: the report of Whitehouse's filter, and the best line at that V."""
    v = F(variance)
    true = mp.sqrt(-2 * real(v) * mp.log(real(DELTA))) + real(v) / 2
    assert_hits(Whitehouse2023().epsilon(v, DELTA), stated, true)
    line = LinearOdometer.optimised_at(DELTA, v)
    assert_hits(line.bound([ZCDP(v / 2)]), stated, true)


# Conversions.


@pytest.mark.parametrize(
    ("rho", "bun_steinke", "tight"),
    [
        ("0.01", "0.7533844377699678", "0.6216926545596024"),
        ("0.1", "2.4507880004767997", "2.141938928385474"),
        ("0.5", "5.756521769756932", "5.221534444530169"),
        ("1", "8.433844377699677", "7.766216625311721"),
    ],
)
def test_zcdp_to_epsilon(rho: str, bun_steinke: str, tight: str) -> None:
    """At delta = 1e-6; the older conversion is the line that is optimal at its V."""
    exact = F(rho)
    older = real(exact) + 2 * mp.sqrt(-real(exact) * mp.log(real(DELTA)))
    assert_hits(
        LinearOdometer.optimised_at(DELTA, 2 * exact).bound([ZCDP(exact)]), bun_steinke, older
    )
    true = zcdp_epsilon(real(exact), real(DELTA))
    assert_hits(conversions.zcdp_to_approx(exact, DELTA), tight, true)


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [
        ("0.1", "0.1", "0.008751768145809545"),
        ("0.1", "0.5", "6.856582455838863e-09"),
        ("0.1", "1", "1.230835983643176e-25"),
        ("0.1", "2", "3.7194507268318724e-91"),
        ("0.5", "0.1", "0.15926050741399175"),
        ("0.5", "0.5", "0.052440323287669725"),
        ("0.5", "1", "0.006829594983114591"),
        ("0.5", "2", "9.439168634947287e-06"),
        ("1", "0.1", "0.3523251716813667"),
        ("1", "0.5", "0.2384217081348766"),
        ("1", "1", "0.1269367375066439"),
        ("1", "2", "0.02092363582111376"),
    ],
)
def test_gdp_to_delta(mu: str, epsilon: str, delta: str) -> None:
    """The privacy profile of Gaussian DP, far into the tail."""
    with mp.workdps(300):  # its two terms agree in many digits
        found = conversions.gdp_delta(F(mu), F(epsilon))
        assert_hits(found, delta, gaussian_profile(mu, real(epsilon)))


@pytest.mark.parametrize(
    ("epsilon", "zcdp", "wide_laplace", "renyi"),
    [
        ("0.1", "0.004995837495787998", "0.004839004060488622", "0.03671665970131161"),
        ("0.5", "0.12245933120185457", "0.10669455746623363", "0.4323537067564649"),
        ("1", "0.46211715726000974", "0.3689317476075361", "0.9552483740548644"),
        ("2", "1.5231883119115297", "1.1410729269973428", "1.9818674269938747"),
    ],
)
def test_pure_dp(epsilon: str, zcdp: str, wide_laplace: str, renyi: str) -> None:
    """Pure DP in zCDP, integer Laplace noise at sensitivity 10, and Renyi order 8.

    The values for continuous noise are in tests/attacks/test_false_claims.py.
    """
    e = F(epsilon)
    assert_hits(conversions.pure_to_zcdp(e), zcdp, real(e) * mp.tanh(real(e) / 2))
    wide = conversions.discrete_laplace_to_zcdp(F(10), 10 / e)
    assert_hits(wide, wide_laplace, laplace_zcdp(mp.mpf(10), 10 / real(e)))
    assert_hits(conversions.pure_to_rdp(e, F(8)), renyi, response_renyi(e, 8))
