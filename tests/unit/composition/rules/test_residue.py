"""The residue filter: dominance between profiles, checked at many t in 60-digit arithmetic."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from composition import FiltCon, GDPResidue, ViaGDP, accumulator_of, admitted
from composition.rules.checks.residues import is_residue
from composition.rules.residue import largest_first, largest_response, residue
from queryable import GDP, ZCDP, ApproxDP, Launch, Loss, PureDP, Refused
from queryable.effort import is_out, within_effort
from queryable.errors import QueryError
from queryable.losses import Dominated
from queryable.losses.conversions import greatest, largest_gdp
from tests.reference import beside_response, gaussian_profile, real, response_profile
from tests.strategies import Toy

BUDGET = ApproxDP(1, "1e-6")


def tenths(low: float, high: float, random: Random) -> Fraction:
    """A random rational between two powers of ten."""
    return Fraction(f"{10 ** random.uniform(low, high):.6g}")


def pairs(count: int, seed: int) -> list[tuple[Fraction, Fraction]]:
    """Random (mu, epsilon) such that the Gaussian dominates the response."""
    random, found = Random(seed), []
    while len(found) < count:
        mu, epsilon = tenths(-2, 1, random), tenths(-3, 1, random)
        if epsilon <= largest_response(mu):
            found.append((mu, epsilon))
    return found


def lack(mu: Fraction, epsilon: Fraction, left: Fraction, t: Any) -> Any:
    """How much less the profile of what is left beside the response is than the Gaussian's."""
    pair = beside_response(epsilon, lambda at: gaussian_profile(left, at), t)
    return gaussian_profile(mu, t) - pair


def test_a_message_takes_the_steps_of_its_residues() -> None:
    """They were not counted: a list of 150 launches took 2 s of a curator's processor."""
    account, loss = GDPResidue().open(BUDGET), Dominated("1/100", 0, 0)
    for _ in range(2):  # as many when the residues are known
        with within_effort(steps=8000) as left:
            first = account.add(loss)
            assert left.taken == 7000
            second = first.add(loss)
            assert left.taken == 7600
            with pytest.raises(QueryError, match="in a message of its own"):
                second.add(loss)
            assert is_out()
            second.add(Dominated(0, "1/100", 0))  # one square root
    small = Dominated(Fraction(1, 10**150), 0, 0)  # floats are not precise enough
    with within_effort() as left:
        account.add(small).add(small)
        assert left.taken == 14_000


@pytest.mark.parametrize("count", [8, pytest.param(25, marks=pytest.mark.slow)])
def test_the_residue_is_dominated_at_every_t(count: int) -> None:
    """The profile is at most the Gaussian's at 120 other t, in both tails, not at t = 0 alone."""
    for mu, epsilon in pairs(count, 2):
        left = residue(mu, epsilon)
        assert left is not None
        far = real(mu) ** 2 / 2 + 12 * real(mu) + 2 * real(epsilon)
        for step in range(1, 61):
            t = far * (real(step) / 60) ** 2
            slack = real("1e-50") * gaussian_profile(mu, -t)
            assert lack(mu, epsilon, left, t) >= -slack
            assert lack(mu, epsilon, left, -t) >= -slack


def test_the_largest_first_launch_is_the_largest() -> None:
    for epsilon, slack in ((1, "1e-6"), (0, "0.5"), (3, "1e-12")):
        most = largest_first(Fraction(epsilon), Fraction(slack))
        larger = most + Fraction(slack) / 10**6
        assert response_profile(most, real(epsilon)) <= real(slack)
        assert response_profile(larger, real(epsilon)) > real(slack) * (1 - real("1e-5"))


@pytest.mark.parametrize(
    ("epsilon", "each", "count", "optimum"),
    [
        (1, "0.1", 5, 10),
        (1, "0.01", 558, 562),
        (2, "0.1", 19, 24),
        (2, "0.01", 2008, 2012),
        (5, "0.1", 102, 108),
    ],
)
def test_how_many_fit(epsilon: int, each: str, count: int, optimum: int) -> None:
    """Equal mechanisms at delta = 1e-6, beside the most that parameters fixed in advance admit."""
    assert admitted(ApproxDP(epsilon, "1e-6"), GDPResidue(), PureDP(each)) == count <= optimum


def test_gaussians_alone_are_as_under_the_gaussian_rule() -> None:
    """Mu squared adds up, from the largest Gaussian within the budget."""
    for mu in ("0.01", "0.037", "0.1"):
        same = admitted(BUDGET, ViaGDP(), GDP(mu))
        assert admitted(BUDGET, GDPResidue(), GDP(mu)) == same
    # A launch that is both costs what its response and then its Gaussian cost.
    both = GDPResidue().open(BUDGET).add(Dominated("0.01", "0.02", 0))
    apart = GDPResidue().open(BUDGET).add(Dominated("0.01", 0, 0)).add(Dominated(0, "0.02", 0))
    assert both == apart
    assert both.within


def test_the_budget_itself_serves_the_first_launch_only() -> None:
    """The first may be as large as the budget; after a small one only what the Gaussian covers."""
    account = GDPResidue().open(BUDGET)
    assert account.remaining().epsilon >= 1
    assert account.add(Dominated(1, 0, 0)).within
    after = account.add(Dominated("0.001", 0, 0))
    assert after.remaining().epsilon < Fraction(2, 10)
    assert not after.add(Dominated("0.2", 0, 0)).within
    assert not account.add(Dominated(1, 0, 0)).add(Dominated("0.001", 0, 0)).within
    # A launch that only has a delta leaves the budget's own start unused.
    account = GDPResidue("5e-7").open(BUDGET).add(Dominated(0, 0, "1e-7"))
    assert account.add(Dominated(1, 0, 0)).within


def test_a_first_gaussian_is_bought_with_the_slack_alone() -> None:
    """A slack of a tenth of delta: the largest first Gaussian, then all the other delta."""
    delta, slack = BUDGET.delta, BUDGET.delta / 10
    account = GDPResidue(slack).open(BUDGET)
    most = greatest(lambda mu: account.add(Dominated(0, mu, 0)).within)
    launched = account.add(Dominated(0, most, 0)).add(Dominated(0, 0, delta - slack))
    assert launched.within
    reveals = real(delta - slack)
    true = reveals + (1 - reveals) * gaussian_profile(most, real(BUDGET.epsilon))
    assert real(delta) * (1 - real("1e-6")) <= true <= real(delta)


def test_deltas_come_from_a_share_fixed_at_the_start() -> None:
    """slack + deltas <= delta; with all of delta as the slack the refusal says what to pass."""
    account = GDPResidue("5e-7").open(BUDGET).add(Dominated("0.01", 0, "5e-7"))
    assert account.within
    assert not account.add(Dominated("0.01", 0, "1e-15")).within
    whole = GDPResidue().open(BUDGET)
    assert not whole.add(Dominated("0.01", 0, "1e-9")).within
    assert "slack" in whole.hint(Dominated("0.01", 0, "1e-9"))
    assert whole.hint(Dominated(2, 0, 0)) == ""
    for budget in (PureDP(1), ZCDP(1), GDP(1)):
        with pytest.raises(ValueError, match="ApproxDP"):
            GDPResidue().open(budget)
    for delta in (0, 1):
        with pytest.raises(ValueError, match="slack is"):
            GDPResidue().open(ApproxDP(1, delta))


def test_nothing_is_left_after_the_largest() -> None:
    """Then nothing of the same size fits again, and an exceeded account stays exceeded."""
    account = GDPResidue().open(BUDGET).add(Dominated("0.01", 0, 0))
    full = account.add(account.remaining())
    assert full.within
    assert full.remaining().epsilon < Fraction(2, 100)
    over = full.add(Dominated("0.02", 0, 0))
    assert not over.within
    assert not over.add(Dominated("1e-9", 0, 0)).within
    assert not account.add(Dominated(0, 1, 0)).within
    assert not account.add(Dominated(9, 1, 0)).within
    account = GDPResidue().open(BUDGET)
    assert account.total() == BUDGET.zero()
    assert account.add(Dominated("0.01", 0, 0)).total() == BUDGET


def test_a_filter_takes_both_kinds_and_names_the_rule_for_others() -> None:
    """Responses and Gaussians are launched side by side; a zCDP mechanism is pointed elsewhere."""
    filtered = FiltCon(BUDGET, GDPResidue())
    state, _ = filtered.init(None)
    losses: tuple[Loss, ...] = (PureDP("0.05"), GDP("0.05"), ApproxDP("0.05", 0))
    for loss in losses:
        state, answer = filtered.step(state, Launch(Toy(loss)))
        assert not isinstance(answer, Refused)
    with pytest.raises(Exception, match="ViaZCDP"):
        filtered.step(state, Launch(Toy(ZCDP("0.001"))))
    _, answer = filtered.step(state, Launch(Toy(PureDP("0.5"))))
    assert isinstance(answer, Refused)
    assert answer.requested == Dominated("0.5", 0, 0)


def test_the_check_of_what_large_residues_leave() -> None:
    """Where the largest is not known, a residue that rises is found, and one far below."""
    budget, before, epsilon = (Fraction(2**40), Fraction(1, 10**6)), Fraction(10**6), Fraction(1)
    left = residue(before, epsilon)
    assert left is not None
    assert left < before
    assert is_residue(left, before, Fraction(0), epsilon, budget, least=False)
    for wrong in (before * (1 + Fraction(1, 10**9)), before / 2):
        assert not is_residue(wrong, before, Fraction(0), epsilon, budget, least=False)
    assert is_residue(before / 2, before, Fraction(0), epsilon, budget, least=True)


@pytest.mark.parametrize("slack", ["1e-6", "1/3"])
def test_a_report_ends_where_hardly_more_than_no_epsilon_is_needed(slack: str) -> None:
    """The conversion says 0, and the filter's own check, which is rounded, says more."""
    mu = largest_gdp(Fraction(0), Fraction(slack)) * (1 + Fraction(1, 2**100))
    account = accumulator_of(GDPResidue(), ApproxDP, slack).open().add(Dominated(0, mu, 0))
    assert account.total().epsilon <= Fraction(1, 10**15)
