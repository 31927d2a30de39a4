"""Exact audits of mechanisms and persons: noise reduction, choices, synthetic data, quantiles."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Doubling,
    Estimate,
    ExponentialMechanism,
    Frugal,
    Gaussian,
    GroupBy,
    Keys,
    Laplace,
    Open,
    PermuteAndFlip,
    PrivacyUnit,
    Quantiles,
    Refine,
    Synthetic,
    TopK,
    column,
)
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.synthetic.graphical import Model
from mechanisms.synthetic.scores import Distances
from mechanisms.synthetic.spending import of_loss
from mechanisms.synthetic.synthetic import Fitting, SyntheticState
from mechanisms.tables.quantiles.choices import PrivateQuantiles
from queryable import (
    FDP,
    GDP,
    ZCDP,
    Ask,
    Launch,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
    ToAnalyst,
    ToMechanism,
)
from queryable.audit import Outcome, Verdict, audit
from queryable.view import View

# Audits of noise reduction and of choices: exact laws of views, and refuted claims.


COUNT = Statistic(int, l1=1, l2=1)
SCORES = Statistic(list, l1=3, l2=2, linf=1, shape=3)
ENDS = ([3, 0, 1], [2, 1, 2])  # one record changes scores by one, up and down


def adaptively(view: View) -> Any:
    """Opens and refines; the last variance depends on the first answer."""
    match len(view):
        case 0:
            return Open(COUNT)
        case 1:
            return Ask("estimate 0", Refine(1))
        case 2:
            return Ask("estimate 0", Refine("1/3" if view.answers[-1].value > 0 else "1/2"))
    return None


@pytest.mark.parametrize(("claim", "outcome"), [("3/2", Outcome.HOLDS), ("7/5", Outcome.REFUTED)])
def test_noise_reduction_loses_what_its_last_variance_costs(claim: str, outcome: Outcome) -> None:
    """The loss is 1/(2t) at the finest t of the adversary; a claim slightly below is refuted."""
    mechanism = BrownianNoiseReduction() @ FiltCon(ZCDP("3/2"))
    verdict = audit(
        mechanism, [(0, 1)], adversary=adaptively, tail="1e-8", slack="1e-4", claim=ZCDP(claim)
    )
    assert verdict.outcome == outcome


@pytest.mark.parametrize(
    ("noise", "measure", "less"),
    [
        (Gaussian(COUNT, variance=1), GDP, lambda claim: GDP(claim.mu * Fraction(999, 1000))),
        (Gaussian(COUNT, variance=5), GDP, lambda claim: GDP(claim.mu * Fraction(999, 1000))),
        (Gaussian(COUNT, variance=1), FDP, lambda claim: FDP.of_gaussian("1.02")),
        (Laplace(COUNT, scale=2), FDP, lambda claim: FDP.of_approx("0.49")),
    ],
)
def test_discrete_noise_is_told_apart_as_well_as_it_claims(
    noise: Any, measure: Any, less: Any
) -> None:
    """In Gaussian DP, where a thousandth less is refuted, and as a trade-off curve."""
    pairs, options = [(3, 4)], {"tail": "1e-9", "slack": "1e-6"}
    claim = noise.privacy_map(1, measure)
    assert audit(noise, pairs, claim=claim, **options).holds
    assert audit(noise, pairs, claim=less(claim), **options).refuted


def twice(view: View) -> Any:
    """Asks for the two releases of doubling."""
    return (Open(COUNT), *(Ask("estimate 0", Refine()),) * 2, None)[len(view)]


@pytest.mark.parametrize(("claim", "outcome"), [("3/2", Outcome.HOLDS), ("1", Outcome.REFUTED)])
def test_doubling_loses_the_sum_of_its_releases(claim: str, outcome: Outcome) -> None:
    """Releases at variances 1 and 1/2 lose 3/2; the last release alone would lose 1."""
    mechanism = Doubling(1) @ FiltCon(ZCDP("3/2"))
    verdict = audit(
        mechanism, [(0, 1)], adversary=twice, tail="1e-8", slack="1e-4", claim=ZCDP(claim)
    )
    assert verdict.outcome == outcome


CHOICES = {
    "exponential": ExponentialMechanism(SCORES, 1, sensitivity=1),
    "permute": PermuteAndFlip(SCORES, 1, sensitivity=1),
    "peeling": TopK(SCORES, 1, sensitivity=1, k=2),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_keep_their_epsilon(name: str) -> None:
    """Pure and concentrated claims hold for the exact laws; a third of epsilon is refuted."""
    mechanism = CHOICES[name]
    pairs = [ENDS, *((list(x), [x[0] + 1, x[1] - 1, x[2]]) for x in product((0, 2), repeat=3))]
    assert audit(mechanism, pairs).holds
    assert audit(mechanism, pairs, claim=mechanism.privacy_map(1, ZCDP)).holds
    assert audit(mechanism, pairs, claim=PureDP("1/3")).refuted


# The choice of marginals by `Synthetic`, audited exactly as the person launches it.


PERSON = Synthetic({"a": [0, 1], "b": [0, 1]}, {("a", "b"): 1, ("b",): 2})
ALONE = ((0,), (1,))


def choosing(a: list[float], b: list[float], total: float) -> ExponentialMechanism:
    """What the person launches where its model has these shares of the columns' cells."""
    model = Model((3, 3), (((0,), np.log(a)), ((1,), np.log(b))), total)
    under_way = Fitting(of_loss(20), 20, 1, None, 0)  # type: ignore[arg-type]
    _, reply = PERSON._next(SyntheticState(model, (), ALONE), under_way)
    assert isinstance(reply, ToMechanism)
    assert isinstance(reply.query, Launch)
    chosen = reply.query.mechanism
    assert isinstance(chosen, ExponentialMechanism)
    return chosen


def records(*rows: tuple[int, int]) -> list[dict[str, int]]:
    return [{"a": a, "b": b} for a, b in rows]


SAME = records(*[(0, 1)] * 3)
PAIRS = [(SAME, SAME + records(row)) for row in ((0, 0), (0, 1), (1, 0), (1, 1), (7, 0))]
MODELS = (
    ([0.3, 0.35, 0.35], [0.35, 0.3, 0.35], 9.0),
    ([0.98, 0.01, 0.01], [0.01, 0.98, 0.01], 5.0),
    ([0.01, 0.98, 0.01], [0.98, 0.01, 0.01], 5.0),
)


def audited() -> list[Verdict]:
    """The verdicts on the claim of the choice, for several models and neighbours."""
    found = []
    for model in MODELS:
        mechanism = choosing(*model)
        claim = PureDP(mechanism.epsilon)
        found.append(audit(mechanism, PAIRS, adversary=lambda view: None, claim=claim))
    return found


def test_the_choice_keeps_its_claim() -> None:
    """A mutant with half the sensitivity does not: tests/audit/test_mutations.py."""
    for verdict in audited():
        assert verdict.holds, verdict


def test_more_than_half_of_the_claim_is_reached() -> None:
    """So the sensitivity is not too large by more than a factor of 2."""
    mechanism = choosing(*MODELS[0])
    verdict = audit(
        mechanism, PAIRS, adversary=lambda view: None, claim=PureDP(mechanism.epsilon / 2)
    )
    assert not verdict.holds


@pytest.mark.parametrize("model", MODELS)
def test_scores_move_by_no_more_than_they_declare(
    model: tuple[list[float], list[float], float],
) -> None:
    scores = choosing(*model).scores
    assert isinstance(scores, Distances)
    for x, y in PAIRS:
        moved = abs(np.asarray(scores.value(y)) - np.asarray(scores.value(x)))
        assert moved.max() <= scores.linf
        assert moved.sum() <= scores.l1


# What a frugal person launches loses exactly what is charged, or less, for every row.
#
# The divergence of order 2 of two discrete Gaussians of variance v whose means differ by an integer
# s is s^2 / v exactly (Canonne, Kamath, Steinke 2020, Proposition 5), and adds up over independent
# noise. So the loss of all launches of a stream is computed as a fraction.


A, B = column("a"), column("b")
TABLE = {"a": [3, 3, 7, 12, 15, 2], "b": ["x", "y", "x", "x", "z", "y"]}
QUESTIONS = [
    Estimate(Count((A >= 2) & (A < 8)), 10, fixed_in_advance=True),
    Estimate(Count((A >= 4) & (B == "x")), 9, fixed_in_advance=True),
    Estimate(GroupBy({"b": ["x", "y"]}, Count()), 8, fixed_in_advance=True),
    Estimate(Count(B == "z"), 9, fixed_in_advance=True),
    Estimate(Count((A >= 2) & (A < 12)), 7),
    Estimate(Count((A >= 2) & (A < 8)), 5),
]
ROWS = [(a, b) for a in (1, 2, 3, 5, 7, 9, 13, 40) for b in ("x", "y", "z", "w")]


@attrs.frozen
class Watched(Frugal):
    """A frugal person that shows what it launches."""

    seen: list[Any] = attrs.field(factory=list, eq=False, kw_only=True)

    def step(self, state: Any, message: Any, coins: Any) -> tuple[Any, ToMechanism | ToAnalyst]:
        after, reply = super().step(state, message, coins)
        if isinstance(reply, ToMechanism) and isinstance(reply.query, Launch):
            self.seen.append(reply.query.mechanism)
        return after, reply


def divergence(measurement: GaussiansTogether, with_row: Any, without: Any) -> Fraction:
    """Of order 2, between the answers on two tables."""
    found = Fraction(0)
    for part in measurement.parts:
        statistic: Any = part.statistic
        moved = (statistic(with_row) - statistic(without)).reshape(-1).tolist()
        found += sum(int(each) ** 2 for each in moved) / part.variance
    return found


def the_worst_row_loses_what_is_charged(person: Watched) -> None:
    """At most twice rho, and nearly that for some row."""
    root = Queryable(person @ FiltCon(ZCDP(100)), TABLE, coins=SeededCoins(1), allow_seeded=True)
    for query in QUESTIONS:
        root.ask(query)
    charged = root.privacy_loss().rho
    lost = []
    for a, b in ROWS:
        more = {"a": [*TABLE["a"], a], "b": [*TABLE["b"], b]}
        lost.append(sum(divergence(each, more, TABLE) for each in person.seen))
    assert max(lost) <= 2 * charged
    assert max(lost) >= charged
    assert len(person.seen) >= 4


def combinations_lose_what_they_claim() -> None:
    """A matrix whose columns are longer than its rows, and one of the other kind."""
    statistic = GroupBy({"b": ["x", "y"]}, Count())
    for factor in ([[6, 0], [8, 1]], [[6, 8], [0, 1]]):
        measurement = Gaussian(Combined(statistic, [factor]), variance=100)
        for row in "xyz":
            table = {"b": [*TABLE["b"], row]}
            together = GaussiansTogether([measurement])
            assert divergence(together, table, {"b": TABLE["b"]}) <= 2 * measurement.loss(1).rho


AXES = (Keys.bins("a", range(0, 17, 4)), {"b": ["x", "y", "z"]})


@pytest.mark.parametrize("axes", [(), AXES], ids=["untold", "told"])
def test_a_stream_loses_what_is_charged(axes: Any) -> None:
    the_worst_row_loses_what_is_charged(Watched(axes=axes))


def test_combinations_lose_what_they_claim() -> None:
    combinations_lose_what_they_claim()


# Private quantiles of groups: the exact loss on neighbouring data, and false claims caught.


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
