"""Vectors of the laws of noise: enclosures of probabilities, and bounds on tails."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from mechanisms import Poisson, TruncatedNegativeBinomial
from mechanisms.sampling.choices import PermuteAndFlipLaw, Softmax
from mechanisms.sampling.laplace_path import CoarsestUnchanged
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from queryable.randomness.intervals import Chance, Interval
from queryable.randomness.laws import Bernoulli, Law, UniformBelow
from tests.vectors.decimals import between, outward

F = Fraction
TAIL = F(1, 10**40)
"""The mass that may be missing from an enumeration; far below the digits of an enclosure."""
SHOWN = (0, 1, 2, 3, 5, 8, 13, 21, 34, 89, 233, 610, 1597)
"""The magnitudes whose probabilities are stated."""
SMALLEST = F(1, 10**30)
SCALES = "1/10 1/4 1/2 7/10 1 3/2 2 3 10 50 365/7 100"
VARIANCES = "1/100 1/4 1/2 1 2 3 9 25 100 1234/5 1000 4096 10000 100000"
RATES = ("1", "1/2", "1/10", "1/3", "2", "1", "1", "7")
SCORES = (
    [3, 3],
    [0, 1],
    [5, 3, 0],
    [1, 2, 3, 4],
    [10, 0, 0, 0, 0],
    [7, 7, 6, 6, 2, 1],
    [0],
    [9, 4],
)

LAWS: dict[str, Sequence[tuple[Any, ...]]] = {
    "bernoulli": [("1/2",), ("1/3",), ("999/1000",)],
    "uniform below": [(1,), (3,), (10,)],
    "truthful answer": [(each,) for each in ("0", "1/100", "1/3", "1", "3", "20")],
    "discrete laplace": [(each,) for each in SCALES.split()],
    "discrete gaussian": [(each,) for each in VARIANCES.split()],
    "softmax": [*zip(SCORES, RATES, strict=True)],
    "permute and flip": [*zip(SCORES, RATES, strict=True)],
    "poisson": [("1/2",), ("1",), ("3",), ("20",)],
    "truncated negative binomial": [
        *(("1", "1/3"), ("1", "1/50"), ("0", "1/3"), ("0", "1/100")),
        *(("-1/2", "1/3"), ("1/2", "1/10"), ("2", "1/5"), ("5/2", "1/4")),
    ],
    "coarsest unchanged": [
        *((["2", "1"],), (["100", "50", "20", "10"],), (["3", "1", "1/3"],), (["9", "8"],)),
    ],
}
"""By name: the parameters of each law."""

FIELDS: dict[str, tuple[tuple[str, ...], Any]] = {
    "bernoulli": (("probability",), Bernoulli),
    "uniform below": (("bound",), UniformBelow),
    "truthful answer": (("epsilon",), TruthfulAnswer),
    "discrete laplace": (("scale",), DiscreteLaplace),
    "discrete gaussian": (("variance",), DiscreteGaussian),
    "softmax": (("scores", "rate"), Softmax),
    "permute and flip": (("scores", "rate"), PermuteAndFlipLaw),
    "poisson": (("mu",), Poisson),
    "truncated negative binomial": (
        ("eta", "gamma"),
        lambda eta, gamma: TruncatedNegativeBinomial(F(eta), F(gamma)),
    ),
    "coarsest unchanged": (("scales",), lambda scales: CoarsestUnchanged(tuple(map(F, scales)))),
}
"""By name: its parameters, and the class."""


def law_of(name: str, given: dict[str, Any]) -> Law[Any]:
    """The law of a vector."""
    law: Law[Any] = FIELDS[name][1](*given.values())
    return law


def chances(law: Law[Any]) -> list[list[Any]]:
    """Values with their probabilities, of some of them if there are many."""
    found = law.outcomes()
    if found is None:
        enumerated = law.truncated(TAIL)
        assert enumerated is not None
        found = tuple(each for each in enumerated[0] if each[0] in SHOWN)
    return [[value, *written(chance)] for value, chance in found if not tiny(chance)]


def written(chance: Chance) -> list[str]:
    """An exact probability, or two decimals around it."""
    return between(chance.low, chance.high) if isinstance(chance, Interval) else [str(chance)]


def tiny(chance: Chance) -> bool:
    """Whether a probability has fewer digits than are stated."""
    return isinstance(chance, Interval) and not chance.low >= SMALLEST


def tails(law: Law[Any]) -> list[list[Any]]:
    """Magnitudes with a bound on the probability of what is beyond; [] where there is none."""
    bounds = ((size, law.beyond(size)) for size in SHOWN)
    return [
        [size, outward(bound, up=True, digits=25)]
        for size, bound in bounds
        if bound is not None and bound >= SMALLEST
    ]


def vectors() -> Iterator[dict[str, Any]]:
    """The vectors of all laws."""
    for name, parameters in LAWS.items():
        for number, values in enumerate(parameters, 1):
            given = dict(zip(FIELDS[name][0], values, strict=True))
            law = law_of(name, given)
            bounds = tails(law)
            yield {
                "id": f"{name} {number}",
                "law": name,
                "given": given,
                "chances": chances(law),
                **({"beyond": bounds} if bounds else {}),
            }
