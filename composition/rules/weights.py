"""The rules that add up a weight: epsilon squared, rho, or mu squared.

Responsible for the weight of a launch under each rule, and for the capacity of an (epsilon, slack)
budget. How delta is split, and the account, are in `slack`.
"""

from fractions import Fraction

import attrs
from flint import arb

from composition.rules.checks.compare import Verdict, ball, within
from composition.rules.checks.curves import concentrated_within, gaussian_within
from composition.rules.slack import SlackRule
from queryable.losses import GDP, ApproxDP, ApproxZCDP, conversions
from queryable.losses.numbers import round_down, round_up, sqrt_down, sqrt_up


@attrs.frozen
class Whitehouse2023(SlackRule):
    """sqrt(2 log(1/slack) V) + V/2 <= epsilon with V = sum of epsilon_i^2, slack + deltas <= delta.

    Privacy:
        Theorem: Whitehouse et al. 2023, Theorem 2; interleaved by Haney et al. 2023, Theorem 1.20.
    """

    takes = ApproxDP
    weighs = "epsilon squared"

    def weight(self, loss: ApproxDP) -> Fraction:
        """Epsilon squared."""
        return loss.epsilon * loss.epsilon

    def capacity(self, epsilon: Fraction, slack: Fraction) -> Fraction:
        """The root V of sqrt(2 log(1/slack) V) + V/2 = epsilon."""
        if epsilon == 0:
            return epsilon

        def root(e: arb, s: arb) -> arb:
            deviation = (-2 * s.log()).sqrt()
            return (2 * e / (deviation + (deviation * deviation + 2 * e).sqrt())) ** 2

        return max(Fraction(0), round_down(root, epsilon, slack))

    def epsilon(self, weight: Fraction, slack: Fraction) -> Fraction:
        """sqrt(2 log(1/slack) V) + V/2."""
        if weight == 0:
            return weight
        return round_up(lambda v, s: (-2 * v * s.log()).sqrt() + v / 2, weight, slack)

    def largest(self, weight: Fraction, delta: Fraction) -> ApproxDP:
        """Epsilon is the square root of the weight."""
        return ApproxDP(sqrt_down(weight), delta)

    def keeps(self, weight: Fraction, epsilon: Fraction, slack: Fraction) -> Verdict:
        """The formula at the weight, in place of its root."""
        return within(
            lambda: (-2 * ball(slack).log() * ball(weight)).sqrt() + ball(weight) / 2, epsilon
        )


@attrs.frozen
class ViaZCDP(SlackRule):
    """Sum of rho_i <= the largest rho that gives (epsilon, slack)-DP; slack + deltas <= delta.

    Launches state approximate zCDP. That is a mechanism's own zCDP if it has one, and rho =
    epsilon_i * tanh(epsilon_i / 2) for an epsilon_i-DP one, together with delta_i for an
    (epsilon_i, delta_i)-DP one.

    Privacy:
        Theorem: docs/theory.md, mixed children, after Haney et al. 2023, Theorem 4.10; the
        conversion is that of Canonne, Kamath, Steinke 2020.
    """

    takes = ApproxZCDP
    weighs = "rho"

    def weight(self, loss: ApproxZCDP) -> Fraction:
        """Rho."""
        return loss.rho

    def capacity(self, epsilon: Fraction, slack: Fraction) -> Fraction:
        """The largest rho whose conversion at delta = slack stays within epsilon."""
        return conversions.largest_zcdp(epsilon, slack)

    def epsilon(self, weight: Fraction, slack: Fraction) -> Fraction:
        """The conversion to epsilon."""
        return conversions.zcdp_to_approx(weight, slack)

    def largest(self, weight: Fraction, delta: Fraction) -> ApproxZCDP:
        """The weight is rho."""
        return ApproxZCDP(weight, delta)

    def keeps(self, weight: Fraction, epsilon: Fraction, slack: Fraction) -> Verdict:
        """The conversion at an order that is searched in floats."""
        return concentrated_within(weight, epsilon, slack)


@attrs.frozen
class Rogers2023(ViaZCDP):
    """Sum of rho_i <= rho with rho + 2 sqrt(rho log(1/slack)) = epsilon; slack + deltas <= delta.

    The paper's rule for Brownian noise reductions beside approximate zCDP, for comparison. It
    differs from `ViaZCDP` only in the conversion, and never admits more. A reduction refined to
    variance t costs rho = l2^2 / (2t).

    Privacy:
        Theorem: Rogers et al. 2023, Theorem 5, which is misprinted with 2 sqrt(2 rho log(1/slack));
            interleaved by docs/theory.md, mixed children and Brownian noise reduction. The
            conversion is that of Bun and Steinke 2016, Proposition 1.3.
    """

    def capacity(self, epsilon: Fraction, slack: Fraction) -> Fraction:
        """The root rho of rho + 2 sqrt(rho log(1/slack)) = epsilon."""
        if epsilon == 0:
            return epsilon

        def root(e: arb, s: arb) -> arb:
            log = -s.log()
            return (e / (log.sqrt() + (log + e).sqrt())) ** 2

        return max(Fraction(0), round_down(root, epsilon, slack))

    def epsilon(self, weight: Fraction, slack: Fraction) -> Fraction:
        """rho + 2 sqrt(rho log(1/slack))."""
        if weight == 0:
            return weight
        return round_up(lambda r, s: r + 2 * (-r * s.log()).sqrt(), weight, slack)

    def keeps(self, weight: Fraction, epsilon: Fraction, slack: Fraction) -> Verdict:
        """The formula at rho, in place of its root."""
        return within(
            lambda: ball(weight) + 2 * (ball(weight) * -ball(slack).log()).sqrt(), epsilon
        )


@attrs.frozen
class ViaGDP(SlackRule):
    """Sum of mu_i squared <= that of the Gaussian that is (epsilon, slack)-DP.

    Launches state Gaussian DP, which has no delta.

    Privacy:
        Theorem: Haney et al. 2023, Theorem 3.4 with Smith and Thakurta 2022 and Koskela et al.
        2022; the conversion is exact (Balle and Wang 2018).
    """

    takes = GDP
    weighs = "mu squared"

    def weight(self, loss: GDP) -> Fraction:
        """Mu squared."""
        return loss.mu * loss.mu

    def capacity(self, epsilon: Fraction, slack: Fraction) -> Fraction:
        """The square of the largest mu whose delta at epsilon stays within the slack."""
        return conversions.largest_gdp(epsilon, slack) ** 2

    def epsilon(self, weight: Fraction, slack: Fraction) -> Fraction:
        """The conversion to epsilon."""
        return conversions.gdp_to_approx(sqrt_up(weight), slack)

    def largest(self, weight: Fraction, delta: Fraction) -> GDP:
        """Mu is the square root of the weight."""
        return GDP(sqrt_down(weight))

    def keeps(self, weight: Fraction, epsilon: Fraction, slack: Fraction) -> Verdict:
        """The profile of the Gaussian, in place of the largest one."""
        return gaussian_within(weight, epsilon, slack)
