"""Exact integer samplers, one draw at a time (Canonne, Kamath, Steinke 2020, section 5).

Coins of probability exp(-x), geometric and Laplace noise, made from fair bits with integers alone.

Theory of operation: for x in [0, 1], toss coins of probability x/1, x/2, x/3, ... until one shows
tails. The number of the first tails is odd with probability exp(-x). The other samplers accept or
reject proposals with such coins. The time of a draw depends on the value drawn.
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

    remainder + top*quotient is geometric at scale `top`; divided by `bottom` and rounded down, it
    is geometric at scale top/bottom.
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

    A random sign makes a geometric draw two-sided; minus zero is rejected, so that zero is not
    counted twice.
    """
    while True:
        magnitude = geometric(top, bottom, source)
        negative = source.bits(1)
        if magnitude or not negative:
            return -magnitude if negative else magnitude
