"""Statistical audits, and their pictures."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from mechanisms import Gaussian, Laplace
from queryable import GDP, ZCDP, ApproxZCDP, Ask, Launch, Launched, PureDP, SeededCoins, Statistic
from queryable.audit import HockeyStick, audit, trade_off, view_law, worst_case
from queryable.audit.picture import guarantees_of, picture_of_adversary, picture_of_loss
from queryable.audit.statistical import choose, clopper_pearson, separate
from queryable.audit.views.strategies import Strategy, StrategyNode
from queryable.losses.conversions import log_up
from tests.audit.toys import PadReveal, Response, nats, script

F = Fraction
CELLS = Statistic(np.array, l1=1, l2=1, shape=(4,))
NEIGHBOURS = [((5, 5, 5, 5), (5, 5, 6, 5))]


def binomial_tail(count: int, trials: int, chance: Any, upper: bool) -> Any:
    with mpmath.workdps(60):
        p = mpmath.mpf(chance.numerator) / chance.denominator
        which = range(count, trials + 1) if upper else range(count + 1)
        return sum(mpmath.binomial(trials, k) * p**k * (1 - p) ** (trials - k) for k in which)


@pytest.mark.parametrize(("count", "trials"), [(1, 10), (7, 10), (40, 400), (399, 400)])
def test_clopper_and_pearson_against_60_digits(count: int, trials: int) -> None:
    """At each bound, the observed count or a more extreme one has probability <= level."""
    below, above = clopper_pearson(count, trials, 1e-3)
    level, close = mpmath.mpf("1e-3"), mpmath.mpf("0.99e-3")
    assert close < binomial_tail(count, trials, below, upper=True) <= level
    assert close < binomial_tail(count, trials, above, upper=False) <= level


def test_bounds_are_valid_and_coincidences_refute_nothing() -> None:
    assert clopper_pearson(0, 100, 1e-2)[0] == 0
    assert clopper_pearson(100, 100, 1e-2)[1] == 1
    assert 0 < clopper_pearson(0, 100, 1e-2)[1] < F(1, 20)
    # Views that never repeat separate the samples perfectly, but not the datasets.
    rng = np.random.default_rng(3)
    p, q = ([(f"{x:.12f}",) for x in rng.normal(size=2000)] for _ in range(2))
    assert separate(p, q, [(F(0), F(0))], 1e-3).delta == 0
    rng = np.random.default_rng(4)
    p, q = ([(bool(x),) for x in rng.random(20_000) < chance] for chance in (0.75, 0.25))
    found = separate(p, q, [(F(0), F(0))], 1e-3)
    assert log_up(F(3)) * F(85, 100) < found.epsilon < log_up(F(3))


def test_the_event_is_where_the_ratio_is_largest() -> None:
    """It contains the answer that x makes more probable; for numbers, a bin."""
    rng = np.random.default_rng(1)
    p = [("abc"[k],) for k in rng.choice(3, 4000, p=[0.6, 0.3, 0.1])]
    q = [("abc"[k],) for k in rng.choice(3, 4000, p=[0.2, 0.3, 0.5])]
    event = choose(p, q, [(F(1, 2), F(0))], 1e-3)
    assert ("a",) in event
    assert ("c",) not in event
    numbers = choose(
        [tuple(row) for row in rng.normal((0, 2, 0), size=(4000, 3))],
        [tuple(row) for row in rng.normal(size=(4000, 3))],
        [(F(1, 2), F(0))],
        1e-3,
    )
    assert (0.0, 3.0, 0.0) in numbers
    assert (0.0, -3.0, 0.0) not in numbers
    # Only both numbers together distinguish x from x'.
    rng = np.random.default_rng(2)
    common = rng.normal(size=(2, 4000, 1)) * 50
    noise = rng.normal(size=(2, 4000, 2))
    p = [tuple(row) for row in common[0] + noise[0] + (1.5, -1.5)]
    q = [tuple(row) for row in common[1] + noise[1]]
    found = separate(p, q, [(F(1, 2), F(0))], 1e-3)
    assert "discriminant" in str(found.event)
    assert found.epsilon > F(1, 2)


@pytest.mark.parametrize(
    ("mechanism", "false"),
    [
        (Laplace(CELLS, epsilon=1), PureDP("1/2")),
        pytest.param(Gaussian(CELLS, rho="1/2"), ZCDP("1/10"), marks=pytest.mark.slow),
    ],
)
def test_noise_on_a_vector(mechanism: Any, false: Any) -> None:
    """There are too many outcomes to enumerate: only the false claim is refuted."""
    options: dict[str, Any] = {"samples": 3000, "coins": SeededCoins(5), "limit": 1000}
    assert not audit(mechanism, NEIGHBOURS, **options).refuted
    assert audit(mechanism, NEIGHBOURS, claim=false, **options).refuted


def test_true_claims_are_refuted_at_most_as_often_as_stated() -> None:
    """At confidence 4/5, at most 62 of 200 audits of a tight claim refute it.

    A correct method exceeds 62 with probability below 1e-4 (binomial, 200 at 1/5).
    """
    rng = np.random.default_rng(6)
    alarms = 0
    for _ in range(200):
        p, q = ([(bool(x),) for x in rng.random(400) < chance] for chance in (0.75, 0.25))
        alarms += separate(p, q, [(log_up(F(3)), F(0))], 0.2).delta > 0
    assert alarms <= 62


def test_testing_on_the_learning_sample_raises_false_alarms() -> None:
    """Mutation: tested on the sample that chose it, a coincidence refutes a true claim."""
    rng = np.random.default_rng(7)
    p, q = ([(f"{x:.12f}",) for x in rng.normal(size=400)] for _ in range(2))
    fluke = set(p)
    (at_least, _), (_, at_most) = (
        clopper_pearson(sum(view in fluke for view in views), 400, 0.01) for views in (p, q)
    )
    assert at_least > at_most


P, Q = (view_law(Response(3), bit, script()) for bit in (1, 0))
LEAKY = tuple(view_law(Response(3, delta="1/10"), bit, script()) for bit in (1, 0))


def lines(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.lines}


def test_the_exact_curve_is_drawn() -> None:
    curve, profile = picture_of_loss(PureDP(nats(3)).to(GDP), P, Q).axes
    drawn = lines(curve)
    assert [tuple(knot) for knot in drawn["exact"].get_xydata()] == [
        (float(a), float(f)) for a, f in trade_off(P, Q)
    ]
    claimed, exact = (lines(profile)[name].get_ydata() for name in ("claimed", "exact"))
    assert np.all(claimed >= exact - 1e-12)
    _, profile = picture_of_loss(PureDP("1/2"), P, Q).axes
    claimed, exact = (lines(profile)[name].get_ydata() for name in ("claimed", "exact"))
    assert np.any(claimed < exact - 0.1)
    p, q = {0: F(1, 10), 1: F(9, 10)}, {1: F(1)}
    for axes in picture_of_loss(ZCDP(1), p, q).axes:
        assert {"exact, x from x'", "exact, x' from x"} <= lines(axes).keys()


@pytest.mark.parametrize(
    ("claim", "least"),
    [(PureDP(1), 0), (ZCDP("1/2"), 0), (GDP(1), 0), (ApproxZCDP("1/2", "1/100"), F(1, 100))],
)
def test_every_measure_has_guarantees(claim: Any, least: Any) -> None:
    """Epsilons increase, and no delta is below the claim's own."""
    points = guarantees_of(claim)
    assert points == sorted(points)
    assert all(delta >= least for _, delta in points)


@pytest.mark.parametrize("name", ["loss.png", pytest.param("loss.svg", marks=pytest.mark.slow)])
def test_pictures_are_saved(tmp_path: Path, name: str) -> None:
    """The suffix selects the format; the background is transparent."""
    figure = picture_of_loss(ZCDP("1/2"), *LEAKY, path=tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000
    assert figure.get_facecolor()[3] == 0


def test_the_tree_shows_what_is_asked_and_answered() -> None:
    """The tree has both questions of the pad, and a leaf for every pair of answers."""
    worst = worst_case(PadReveal(3), 0, 1, ("key", "sum"), 2, HockeyStick(0))
    (axes,) = picture_of_adversary(worst.adversary).axes
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("stop") == 4
    assert texts.count("True") == texts.count("False") == 3
    assert {"start", "'key'", "'sum'"} <= set(texts)
    wide = StrategyNode(branches=tuple((answer, StrategyNode()) for answer in range(100)))
    with pytest.raises(ValueError, match="100 leaves are too many"):
        picture_of_adversary(Strategy(wide))


def test_messages_are_shortened(tmp_path: Path) -> None:
    asked = StrategyNode(Ask(0, Ask(2, "read")), ((True, StrategyNode()),))
    root = StrategyNode(
        branches=((None, StrategyNode(Launch(Response(3)), ((Launched(0, None), asked),))),)
    )
    figure = picture_of_adversary(Strategy(root), tmp_path / "tree.png")
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"0: 2: 'read'", "launched 0"} <= texts
    assert any(text.startswith("launch Response(") for text in texts)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"\.\[plot\]"):
        picture_of_loss(PureDP(1), P, Q)
