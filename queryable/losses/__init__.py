"""Privacy losses: exact numbers, the measures, their conversions, and reports of realised loss.

A privacy loss is a bound on how much the output of an analysis can depend on one record. Smaller
is better, and zero means that the output does not depend on the data. The measures differ in the
kind of bound, and each has its parameters:

- **epsilon** (`PureDP`, `ApproxDP`, `RDP`): adding or removing one record changes the probability
  of every output by a factor of at most e^epsilon. At epsilon = 0.1 the factor is about 1.11; at
  epsilon = 1 it is about 2.72. Epsilon is a natural logarithm, so its unit is the *nat* (one bit is
  ln 2, about 0.69 nats). In `RDP` epsilon bounds a Renyi divergence, a mean over outputs, instead.
- **delta** (`ApproxDP`, `ApproxZCDP`): a small probability that is added to the bound. The
  probability of any set of outputs changes by a factor of at most e^epsilon, plus delta. Choose it
  far below one over the number of records, such as 1e-6 or less.
- **rho** (`ZCDP`, `ApproxZCDP`): zero-concentrated privacy. It suits Gaussian noise: a sum of
  sensitivity 1 with Gaussian noise of standard deviation sigma has rho = 1/(2 sigma^2). Every
  epsilon-DP mechanism has rho at most epsilon^2/2.
- **mu** (`GDP`): deciding from the output whether a record is in the data is no easier than
  deciding whether one draw comes from N(0, 1) or from N(mu, 1). rho = mu^2/2 then holds too.
- **alpha** (`RDP`): the order of the Renyi divergence. `RDP.at(8)` is the measure at order 8, and
  `RDP.at(2, 8, 32)` states a `RenyiCurve`, one epsilon for each order.

`FDP` states the whole trade-off between the two errors of that decision, and `Dominated` a pure, a
Gaussian and a delta part at once.

When several mechanisms run on the same data, epsilon, delta and rho add up, and mu adds up as its
square. `loss.to(measure, delta=...)` converts, if a theorem allows it. `str` rounds long numbers,
marked with `≈`; `repr` and the fields are exact:

    >>> from queryable.losses import ApproxDP, PureDP, ZCDP
    >>> print(PureDP("0.1").to(ZCDP))
    ZCDP(rho≈0.005)
    >>> print(ZCDP("0.01").to(ApproxDP, delta="1e-6"))
    ApproxDP(epsilon≈0.622, delta=1e-06)
"""

from queryable.losses.dominated import Dominated
from queryable.losses.loss import (
    AdditiveLoss,
    Loss,
    Measure,
    ParametricMeasure,
    Parts,
    add_parts,
    as_measure,
    group_size,
    measure_name,
)
from queryable.losses.measures import GDP, ZCDP, ApproxDP, ApproxZCDP, PureDP, total, zero_of
from queryable.losses.renyi import RDP, RenyiCurve, RenyiOrder, RenyiOrders
from queryable.losses.reports import ExPostBound, Report, TimeUniformBound
from queryable.losses.tradeoff import FDP

__all__ = [
    "FDP",
    "GDP",
    "RDP",
    "ZCDP",
    "AdditiveLoss",
    "ApproxDP",
    "ApproxZCDP",
    "Dominated",
    "ExPostBound",
    "Loss",
    "Measure",
    "ParametricMeasure",
    "Parts",
    "PureDP",
    "RenyiCurve",
    "RenyiOrder",
    "RenyiOrders",
    "Report",
    "TimeUniformBound",
    "add_parts",
    "as_measure",
    "group_size",
    "measure_name",
    "total",
    "zero_of",
]
