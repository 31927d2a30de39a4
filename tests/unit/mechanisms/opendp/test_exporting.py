"""`to_opendp` over a stand-in: what a map states, what is refused, and in which order data come."""

from fractions import Fraction
from math import inf, nan, nextafter
from typing import Any

import pytest

from composition import FiltCon, OdomCon
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse, SparseVector, TreeCounter
from mechanisms.opendp import to_opendp
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Bit,
    MechanismFault,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    QueryError,
    QueryRefusedError,
    Statistic,
    UnprovenCompositionError,
    UserLevel,
    column,
)
from queryable.losses import FDP, GDP, RDP
from queryable.mechanism import Measurement
from tests.strategies import Toy, raising
from tests.unit.mechanisms.opendp import stand_in as odp
from tests.unit.mechanisms.opendp.stand_in import in_place_of_opendp

__all__ = ["in_place_of_opendp"]

SIZE = Statistic(len, l1=1, l2=1)
DOMAIN = odp.Vectors()
SPACE = DOMAIN, odp.SYMMETRIC


class Seen(Measurement[Any]):
    """Answers the data; for tests of their form, where nothing is private."""

    def __init__(self, claim: Any = PureDP(1), most: int = 10**9) -> None:  # noqa: B008
        self.claim, self.most = claim, most

    def loss(self, d_in: int) -> Any:
        if d_in > self.most:
            raise ValueError("no map there")
        return self.claim

    def release(self, dataset: Any, coins: Any) -> Any:
        return dataset
