"""Random analyses, whose ledgers are accounted for again.

An analysis is of one filter or odometer: a random measure, rule and number of records, with random
launches of mechanisms whose statistics have random sensitivities. What does not fit is refused, and
is no charge. The same number gives the same analysis.
"""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from composition import (
    Basic,
    FiltCon,
    GDPResidue,
    MixtureOdometer,
    OdomCon,
    RenyiOdometer,
    Rogers2016,
    StitchedOdometer,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from mechanisms import (
    Count,
    ExponentialMechanism,
    Gaussian,
    GroupBy,
    Laplace,
    Mean,
    PermuteAndFlip,
    PrivacyUnit,
    Quantile,
    RandomizedResponse,
    SparseVector,
    Sum,
    Top,
    TopK,
    TreeCounter,
)
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Bit,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Statistic,
)
from queryable.events.charges import Events
from queryable.losses import Dominated, RenyiCurve
from queryable.randomness.coins import SeededCoins

LAUNCHES = 8
DATA = {"a": [1, 2, 3, 4], "b": ["x", "y", "x", "x"], "who": [1, 1, 2, 3]}
_GAUSSIAN, _PURE, _CHOICES = "gaussian", "pure", "choices"
ALL = (_GAUSSIAN, _GAUSSIAN, _PURE, _CHOICES)
_BOUNDS = 1 / 20
"""The share of mechanisms whose loss is all that is known."""


def _roots(pick: Random) -> list[tuple[Any, tuple[str, ...]]]:
    """Every kind of root, with the kinds of mechanisms that it charges."""
    d_in, small, rho = pick.choice([1, 1, 2, 3]), "1e-6", pick.choice(["1/2", 3, 40])
    budget = ApproxDP(pick.choice([4, 30]), "1e-5")
    orders = [2, 8, 32]
    curve = RenyiCurve(orders, [pick.choice([2, 20]) * each for each in orders])
    mixture, stitched = MixtureOdometer("1e-6", rho), StitchedOdometer("1e-6", rho)
    return [
        (FiltCon(PureDP(pick.choice([2, 30])), d_in=d_in), (_PURE, _CHOICES)),
        (FiltCon(ZCDP(rho), d_in=d_in), ALL),
        (FiltCon(GDP(pick.choice([1, 9])), d_in=d_in), ALL),
        (FiltCon(RDP(pick.choice([2, 16]), 40), d_in=d_in), ALL),
        (FiltCon(curve, d_in=d_in), ALL),
        (FiltCon(ApproxZCDP(rho, "1e-6"), d_in=d_in), ALL),
        (FiltCon(Dominated(20, 9, "1e-6"), d_in=d_in), ALL),
        (FiltCon(budget, rule=Basic(), d_in=d_in), (_PURE, _CHOICES)),
        (FiltCon(budget, rule=Rogers2016(), d_in=d_in), (_PURE, _CHOICES)),
        (FiltCon(budget, rule=Whitehouse2023(small), d_in=d_in), ALL),
        (FiltCon(budget, rule=ViaZCDP(small), d_in=d_in), ALL),
        (FiltCon(budget, rule=ViaRenyi(orders, slack=small), d_in=d_in), ALL),
        (FiltCon(budget, rule=ViaGDP(slack=small), d_in=d_in), ALL),
        (FiltCon(budget, rule=GDPResidue(slack=small), d_in=d_in), ALL),
        (OdomCon(ZCDP, d_in=d_in), ALL),
        (OdomCon(PureDP, d_in=d_in), (_PURE, _CHOICES)),
        (OdomCon(ZCDP, rule=mixture, d_in=d_in), ALL),
        (OdomCon(ZCDP, rule=stitched, d_in=d_in), ALL),
        (OdomCon(RDP.at(2, 8), rule=RenyiOdometer("1e-6", [2, 8]), d_in=d_in), ALL),
    ]


def _statistic(pick: Random) -> Any:
    unit = PrivacyUnit("who", max_rows=pick.choice([1, 2, 3]))
    entries = pick.choice([None, 1, 3, 6])
    linf = Fraction(pick.choice([1, 1, 2, 5]))
    l1 = linf * pick.choice([1, 2, 4]) if entries not in (None, 1) else linf
    l2 = min(l1, linf * pick.choice([1, 2]))
    shape = None if entries is None else (entries,)
    empty = 0 if shape is None else np.zeros(shape, np.int64)
    return pick.choice(
        [
            Count(),
            Count(per=unit),
            Sum("a", 0, pick.choice([1, 9, 50]), unit=1),
            Mean("a", 0, 9, unit=1),
            GroupBy({"b": ["x", "y"]}, Count(per=unit)),
            Statistic(lambda _: empty, l1=l1, l2=l2, linf=linf, shape=shape),
        ]
    )


def _size(pick: Random) -> Fraction:
    """How large a loss of about this is: from 0.01 to 3, more often small."""
    return Fraction(round(1000 * 10 ** pick.uniform(-2, 0.5)), 1000)


def _mechanism(pick: Random, kind: str) -> Any:
    statistic, size = _statistic(pick), _size(pick)
    scores = Statistic(lambda _: np.arange(5), l1=5, l2=3, linf=1, shape=(5,), monotone="up")
    monotone, horizon = pick.random() < 1 / 2, pick.choice([1, 5, 12])
    unit = pick.choice([None, PrivacyUnit("who", max_rows=2)])
    made: dict[str, list[Callable[[], Any]]] = {
        _GAUSSIAN: [
            lambda: Gaussian(statistic, rho=size**2 / 2),
            lambda: Gaussian(statistic, scale=pick.choice(["1/3", 1, 4, 30])),
            lambda: TreeCounter(Count(per=unit), rho=size**2 / 2, horizon=horizon),
        ],
        _PURE: [
            lambda: Laplace(statistic, epsilon=size),
            lambda: Laplace(statistic, scale=pick.choice(["1/2", 2, 7, 40])),
            lambda: TreeCounter(Count(per=unit), epsilon=size, horizon=horizon),
            lambda: RandomizedResponse(Bit(bool), odds=1 + size),
            lambda: RandomizedResponse(Bit(bool), epsilon=size, delta=pick.choice([0, "1e-7"])),
        ],
        _CHOICES: [
            lambda: ExponentialMechanism(scores, size, monotone=monotone),
            lambda: PermuteAndFlip(scores, size, monotone=monotone),
            lambda: TopK(scores, size, k=pick.choice([1, 2]), monotone=monotone),
            lambda: Quantile("a", "1/2", [1, 2, 3]).measurement(PureDP, 1, loss=PureDP(size)),
            lambda: Top("b", 2, ["x", "y"]).measurement(PureDP, 1, loss=PureDP(size)),
        ],
    }
    bounds = [lambda: SparseVector(10**6, size), lambda: FiltCon(PureDP(size))]
    return pick.choice(bounds if pick.random() < _BOUNDS else made[kind])()


def analysis(number: int) -> tuple[Any, Events]:
    """The root of a random analysis, and the events of its ledger."""
    pick = Random(number)
    roots = _roots(pick)
    root, kinds = roots[number % len(roots)]
    held = Queryable(root, DATA, coins=SeededCoins(number), allow_seeded=True)
    kinds = kinds if pick.random() < 1 / 2 else (pick.choice(kinds),)
    for _ in range(pick.randint(1, LAUNCHES)):
        mechanism = _mechanism(pick, pick.choice(kinds))
        for _ in range(pick.choice([1, 1, 3, 30])):
            try:
                held.launch(mechanism)
            except (QueryRefusedError, QueryError):
                break
    return root, held.ledger().to_events()
