"""What tests of the bridge to the real OpenDP share; they are skipped where it is not installed."""

from pathlib import Path
from typing import Any

import pytest

from mechanisms.opendp import OpenDPMeasurement
from queryable import Statistic

dp = pytest.importorskip("opendp.prelude", reason="needs OpenDP, an extra: make test-opendp")
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
FULLY = dp.c.make_fully_adaptive_composition(*SPACE, dp.max_divergence())
ADAPTIVE = dp.c.make_adaptive_composition(*SPACE, dp.max_divergence(), 1, [0.5])


def parts(distance: Any) -> tuple[float, ...]:
    return distance if isinstance(distance, tuple) else (distance,)


def on_data(act: Any) -> Any:
    """A measurement that answers 0 on an empty example, and otherwise does this."""
    return OpenDPMeasurement(user(lambda values: act(values) if values else 0.0))


def quoting(error: type[BaseException]) -> Any:
    def act(values: list[float]) -> Any:
        raise error(f"{SECRET} {values}")

    return act
