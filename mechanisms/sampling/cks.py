"""Exact integer samplers, one draw at a time (Canonne, Kamath, Steinke 2020, section 5).

Responsible for coins of probability exp(-x) and for geometric noise, from fair bits and with
integers alone. Knows no law.

Theory of operation: exp(-x) for x in [0, 1] is the probability that the first k for which a coin
of probability x/k shows tails is odd. Everything else is accepted or rejected by such coins. How
long a draw takes depends on the draw.
"""

from queryable.randomness.laws import FairBits


def coin_exp(numerator: int, denominator: int, source: FairBits) -> bool:
    """True with probability exp(-numerator/denominator) (Algorithm 1)."""
    while numerator > denominator:
        if not coin_exp_to_one(1, 1, source):
            return False
        numerator -= denominator
    return coin_exp_to_one(numerator, denominator, source)


def coin_exp_to_one(numerator: int, denominator: int, source: FairBits) -> bool:
    """True with probability exp(-numerator/denominator), for a ratio in [0, 1]."""
    k = 1
    while source.below(k * denominator) < numerator:
        k += 1
    return k % 2 == 1


def geometric(top: int, bottom: int, source: FairBits) -> int:
    """At least k with probability exp(-k * bottom/top).

    remainder + top*quotient is geometric at scale `top`; divided by `bottom`, rounded down, it is
    geometric at scale top/bottom.
    """
    while True:
        remainder = source.below(top)
        if coin_exp_to_one(remainder, top, source):
            break
    quotient = 0
    while coin_exp_to_one(1, 1, source):
        quotient += 1
    return (remainder + top * quotient) // bottom


def laplace(top: int, bottom: int, source: FairBits) -> int:
    """Discrete Laplace of scale top/bottom (Algorithm 2).

    A random sign makes a geometric two-sided, where zero may come but once.
    """
    while True:
        magnitude = geometric(top, bottom, source)
        negative = source.bits(1)
        if magnitude or not negative:
            return -magnitude if negative else magnitude
