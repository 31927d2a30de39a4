"""The residue filter: dominance between profiles, checked at many t in 60-digit arithmetic."""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from composition import FiltCon, GDPResidue, ViaGDP, admitted
from composition.rules.residue import first_residue, largest_first, largest_response, residue
from queryable import GDP, ZCDP, ApproxDP, Launch, Loss, PureDP, Refused
from queryable.effort import is_out, quickly
from queryable.errors import QueryError
from queryable.losses import Dominated
from queryable.losses.conversions import greatest
from tests.reference import beside_response, gaussian_profile, mp, real, response_profile
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
        with quickly(steps=8000) as left:
            first = account.add(loss)
            assert left.taken == 7000
            second = first.add(loss)
            assert left.taken == 7600
            with pytest.raises(QueryError, match="in a message of its own"):
                second.add(loss)
            assert is_out()
            second.add(Dominated(0, "1/100", 0))  # one square root
    small = Dominated(Fraction(1, 10**150), 0, 0)  # floats are not precise enough
    with quickly() as left:
        account.add(small).add(small)
        assert left.taken == 14_000


def test_the_residue_is_the_root_from_below() -> None:
    """On 60 random inputs the residue fits at t = 0, and a slightly larger one does not."""
    for mu, epsilon in pairs(60, 1):
        left = residue(mu, epsilon)
        assert left is not None
        assert lack(mu, epsilon, left, 0) >= 0
        assert lack(mu, epsilon, left * (1 + Fraction(1, 10**6)) + Fraction(1, 10**100), 0) < 0


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


def test_a_larger_residue_fails_where_the_theorem_says() -> None:
    """With a little more left the pair is above the Gaussian at t = 0, though not far out."""
    left = residue(Fraction(1), Fraction(1, 10))
    assert left is not None
    more = left * (1 + Fraction(1, 10**6))
    assert lack(Fraction(1), Fraction(1, 10), more, 0) < 0
    assert lack(Fraction(1), Fraction(1, 10), more, 4) > 0


def test_the_first_residue_keeps_the_budget_in_both_directions() -> None:
    """On 15 random budgets delta at epsilon is within the slack, and nearly all of it."""
    random = Random(3)
    for _ in range(15):
        epsilon, slack = tenths(-2, 1, random), tenths(-12, -1, random)
        each = largest_first(epsilon, slack) * Fraction(random.randint(1, 99), 100)
        left = first_residue(epsilon, slack, each)
        assert left is not None
        spent = beside_response(each, lambda at, m=left: gaussian_profile(m, at), real(epsilon))
        assert real(slack) * (1 - real("1e-9")) <= spent <= real(slack)
        back = beside_response(each, lambda at, m=left: gaussian_profile(m, at), -real(epsilon))
        assert abs(back - (1 - mp.exp(-real(epsilon)) + mp.exp(-real(epsilon)) * spent)) < real(
            "1e-50"
        )


def test_the_largest_launches_are_the_largest() -> None:
    """The largest response fits the Gaussian or the budget, and a hair more does not."""
    hair = 1 + Fraction(1, 10**12)
    for mu, _ in pairs(30, 4):
        most = largest_response(mu)
        distance = gaussian_profile(mu, 0)
        assert mp.tanh(real(most) / 2) <= distance < mp.tanh(real(most * hair) / 2)
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


def test_both_kinds_share_one_residue() -> None:
    """A launch that is both costs what its response and then its Gaussian cost."""
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


def test_no_loss_keeps_the_first_launch_for_later() -> None:
    """A launch that only has a delta leaves the budget's own start unused."""
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


def test_what_remains_fits_and_more_does_not() -> None:
    """At every stage the largest epsilon reported is admitted, and a hair more is not."""
    account = GDPResidue("9e-7").open(BUDGET)
    for _ in range(40):
        remaining = account.remaining()
        assert account.add(remaining).within
        larger = remaining.epsilon * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12)
        assert not account.add(Dominated(larger, 0, 0)).within
        account = account.add(Dominated("0.01", 0, "1e-9"))


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


def test_the_total_is_the_budget_once_launched() -> None:
    """The total is zero before the first launch, and the whole budget afterwards."""
    account = GDPResidue().open(BUDGET)
    assert account.total() == BUDGET.zero()
    assert account.add(Dominated("0.01", 0, 0)).total() == BUDGET


@pytest.mark.parametrize("slack", [0, -1, "1e-5", 2, True, float("nan")])
def test_a_bad_slack_is_refused(slack: Any) -> None:
    """Above 0 and at most the budget's delta."""
    with pytest.raises(ValueError, match="slack"):
        GDPResidue(slack).open(BUDGET)


def test_budgets_it_is_not_about_are_refused() -> None:
    """Only (epsilon, delta), with 0 < delta < 1."""
    for budget in (PureDP(1), ZCDP(1), GDP(1)):
        with pytest.raises(ValueError, match="ApproxDP"):
            GDPResidue().open(budget)
    for delta in (0, 1):
        with pytest.raises(ValueError, match="slack is"):
            GDPResidue().open(ApproxDP(1, delta))


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
