"""Seeded and sealed coins, and samplers of integers, in plain Python.

Samplers follow Canonne, Kamath, Steinke 2020, section 5.
"""

from fractions import Fraction
from hashlib import sha256, shake_256
from math import isqrt

BLOCK = 512


class Coins:
    """Bits of SHAKE256 of a key: blocks of 512 bytes, the lowest bit of the first byte first."""

    def __init__(self, key):
        self.key, self.blocks, self.pool, self.left, self.strings = key, 0, 0, 0, 0

    def bits(self, count):
        while self.left < count:
            block = shake_256(self.key + b"/%d" % self.blocks).digest(BLOCK)
            self.pool |= int.from_bytes(block, "little") << self.left
            self.left, self.blocks = self.left + 8 * BLOCK, self.blocks + 1
        taken, self.pool = self.pool & ((1 << count) - 1), self.pool >> count
        self.left -= count
        return taken

    def bytes(self, count):
        self.strings += 1
        return shake_256(self.key + b"/bytes/%d" % self.strings).digest(count)

    def below(self, bound):
        while True:
            candidate = self.bits((bound - 1).bit_length())
            if candidate < bound:
                return candidate


def seeded(seed, path):
    """Seeded coins: the key is the Python text of the seed, the ids and the last message."""
    message = path[-1][1] if path else 0
    return Coins(repr((seed, tuple(child for child, _ in path), message)).encode())


def digest(*parts):
    found = sha256(b"queryable sealed coins/1")
    for each in parts:
        found.update(b"%d:" % len(each) + each)
    return found.digest()


def sealed(vector):
    """Sealed coins: the key is a hash of the secret and of all that was asked and answered."""
    history, count = digest(b"root", vector["root"].encode()), 0
    for kind, text in vector["history"]:
        count += kind == "asked"
        number = [b"%d" % count] if kind == "asked" else []
        history = digest(kind.encode(), history, *number, text.encode())
    for child, message in vector["path"]:
        history = digest(b"spawn", history, repr((child, message)).encode())
    return Coins(digest(b"coins", bytes.fromhex(vector["key"]), history))


# Samplers.


def rare(top, bottom, coins):
    """True with probability exp(-top/bottom)."""
    while top > bottom:
        if not rare(1, 1, coins):
            return False
        top -= bottom
    k = 1
    while coins.below(k * bottom) < top:
        k += 1
    return k % 2 == 1


def truthful(e, coins):
    while not coins.bits(1):
        if rare(e.numerator, e.denominator, coins):
            return False
    return True


def laplace(scale, coins):
    top, bottom = scale.numerator, scale.denominator
    while True:
        rest = coins.below(top)
        while not rare(rest, top, coins):
            rest = coins.below(top)
        whole = 0
        while rare(1, 1, coins):
            whole += 1
        size, negative = (rest + top * whole) // bottom, coins.bits(1)
        if size or not negative:
            return -size if negative else size


def gaussian(variance, coins):
    scale = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        drawn = laplace(Fraction(scale), coins)
        exponent = (abs(drawn) - variance / scale) ** 2 / (2 * variance)
        common = 2 * variance.numerator * variance.denominator * scale * scale
        if rare(int(exponent * common), common, coins):
            return drawn


SAMPLERS = {
    "bernoulli": lambda p, coins: coins.below(p.denominator) < p.numerator,
    "bernoulli exp": lambda e, coins: rare(e.numerator, e.denominator, coins),
    "truthful answer": truthful,
    "uniform below": lambda bound, coins: coins.below(int(bound)),
    "discrete laplace": laplace,
    "discrete gaussian": gaussian,
}
