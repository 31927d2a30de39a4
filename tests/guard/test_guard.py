"""The guard: nothing that an analyst can write states a false claim, or fails after its charge.

The walk itself is in `walk`, and longer by a command:

    python -m tests.guard --cases 300000 --engines all

The rest of this file shows that each of its checks can fail: it is given a false claim of the kind
that it is about. At 1b177ec the walk finds sums of `weighted/1` with weights of any size and sign,
`rule-accumulator/1` of a curve, folded constants of `std/1` and `sum/1` that overflow on DuckDB as
soon as a row is selected, `lost/1`, subclasses that state `is_sums`, and what was charged and then
failed.
"""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import pytest

import composition as c
import mechanisms as m
import queryable as q
from mechanisms import column
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from tests.engines import mostly
from tests.guard import claims, contributions, conversations, moves, spending
from tests.guard.findings import Fault
from tests.guard.subclasses import twice
from tests.guard.walk import Effort, Walk
from tests.guard.wire import Wire, analysts, everything
from tests.guard.worlds import ARRAYS, DUCKDB, ENGINES, OF_ROWS, OF_UNITS, STARS

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
ON_DUCKDB = Effort((DUCKDB,), 0.02, (4, 1))
WHO = m.PrivacyUnit("who", max_rows=2)


def walked(wire: Wire, effort: Effort, rounds: int, seed: int, tags: Any = ()) -> Walk:
    """A walk without findings."""
    walk = Walk(wire, effort)
    walk.run(seed, rounds, tags)
    assert not walk.found, str(walk)
    return walk


# The walk


def test_every_tag_of_an_analyst_has_an_example() -> None:
    """A new tag is walked from its text in the examples of the codec on."""
    wire = analysts()
    assert set(wire.by_tag) == set(wire.entries)
    assert all(wire.read(tree) is not None for trees in wire.by_tag.values() for tree in trees)


def test_two_cases_of_every_tag() -> None:
    """In memory, and a few on DuckDB; the tests below walk further."""
    walk = walked(analysts(), ON_DUCKDB, 2, 0)
    assert len(walk.cases) == len(analysts().by_tag)
    assert walk.read.total() > walk.cases.total() / 3
    assert min(walk.checked[name] for name in ("moves", "claims", "launches", "messages")) > 0


def own_tags() -> list[str]:
    """The tags of what only code of the packages makes."""
    return [tag for tag in everything().by_tag if tag not in analysts().entries]


@pytest.mark.slow
def test_a_case_of_every_tag_of_our_own() -> None:
    """What no analyst may send is true as well, whoever makes it."""
    walked(everything(), Effort(), 1, 0, own_tags())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_more_cases_of_every_tag(seed: int) -> None:
    walked(analysts(), Effort(), 30, seed)


@pytest.mark.slow
def test_more_cases_of_every_tag_of_our_own() -> None:
    walked(everything(), Effort(), 30, 1, own_tags())


STATISTICS = ("correlation", "count", "count-units", "covariance", "discovered-keys", "group-by")
STATISTICS += ("histogram", "mean", "quantile", "quantiles", "regression", "std", "sum", "top")
STATISTICS += ("unit-sizes", "variance", "arithmetic", "cast", "comparison", "when", "bins")
STATISTICS += ("per-unit",)


@pytest.mark.slow
@pytest.mark.parametrize("engine", mostly(among=ENGINES))
def test_statistics_on_an_engine(engine: str) -> None:
    """Bounds, units and constants of all sizes; the star without rows shows what rows decide."""
    tags = [f"{name}/1" for name in STATISTICS]
    walk = walked(analysts(), Effort((engine,), 1.0, (4, 2)), 20, 2, tags)
    assert walk.checked["moves"] > 100


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 16))
def test_thousands_of_cases_of_every_tag(seed: int) -> None:
    """Some 40,000 cases each."""
    walked(analysts(), Effort(ENGINES, 0.05), 250, seed)


def test_a_case_is_the_same_again() -> None:
    one, other = Walk(analysts(), Effort()), Walk(analysts(), Effort())
    for walk in (one, other):
        walk.run(5, 1, ["sum/1", "best/1", "filt-con/1"])
    assert one.checked == other.checked
    assert one.read == other.read


# What the checks find


def rules_of(faults: Iterator[Fault | int]) -> set[str]:
    """The rules that were broken."""
    return {each.rule for each in faults if isinstance(each, Fault)}


@attrs.frozen
class Restless(m.Count):
    """A count that says less about itself than is true, and fails if there is a certain row."""

    stated: Fraction = Fraction(1)
    moves: Any = "up"
    factor: int = 1
    fails: Any = None

    l1 = property(lambda self: self.stated)
    l2 = property(lambda self: self.stated)
    linf = property(lambda self: self.stated)
    monotone = property(lambda self: self.moves)

    def value(self, dataset: Any) -> int:
        count = m.Count().value(dataset)
        if self.fails is not None and self.fails(count):
            raise OverflowError
        return self.factor * count


@pytest.mark.parametrize(
    ("statistic", "rule"),
    [
        (Restless(factor=2), "l1"),
        (Restless(factor=-1), "monotone"),
        (Restless(moves="down"), "monotone"),
        (Restless(stated=Fraction(1, 2)), "l1"),
        (Restless(fails=lambda count: count == 9), "fails for some data"),
        (Restless(fails=lambda count: True), "fails on all data"),
    ],
    ids=["doubled", "negative", "down", "half", "on some data", "on all data"],
)
def test_a_false_statistic_is_found(statistic: Any, rule: str) -> None:
    star = OF_ROWS[0]
    assert rule in rules_of(moves.faults_of(statistic, ARRAYS, star, Random(1), 12))


@pytest.mark.parametrize("star", STARS, ids=lambda star: star.name)
def test_a_true_statistic_is_not_found(star: Any) -> None:
    form, per = (DUCKDB, WHO) if star in OF_UNITS else (ARRAYS, None)
    statistic = m.GroupBy({"city": ["a", "b"]}, m.Sum("age", -5, 5, per=per))
    *faults, compared = moves.faults_of(statistic, form, star, Random(1), 3)
    assert not faults
    assert compared == 3


def test_what_a_subclass_says_of_its_records_is_found() -> None:
    """It moves by 2 where a record adds 1."""

    @attrs.frozen
    class Careless(twice(m.Count)):  # type: ignore[misc]
        by_record = True

        def contributions(self, dataset: Any) -> Any:
            return m.Count().contributions(dataset)

    found = rules_of(contributions.faults_of(Careless(), ARRAYS, OF_ROWS[0], Random(1)))
    assert found == {"contributions"}
    assert not rules_of(contributions.faults_of(m.Count(), ARRAYS, OF_ROWS[0], Random(1)))


def halved(kind: Any) -> Any:
    """A mechanism that claims half of its loss."""

    def privacy_map(self: Any, d_in: int, measure: Any = None) -> Any:
        whole = kind.privacy_map(self, d_in, measure)
        if isinstance(whole, q.ApproxDP):
            return q.ApproxDP(whole.epsilon / 2, whole.delta / 2)
        return type(whole)(whole.parts[0] / 2)

    return type(f"Halved{kind.__name__}", (kind,), {"privacy_map": privacy_map})


COUNT, HISTOGRAM = m.Count(column("age") > 30), m.Histogram("city", ["a", "b", "c"])
CLAIMING = (
    (m.Gaussian, {"statistic": HISTOGRAM, "variance": 9}),
    (m.Laplace, {"statistic": COUNT, "scale": 9}),
    (m.ExponentialMechanism, {"scores": HISTOGRAM, "epsilon": 1, "monotone": True}),
    (m.PermuteAndFlip, {"scores": HISTOGRAM, "epsilon": 1, "monotone": True}),
    (m.LaplaceNoiseReduction, {"statistic": COUNT, "scales": [9, 3]}),
    (GaussianNoiseReduction, {"statistic": COUNT, "variances": [9, 3], "missed": "1/9"}),
    (m.PrivateKeys, {"keys": m.DiscoveredKeys("city"), "epsilon": 1, "delta": "1/100"}),
    (m.TreeCounter, {"statistic": m.Count(), "rho": 1, "horizon": 4, "past": None}),
    (m.TreeCounter, {"statistic": m.Count(), "epsilon": 1, "horizon": 4, "past": None}),
    (m.ToeplitzCounter, {"statistic": m.Count(), "rho": 1, "horizon": 4}),
    (m.ToeplitzCounter, {"statistic": m.Count(), "rho": 1}),
    (m.SparseVector, {"threshold": 3, "epsilon": 1, "cutoff": 2}),
)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    CLAIMING,
    ids=[f"{kind.__name__} {n}" for n, (kind, _) in enumerate(CLAIMING)],
)
def test_half_a_claim_is_found(kind: Any, arguments: Any) -> None:
    """By one of some neighbours; the whole claim holds."""
    for mechanism, expected in ((kind(**arguments), set()), (halved(kind)(**arguments), {"claim"})):
        found = set()
        for seed in range(12):
            found |= rules_of(claims.faults_of(mechanism, ARRAYS, OF_ROWS[0], Random(seed), 12))
        assert found == expected


class Retiring(m.Gaussian):
    """A measurement that retires all other children."""

    retires_others = True


@attrs.frozen
class Failing(m.Count):
    """A count that fails on all data, or if there are nine rows."""

    nine: bool = False

    def value(self, dataset: Any) -> int:
        count = int(m.Count().value(dataset))
        if count == 9 or not self.nine:
            raise OverflowError
        return count


@pytest.mark.parametrize(
    ("launched", "rule"),
    [
        (Retiring(COUNT, variance=9), "retires other children"),
        (m.Gaussian(Failing(), variance=9), "charged and then failed"),
        (m.Gaussian(Failing(nine=True), variance=9), "fails for some data"),
        (m.Gaussian(COUNT, variance=9), None),
    ],
    ids=["retires", "fails", "fails on some data", "true"],
)
def test_a_false_outcome_is_found(launched: Any, rule: str | None) -> None:
    found = set()
    for seed in range(12):
        talk = conversations.faults_of(q.Launch(launched), (), ARRAYS, OF_ROWS[0], Random(seed))
        found |= rules_of(talk)
    assert (rule in found) if rule else not found


def generous(budget: Any, rule: Any = c.Basic()) -> Any:  # noqa: B008
    """A filter that states half of the budget that it admits."""
    kind = type(budget)
    half = {"loss": lambda self, d_in: kind(*(part / 2 for part in budget.parts)).group(d_in)}
    return type("Generous", (c.FiltCon,), half)(budget, rule)


@pytest.mark.parametrize(
    "budget", [q.PureDP(1), q.ZCDP(1), q.RDP(8, 1), q.GDP("1/2"), q.ApproxDP(1, "1/1000")], ids=repr
)
def test_half_a_budget_is_found(budget: Any) -> None:
    """By one of some sequences of launches; the whole budget holds."""
    if isinstance(budget, q.RDP):
        half: Any = attrs.evolve(budget, epsilon=budget.epsilon / 2)
        false: Any = type("Generous", (c.FiltCon,), {"loss": lambda self, d_in: half})(budget)
    else:
        false = generous(budget)
    for compositor, expected in ((c.FiltCon(budget), set()), (false, {"claim"})):
        found = set()
        for seed in range(8):
            found |= rules_of(spending.faults_of(compositor, Random(seed)))
        assert found == expected


def test_the_loss_of_what_was_admitted() -> None:
    """Against what the audits compute from the laws themselves."""
    true = spending.Admitted(1, (Fraction(1), Fraction(1, 2)), (Fraction(50),))
    assert true.pure() == float("inf")
    assert spending.Admitted(1, (Fraction(1), Fraction(1, 2))).pure() == 1.5
    assert true.renyi(2) == pytest.approx(
        1 / 50 + spending._response(1, 2) + spending._response(0.5, 2)
    )
    assert spending.Admitted(2, (), (Fraction(50),)).renyi(8) == pytest.approx(8 * 4 / 100)
    response = spending.Admitted(1, (Fraction(1),))
    assert response.hockey_stick(0.0) == pytest.approx(0.46211715726)  # tanh(1/2)
    assert response.hockey_stick(1.0) == 0
    assert spending.Admitted(1, (), (Fraction(50),)).hockey_stick(0.0) == pytest.approx(0.0563720)
