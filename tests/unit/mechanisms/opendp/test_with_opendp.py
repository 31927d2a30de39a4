"""The bridge to the real OpenDP: maps, what is refused, and data. `make test-opendp` runs it."""

import re
from fractions import Fraction
from math import inf, nan, nextafter
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Gaussian, Laplace, RandomizedResponse
from mechanisms.opendp import OpenDPMeasurement, to_opendp
from queryable import (
    ZCDP,
    ApproxDP,
    Bit,
    PrivacyClaimError,
    PureDP,
    Queryable,
    SeededCoins,
    UnprovenCompositionError,
    explain,
)
from queryable.errors import ForeignNoiseError
from queryable.losses import GDP, ApproxZCDP
from tests.unit.mechanisms.opendp.with_opendp import (
    ADAPTIVE,
    COUNTED,
    FULLY,
    SIZE,
    SPACE,
    SYMMETRIC,
    TEXTS,
    THEIRS,
    dp,
    parts,
    user,
)

MEASURES = {
    "MaxDivergence": PureDP,
    "ZeroConcentratedDivergence": ZCDP,
    "Approximate(MaxDivergence)": ApproxDP,
    "Approximate(ZeroConcentratedDivergence)": ApproxZCDP,
}


@pytest.mark.parametrize("name", THEIRS)
def test_their_maps_are_our_claims(name: str) -> None:
    """Exactly, at each distance."""
    theirs = THEIRS[name]
    ours = OpenDPMeasurement(theirs)
    for d_in in (1, 2, 3, 5, 17):
        loss = ours.privacy_map(d_in)
        assert type(loss) is MEASURES[str(theirs.output_measure)]
        assert loss.parts == tuple(map(Fraction, parts(theirs.map(d_in))))
    table = Queryable(FiltCon(type(loss)(*[10, "1/2"][: len(loss.parts)])), [1] * 60)
    if name != "Laplace threshold":
        table(ours)
        assert table.privacy_loss() == ours.privacy_map(1)


OURS = {
    "Laplace": Laplace(SIZE, epsilon="1/3"),
    "Gaussian": Gaussian(SIZE, rho="1/30"),
    "randomized response": RandomizedResponse(Bit(any), odds=3),
    "with delta": RandomizedResponse(Bit(any), odds=3, delta="1/7"),
    "filter": FiltCon(PureDP("2/3")),
    "zCDP filter": FiltCon(ZCDP("1/10"), d_in=2),
    "approximate filter": FiltCon(ApproxDP("1/3", "1e-7")),
    "approximate zCDP filter": FiltCon(ApproxZCDP("1/3", "1e-7"), d_in=9),
    "Gaussian DP": FiltCon(GDP("1/3")),
}


@pytest.mark.parametrize("name", OURS)
def test_our_claims_are_their_maps(name: str) -> None:
    """Rounded up to the next float; and back they are the loss of that float."""
    ours = OURS[name]
    theirs = to_opendp(ours, *SPACE)
    kind = MEASURES[str(theirs.output_measure)]
    for d_in in range(6):
        distances = parts(theirs.map(d_in))
        for value, distance in zip(ours.privacy_map(d_in, kind).parts, distances, strict=True):
            assert Fraction(distance) >= value
            assert not value or Fraction(nextafter(distance, -inf)) < value
    if not name.endswith(("filter", "DP")):
        back = OpenDPMeasurement(theirs)
        assert back.privacy_map(3).parts == tuple(map(Fraction, parts(theirs.map(3))))
        assert ours.privacy_map(3, kind) <= back.privacy_map(3)


@pytest.mark.parametrize("scale", [1, 2, 3, 7, 10, 1000])
def test_equal_noise_has_equal_maps(scale: int) -> None:
    """To the last bit or two, which both sides round up."""
    for theirs, ours in (
        (COUNTED >> dp.m.then_laplace(float(scale)), Laplace(SIZE, scale=scale)),
        (COUNTED >> dp.m.then_gaussian(float(scale)), Gaussian(SIZE, scale=scale)),
        (THEIRS["randomized response"], RandomizedResponse(Bit(any), odds=3)),
    ):
        for d_in in (1, 2, 3, 10):
            exact = ours.privacy_map(d_in)
            (bound,), (back,) = parts(theirs.map(d_in)), parts(to_opendp(ours, *SPACE).map(d_in))
            assert exact <= OpenDPMeasurement(theirs).privacy_map(d_in)
            assert back <= bound <= nextafter(nextafter(nextafter(back, inf), inf), inf)


REFUSED: tuple[tuple[str, Any, str, Any], ...] = (
    ("odometer", UnprovenCompositionError, "no theorem here", FULLY),
    ("filter", UnprovenCompositionError, "Odometer", dp.c.make_privacy_filter(FULLY, 1, 1.0)),
    ("adaptive", UnprovenCompositionError, "holds a Queryable", ADAPTIVE),
    (
        "among others",
        UnprovenCompositionError,
        "holds a Queryable",
        dp.c.make_composition([THEIRS["Laplace, floats"], ADAPTIVE]),
    ),
    ("a function", UnprovenCompositionError, "function", user(lambda values: len)),
    (
        "hidden",
        UnprovenCompositionError,
        "method",
        ADAPTIVE >> (lambda asked: asked.__call__),
    ),
    ("one of ours", UnprovenCompositionError, "Queryable", to_opendp(FiltCon(PureDP(1)), *SPACE)),
    ("one value", TypeError, "input metric", dp.m.make_randomized_response_bool(0.75)),
    (
        "substitutions",
        TypeError,
        "ChangeOneDistance",
        user(len, metric=dp.change_one_distance()),
    ),
    ("Hamming", TypeError, "HammingDistance", user(len, metric=dp.hamming_distance())),
    (
        "a profile",
        TypeError,
        "SmoothedMaxDivergence.*make_fix_delta",
        dp.c.make_zCDP_to_approxDP(THEIRS["Gaussian, integers"]),
    ),
    (
        "a size",
        ValueError,
        "has 3 records",
        dp.m.make_user_measurement(
            dp.vector_domain(dp.atom_domain(T=float), size=3),
            SYMMETRIC,
            dp.max_divergence(),
            len,
            float,
        ),
    ),
    ("NaN", PrivacyClaimError, "gave nan", user(len, lambda d_in: nan)),
    ("infinite", PrivacyClaimError, "gave inf", user(len, lambda d_in: inf)),
    ("negative", PrivacyClaimError, "gave -1", user(len, lambda d_in: -1.0)),
    ("falling", PrivacyClaimError, "should not fall", user(len, lambda d_in: 1 / d_in)),
    ("no map", PrivacyClaimError, "states no loss", user(len, lambda d_in: d_in / 0)),
    ("no measurement", TypeError, "should be a Measurement", COUNTED),
)


@pytest.mark.parametrize("name", [each[0] for each in REFUSED])
def test_what_is_refused(name: str) -> None:
    [(_, error, words, theirs)] = [each for each in REFUSED if each[0] == name]
    with pytest.raises(error, match=words):
        OpenDPMeasurement(theirs)


def test_records_that_their_domain_does_not_hold_are_left_out() -> None:
    """Its own check would warn and quote them; without one, a NaN would fail and tell of itself."""
    seen = OpenDPMeasurement(user(tuple, lambda d_in: 1.0))
    table = Queryable(FiltCon(PureDP(1)), [2.0, nan, "a\ud800", None, 1, 10**400])
    assert table(seen) == (1.0, 2.0)
    counted = OpenDPMeasurement((TEXTS, SYMMETRIC) >> dp.t.then_count() >> dp.m.then_laplace(1e-9))
    odd = {"a": ["x", "\ud800", "y\0z", 7, None], "b": [1] * 5}
    assert Queryable(FiltCon(PureDP(10**10)), odd)(attrs_of(counted, column="a")) == 2


def attrs_of(mechanism: OpenDPMeasurement, **changed: Any) -> OpenDPMeasurement:
    return OpenDPMeasurement(mechanism.measurement, **changed)


TYPES = {
    "i32": np.int32,
    "i64": np.int64,
    "u32": np.uint32,
    "u64": np.uint64,
}
ENDS = [sign * 2**bits + more for sign in (1, -1) for bits in range(65) for more in (-1, 0, 1)]


@pytest.mark.parametrize("kind", TYPES)
def test_the_integers_are_those_that_their_domain_holds(kind: str) -> None:
    domain = dp.vector_domain(dp.atom_domain(T=kind))
    given = dp.m.make_user_measurement(
        domain, SYMMETRIC, dp.max_divergence(), tuple, lambda d_in: 1.0
    )
    found = Queryable(FiltCon(PureDP(1)), ENDS)(OpenDPMeasurement(given))
    ends = np.iinfo(TYPES[kind])
    assert [*found] == sorted(each for each in ENDS if ends.min <= each <= ends.max)
    assert domain.member([*found])


def test_the_floats_are_those_that_their_domain_holds() -> None:
    """Those of 32 bits are rounded before bounds are looked at, as OpenDP does."""
    cells = [0.1, 0.05, -0.0, 1e300, inf, nan, 0.2, True, "0"]
    for kind, above in (("f64", 0.1), ("f32", float(np.float32(0.1)))):
        domain = dp.vector_domain(dp.atom_domain(T=kind, bounds=(0.0, 0.1), nan=False))
        given = dp.m.make_user_measurement(
            domain, SYMMETRIC, dp.max_divergence(), tuple, lambda d_in: 1.0
        )
        found = Queryable(FiltCon(PureDP(1)), cells)(OpenDPMeasurement(given))
        assert found == pytest.approx((0.0, 0.05, 0.1), abs=1e-6)
        assert found[-1] == above
        assert domain.member([*found])


def test_it_is_explained_as_theirs() -> None:
    words = " ".join(explain(OpenDPMeasurement(THEIRS["geometric"])).split())
    assert re.search(r"the claim is the word of OpenDP 0\.\d+\.\d+, whose privacy map", words)
    assert "Guaranteed: PureDP(epsilon≈1.43)" in words


def test_seeded_coins_are_refused() -> None:
    table = Queryable(FiltCon(PureDP(9)), [1], coins=SeededCoins(1), allow_seeded=True)
    with pytest.raises(ForeignNoiseError):
        table(OpenDPMeasurement(THEIRS["geometric"]))
