"""The pool of an ex-post filter: which children are in it, what they cost, and what is left."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import ExPost, FiltCon
from composition.compositors.pool import PooledAccount
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Gaussian,
    Laplace,
    LaplaceNoiseReduction,
    Open,
    RandomizedResponse,
    Refine,
    Until,
)
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.refinement.stopping import AbsoluteError
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    MechanismFault,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)
from queryable.losses import ExPostBound
from queryable.losses.conversions import largest_zcdp, order_within
from queryable.losses.lines import slopes_within, start_of
from queryable.messages import MeasureQuery, Stated
from tests.strategies import Toy, raising

TABLE = {"age": np.arange(1000)}
BUDGET, SLACK = ApproxDP(1, "1e-6"), Fraction(1, 2 * 10**6)
NOISY = Gaussian(Count(), rho="1/1000")
REDUCTION = LaplaceNoiseReduction(Count(), epsilons=["0.01", "0.1", "0.5"])


def opened(person: Any = None, **options: Any) -> Any:
    filtered: Any = ExPost(BUDGET, **{"slack": SLACK, **options})
    over = filtered if person is None else person @ filtered
    return Queryable(over, TABLE, coins=SeededCoins(3), allow_seeded=True)


def cost(rho: Any, lines: int = 1) -> Fraction:
    """The least line at a rho."""
    slopes = slopes_within(BUDGET.epsilon, SLACK, lines)
    return min((1 + each) * Fraction(rho) + start_of(each, SLACK / lines) for each in slopes)


def spent(table: Any, d_in: int | None = None) -> tuple[Fraction, Fraction]:
    report = table.privacy_loss(d_in)
    assert isinstance(report, ExPostBound)
    return report.epsilon, report.delta


@pytest.mark.parametrize("lines", [1, 3])
def test_a_brownian_reduction_runs_beside_others(lines: int) -> None:
    """It is charged by its last variance, the slack once; stopping early leaves the rest."""
    table = opened(BrownianNoiseReduction(), lines=lines)
    estimate = table(Open(Count(), [10_000, 1000, 100]))
    assert spent(table) == (0, 0)
    assert estimate(Refine()).variance == 10_000
    assert spent(table) == (cost("1/20000", lines), SLACK)
    other = table(REDUCTION)
    other(Refine())
    assert estimate(Until(AbsoluteError(40))).variance == 1000
    other(Refine())
    table(Laplace(Count(), epsilon="1/20"))
    assert spent(table) == (cost("1/2000", lines) + Fraction("0.15"), SLACK)
    assert spent(table, 2) == (cost("1/500", lines) + Fraction("0.3"), SLACK)
    assert spent(table, 0) == (0, 0)
    team = table(FiltCon(ZCDP("1/2000")))
    team(Gaussian(Count(), rho="1/9000"))
    assert spent(table) == (cost("1/1000", lines) + Fraction("0.15"), SLACK)
    with pytest.raises(QueryRefusedError, match="finest variance affordable is") as refused:
        estimate(Refine(10))
    assert isinstance(refused.value.requested, ZCDP)
    finest = Fraction(str(refused.value).rsplit(" ", 1)[1])
    assert estimate(Refine(finest)).variance == finest
    assert Fraction(999, 1000) < spent(table)[0] <= 1


@pytest.mark.parametrize("lines", [1, 2, 4])
def test_what_is_left_is_admitted_and_no_more(lines: int) -> None:
    table = opened(lines=lines)
    for launch in (None, NOISY, REDUCTION, Laplace(Count(), epsilon="1/7"), NOISY):
        if launch is not None:
            table(launch)
        left = table.remaining()
        assert isinstance(left, ZCDP)
        assert table.can_afford(Gaussian(Count(), rho=left.rho))
        assert not table.can_afford(Gaussian(Count(), rho=left.rho + Fraction(1, 10**30)))
    table.children[1](Refine())
    table(Gaussian(Count(), rho=table.remaining().rho))
    assert spent(table) == (1, SLACK)
    assert table.remaining() == ZCDP(0)
    with pytest.raises(QueryRefusedError):
        table.children[1](Refine())


@pytest.mark.parametrize("epsilon", ["1/10", "1", "8"])
def test_a_pool_alone_admits_what_one_conversion_does(epsilon: str) -> None:
    """With more lines it admits less, and costs less at first."""
    budget = ApproxDP(epsilon, "1e-6")
    left, first = [], []
    for lines in (1, 2, 4):
        table = Queryable(ExPost(budget, slack="1e-6", lines=lines), TABLE)
        left.append(float(table.remaining().rho / largest_zcdp(budget.epsilon, budget.delta)))
        table(Gaussian(Count(), rho=Fraction(1, 10**12)))
        first.append(float(spent(table)[0] / budget.epsilon))
    assert 1 - 1e-6 < left[0] < 1 + 1e-20
    assert left[0] > left[1] > 0.92
    assert left[1] > left[2] > 0.86
    assert 0.4 < first[0] < 0.5
    assert 0.2 < first[1] < 0.25
    assert first[2] < 0.07


@pytest.mark.parametrize("epsilon", ["1/50", "1", "16"])
def test_lines_do_not_depend_on_the_last_digits_of_a_search(
    epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a ledger would be refused on another machine."""
    found = slopes_within.__wrapped__(Fraction(epsilon), SLACK, 4)
    for off in (1 - 1e-7, 1 + 1e-7, 1 - 1e-4, 1 + 1e-4):
        moved = Fraction(off)
        monkeypatch.setattr(
            "queryable.losses.lines.order_within",
            lambda *given, by=moved: 1 + (order_within(*given) - 1) * by,
        )
        assert slopes_within.__wrapped__(Fraction(epsilon), SLACK, 4) == found


def test_which_children_are_in_the_pool() -> None:
    """Those whose own loss is a rho, and those that are launched at one."""
    table = opened()
    table(RandomizedResponse(lambda data: True, epsilon="1/10"))
    table(GaussianNoiseReduction(Count(), variances=[900], missed="1e-7"))
    assert spent(table) == (Fraction(1, 10), Fraction("1e-7"))
    table.launch(RandomizedResponse(lambda data: True, epsilon="1/10"), d_out=ZCDP("1/200"))
    rho = Fraction(1, 200)
    assert spent(table) == (cost(rho) + Fraction(1, 10), SLACK + Fraction("1e-7"))
    table.launch(
        GaussianNoiseReduction(Count(), variances=[900], missed="1e-7"), d_out=ZCDP("1/1800")
    )
    table(Toy(ZCDP("1/1000")))
    rho += Fraction(1, 1800) + Fraction(1, 1000)
    assert spent(table) == (cost(rho) + Fraction(1, 10), SLACK + Fraction("1e-7"))
    with pytest.raises(PrivacyClaimError, match="Nothing is charged"):
        table(Toy(ApproxZCDP("1/100", "1e-9")))
    with pytest.raises(PrivacyClaimError, match="below the privacy map"):
        table.launch(NOISY, d_out=ZCDP("1/2000"))
    with pytest.raises(PrivacyClaimError, match="ViaZCDP"):
        opened(slack=0)(NOISY)


def test_the_slack_is_part_of_the_deltas() -> None:
    """Whoever comes first has it."""
    leaky = RandomizedResponse(lambda data: True, epsilon="1/10", delta="6e-7")
    for first, second in ((NOISY, leaky), (leaky, NOISY)):
        table = opened()
        table(first)
        with pytest.raises(QueryRefusedError):
            table(second)
    assert table.remaining() == ZCDP(0)
    table = opened()
    table(Gaussian(Count(), variance=10**9), name="free")
    assert spent(table)[1] == SLACK


def test_the_first_child_is_refused_with_what_it_costs_at_least() -> None:
    table = opened()
    table(Laplace(Count(), epsilon="3/5"))
    with pytest.raises(
        QueryRefusedError, match=r"first zCDP child .* epsilon of ≈0.467 and a delta"
    ):
        table(NOISY)
    with pytest.raises(QueryRefusedError) as refused:
        opened()(Gaussian(Count(), rho=1))
    assert "first zCDP child" not in str(refused.value)


def test_nothing_is_charged_for_a_rho_of_0() -> None:
    table = opened()
    table(Toy(ZCDP(0)))
    assert spent(table) == (0, 0)


def test_a_failure_keeps_its_charge() -> None:
    table = opened()
    with pytest.raises(MechanismFault):
        table(Gaussian(Statistic(raising(ValueError("no")), l1=1, l2=1), rho="1/1000"))
    assert spent(table) == (cost("1/1000"), SLACK)


def test_at_other_numbers_of_records() -> None:
    """A rho is that of the filter's own number of records."""
    table = opened(d_in=2)
    table(NOISY)
    assert spent(table) == (cost("4/1000"), SLACK)
    assert spent(table, 1) == (cost("1/1000"), SLACK)
    assert spent(table, 3) == (cost("9/1000"), SLACK)


def test_releases_add_gaussian_noise() -> None:
    table = opened()
    assert table.ask(MeasureQuery()) == Stated(ZCDP, 1)
    table.release(Count(), loss=ZCDP("1/1000"))
    assert spent(table) == (cost("1/1000"), SLACK)
    table.release(Count(), loss=PureDP("1/10"))
    assert spent(table)[0] == cost("1/1000") + Fraction(1, 10)
    with pytest.raises(QueryRefusedError, match=r"within=.* fits now"):
        table.release(Count(), within=2)
    table.release(Count(), loss=table.remaining())
    assert spent(table) == (1, SLACK)
    assert opened(slack=None).ask(MeasureQuery()) == Stated(ApproxDP, 1)


def test_what_is_said_of_it() -> None:
    table = opened()
    table(NOISY)
    assert "The pool: docs/theory.md, zCDP ex post." in table.explain().replace("\n  ", " ")
    assert "spent ApproxDP(epsilon≈0.49, delta=5e-07)" in table.tree()
    assert "The pool" not in opened(slack=0).explain()


def test_an_account_comes_back_as_integers() -> None:
    account = ExPost(BUDGET, slack=SLACK, lines=2).account()
    assert isinstance(account, PooledAccount)
    grown = account.add(ZCDP("1/70")).add(ApproxDP("1/9", "1e-8"))
    packed = grown.packed(account)
    assert all(type(each) is int for each in packed)
    assert account.unpacked(packed) == grown
    other = ExPost(BUDGET, slack=SLACK, lines=3).account()
    assert grown.packed(other) is grown
    assert grown.plus(ZCDP("1/70")) == grown.add(ZCDP("1/70"))
    assert grown.plus(PureDP(1)) is None
