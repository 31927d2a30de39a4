"""The bridge to the real OpenDP, where it is installed: `make test-opendp`.

False alarms: distances of distributions are compared with the bound of Dvoretzky, Kiefer, Wolfowitz
and Massart at level 1e-9, three times, and an audit has that level. All else that is random fails
with a probability below 1e-15.
"""

import os
import re
import signal
from collections import Counter
from fractions import Fraction
from math import exp, inf, log, nan, nextafter, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

dp = pytest.importorskip("opendp.prelude", reason="needs OpenDP, an extra: make test-opendp")

from composition import FiltCon, OdomCon  # noqa: E402 (after the check that it is installed)
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse, SparseVector  # noqa: E402
from mechanisms.opendp import OpenDPMeasurement, to_opendp  # noqa: E402
from queryable import (  # noqa: E402
    ZCDP,
    ApproxDP,
    Bit,
    MechanismFault,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryRefusedError,
    SeededCoins,
    Statistic,
    UnprovenCompositionError,
    explain,
)
from queryable.audit import audit  # noqa: E402
from queryable.errors import ForeignNoiseError  # noqa: E402
from queryable.losses import GDP, ApproxZCDP  # noqa: E402

dp.enable_features("contrib", "honest-but-curious")

FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False))
INTEGERS = dp.vector_domain(dp.atom_domain(T="i64"))
TEXTS = dp.vector_domain(dp.atom_domain(T=str))
SYMMETRIC, ORDERED = dp.symmetric_distance(), dp.insert_delete_distance()
SPACE = FLOATS, SYMMETRIC
COUNTED = (INTEGERS, SYMMETRIC) >> dp.t.then_count()
SUMMED = SPACE >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum()
GROUPED = (TEXTS, SYMMETRIC) >> dp.t.then_count_by(TV="i64")
SIZE = Statistic(len, l1=1, l2=1)
SECRET = "the patient is 47"
DOCS = Path(__file__).parents[4] / "docs" / "opendp.md"


def user(function: Any, privacy_map: Any = float, measure: Any = None, metric: Any = None) -> Any:
    """A user-defined measurement of floats."""
    known = measure or dp.max_divergence()
    return dp.m.make_user_measurement(FLOATS, metric or SYMMETRIC, known, function, privacy_map)


TOLD = dp.t.make_user_transformation(
    *SPACE,
    dp.atom_domain(T=bool),
    dp.discrete_distance(),
    lambda values: len(values) > 2,
    lambda d_in: min(d_in, 1),
)
THEIRS = {
    "randomized response": TOLD >> dp.m.make_randomized_response_bool(0.75),
    "Laplace, integers": COUNTED >> dp.m.then_laplace(3.0),
    "geometric": COUNTED >> dp.m.then_geometric(0.7),
    "Laplace, floats": SUMMED >> dp.m.then_laplace(30.0),
    "Gaussian, integers": COUNTED >> dp.m.then_gaussian(2.0),
    "Gaussian, floats": SUMMED >> dp.m.then_gaussian(17.0),
    "Laplace threshold": GROUPED >> dp.m.then_laplace_threshold(scale=2.0, threshold=28),
    "noisy max": SPACE
    >> dp.t.then_quantile_score_candidates([1.0, 2.0, 3.0], 0.5)
    >> dp.m.then_noisy_max(dp.max_divergence(), 2.0),
    "composition": dp.c.make_composition([COUNTED >> dp.m.then_laplace(3.0)] * 2),
    "zCDP of pure": dp.c.make_pureDP_to_zCDP(COUNTED >> dp.m.then_laplace(3.0)),
    "approximate": dp.c.make_approximate(COUNTED >> dp.m.then_laplace(3.0)),
    "approximate zCDP": dp.c.make_approximate(COUNTED >> dp.m.then_gaussian(2.0)),
    "fixed delta": dp.c.make_fix_delta(
        dp.c.make_zCDP_to_approxDP(COUNTED >> dp.m.then_gaussian(2.0)), 1e-6
    ),
    "insertions": user(len, lambda d_in: d_in * 0.1, metric=ORDERED),
}
MEASURES = {
    "MaxDivergence": PureDP,
    "ZeroConcentratedDivergence": ZCDP,
    "Approximate(MaxDivergence)": ApproxDP,
    "Approximate(ZeroConcentratedDivergence)": ApproxZCDP,
}


def parts(distance: Any) -> tuple[float, ...]:
    return distance if isinstance(distance, tuple) else (distance,)


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


def test_theirs_and_ours_in_one_filter() -> None:
    """Interleaved, with a sum that is exact."""
    data = [3.0, 1.0, 12.0] * 20
    table = Queryable(FiltCon(PureDP(3)), data)
    summed = OpenDPMeasurement(THEIRS["Laplace, floats"])
    search = table(SparseVector(1000, epsilon="1/4"))
    first = table(summed)
    assert not search(SIZE)
    second = table(Laplace(SIZE, epsilon=1))
    inner = table(FiltCon(PureDP("1/2")))
    assert isinstance(first, float)
    assert isinstance(inner(summed), float)
    assert abs(second - 60) < 40
    assert not search(SIZE)
    epsilon = Fraction(THEIRS["Laplace, floats"].map(1))
    assert table.privacy_loss() == PureDP(epsilon + Fraction(1, 4) + 1 + Fraction(1, 2))
    assert table.privacy_loss(2) == PureDP(
        Fraction(THEIRS["Laplace, floats"].map(2)) + Fraction(5, 2) + 1
    )


def test_ten_of_a_tenth_do_not_fit_one() -> None:
    """The float 0.1 is above one tenth."""
    tenth = OpenDPMeasurement(COUNTED >> dp.m.then_laplace(10.0))
    odometer = Queryable(OdomCon(PureDP), [1, 2])
    for _ in range(10):
        odometer(tenth)
    assert odometer.privacy_loss() == PureDP(10 * Fraction(0.1))
    table = Queryable(FiltCon(PureDP(1)), [1, 2])
    for _ in range(9):
        table(tenth)
    with pytest.raises(QueryRefusedError):
        table(tenth)


FULLY = dp.c.make_fully_adaptive_composition(*SPACE, dp.max_divergence())
ADAPTIVE = dp.c.make_adaptive_composition(*SPACE, dp.max_divergence(), 1, [0.5])
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


def on_data(act: Any) -> Any:
    """A measurement that answers 0 on an empty example, and otherwise does this."""
    return OpenDPMeasurement(user(lambda values: act(values) if values else 0.0))


def quoting(error: type[BaseException]) -> Any:
    def act(values: list[float]) -> Any:
        raise error(f"{SECRET} {values}")

    return act


@pytest.mark.parametrize(
    "act",
    [
        *(quoting(ValueError), quoting(MechanismFault.__mro__[1]), quoting(SystemError)),
        *(ADAPTIVE, lambda values: len),
    ],
    ids=["ValueError", "InteractiveError", "SystemError", "queryable", "function"],
)
def test_a_failure_says_only_that_it_happened(act: Any, capfd: Any) -> None:
    table = Queryable(FiltCon(PureDP(1)), [1.0, 2.0])
    with pytest.raises(MechanismFault) as raised:
        table(on_data(act))
    assert str(raised.value) == str(MechanismFault())
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert SECRET not in "".join(capfd.readouterr())
    assert table.privacy_loss() == PureDP(1)


def test_an_interrupt_waits_for_their_call(capfd: Any) -> None:
    """Raised in a callback it would be printed, and OpenDP would go on with no value, or crash."""
    ended = []

    def interrupted(values: list[float]) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        ended.extend(values)
        return 1.0

    before = signal.getsignal(signal.SIGINT)
    table = Queryable(FiltCon(PureDP(1)), [1.0, 2.0])
    with pytest.raises(KeyboardInterrupt) as raised:
        table(on_data(interrupted))
    assert raised.value.args == ()
    assert "".join(capfd.readouterr()) == ""
    assert ended == [1.0, 2.0]
    assert table.privacy_loss() == PureDP(1)
    assert signal.getsignal(signal.SIGINT) is before


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


def furthest(found: list[float], cumulative: Any) -> float:
    """The distance of an empirical distribution on integers from another one."""
    counts, below, most = Counter(found), 0, 0.0
    for value in sorted(counts):
        most = max(most, abs(below / len(found) - cumulative(value - 1)))
        below += counts[value]
        most = max(most, abs(below / len(found) - cumulative(value)))
    return most


def geometric(value: int, scale: float) -> float:
    """P[X <= value] of integer Laplace noise."""
    ratio = exp(-1 / scale)
    tail = ratio ** (abs(value) + (value >= 0)) / (1 + ratio)
    return 1 - tail if value >= 0 else tail


AUDITED: Any = {"samples": 400, "confidence": "0.999999999"}
RUNS = 4000
BOUND = sqrt(log(2 / 1e-9) / (2 * RUNS))


def test_answers_have_their_noise() -> None:
    table = Queryable(OdomCon(PureDP), [1, 2, 3])
    noisy = OpenDPMeasurement(COUNTED >> dp.m.then_laplace(3.0))
    found = [table(noisy) - 3 for _ in range(RUNS)]
    assert furthest(found, lambda value: geometric(value, 3.0)) < BOUND
    assert furthest(found, lambda value: geometric(value, 1.5)) > BOUND  # it can fail


def test_there_answers_have_our_noise() -> None:
    theirs = to_opendp(Laplace(SIZE, scale=3), *SPACE)
    found = [theirs([1.0, 2.0]) - 2 for _ in range(RUNS)]
    assert furthest(found, lambda value: geometric(value, 3.0)) < BOUND
    told = to_opendp(RandomizedResponse(Bit(any), odds=3), *SPACE)
    share = sum(told([1.0]) for _ in range(RUNS)) / RUNS
    assert abs(share - 0.75) < BOUND


def test_an_audit_by_samples_knows_no_better() -> None:
    verdict = audit(OpenDPMeasurement(THEIRS["geometric"]), [([1, 2], [1])], **AUDITED)
    assert not verdict.refuted


def test_ours_in_their_composition() -> None:
    """Two interleaved filters of ours and a measurement of theirs, under their budget."""
    ours = to_opendp(FiltCon(PureDP("1/2")), *SPACE)
    whole = dp.c.make_adaptive_composition(*SPACE, dp.max_divergence(), 1, [0.5, 0.5, 0.51])
    asked = whole([3.0, 1.0, 2.0])
    one, two = asked(ours), asked(ours)
    assert isinstance(one(Laplace(SIZE, epsilon="1/4")), int)
    assert isinstance(two(Laplace(SIZE, epsilon="1/2")), int)
    assert isinstance(asked(THEIRS["Laplace, floats"]), float)
    assert one(PrivacyLossQuery()) == PureDP("1/4")
    inner = one(FiltCon(PureDP("1/4")))
    assert inner(None) is None
    assert isinstance(inner(Laplace(SIZE, epsilon="1/4")), int)
    with pytest.raises(dp.OpenDPException, match="insufficient budget"):
        one(Laplace(SIZE, epsilon="1/4"))
    with pytest.raises(dp.OpenDPException):
        asked(ours)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, BaseException])
def test_an_interrupt_of_ours_is_an_error_there(error: type[BaseException]) -> None:
    def interrupted(values: list[float]) -> int:
        raise error(SECRET)

    theirs = to_opendp(Laplace(Statistic(interrupted, l1=1, l2=1), epsilon="1/4"), *SPACE)
    with pytest.raises(dp.OpenDPException) as raised:
        theirs([1.0])
    assert SECRET not in str(raised.value)
    words = "the mechanism failed" if error is BaseException else f"interrupted: {error.__name__}"
    assert words in str(raised.value)


def test_a_failure_of_ours_does_not_tell_there() -> None:
    def fails(values: list[float]) -> int:
        raise ValueError(f"{SECRET} {values}")

    failing = Laplace(Statistic(fails, l1=1, l2=1), epsilon="1/4")
    for theirs, ask in (
        (to_opendp(failing, *SPACE), lambda theirs: theirs([1.0])),
        (to_opendp(FiltCon(PureDP(1)), *SPACE), lambda theirs: theirs([1.0])(failing)),
    ):
        with pytest.raises(dp.OpenDPException) as raised:
            ask(theirs)
        assert "the mechanism failed" in str(raised.value)
        assert SECRET not in str(raised.value)


def test_columns_count_there() -> None:
    ours = Laplace(Count(), epsilon=10**9)
    assert to_opendp(ours, *SPACE, column="a")([1.0, 2.0]) == 2
    with pytest.raises(dp.OpenDPException, match="no group bound"):
        to_opendp(FiltCon(ApproxZCDP("1/3", "1e-7")), *SPACE).map(2)


def test_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), names)
