"""An instance of each rule and of each odometer, and of a budget and a small loss of each measure.

The slack of a rule is less than the delta of `BUDGET`, so that children with a delta fit.
"""

from typing import Any

import composition as c
from composition import Rule, TimeUniform
from queryable import FDP, GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.losses import Dominated, RenyiCurve, RenyiOrder, RenyiOrders

BUDGET = ApproxDP(1, "1e-6")
BUDGETS: dict[Any, Loss] = {
    PureDP: PureDP(1),
    ApproxDP: ApproxDP(5, "1e-6"),
    ZCDP: ZCDP(1),
    ApproxZCDP: ApproxZCDP(1, "1e-6"),
    RenyiOrder: RDP(8, 1),
    RenyiOrders: RenyiCurve([2, 8], [1, 1]),
    GDP: GDP(1),
    Dominated: Dominated(1, 1, "1e-6"),
    FDP: FDP.of_approx(1),
}
"""A budget in each measure."""
SMALL: dict[Any, Loss] = {
    PureDP: PureDP("0.1"),
    ApproxDP: ApproxDP("0.1", "1e-9"),
    ZCDP: ZCDP("0.01"),
    ApproxZCDP: ApproxZCDP("0.01", "1e-9"),
    RenyiOrder: RDP(8, "0.1"),
    RenyiOrders: RenyiCurve([2, 8], ["0.1", "0.2"]),
    GDP: GDP("0.1"),
    Dominated: Dominated("0.1", "0.1", "1e-9"),
    FDP: FDP.of_approx("0.1"),
}
"""A loss in each measure that fits its budget several times."""

RULES: dict[type[Rule], dict[str, Any]] = {
    c.Basic: {},
    c.GDPResidue: {"slack": "5e-7"},
    c.Menu: {"unit": "1/10", "menu": [1, 2], "costs": None, "slack": "5e-7"},
    c.Rogers2016: {},
    c.Rogers2023: {"slack": "5e-7"},
    c.ViaGDP: {"slack": None},
    c.ViaRenyi: {"orders": [2, 8], "weights": ["1/3", "2/3"], "slack": None},
    c.ViaZCDP: {"slack": "5e-7"},
    c.Whitehouse2023: {"slack": "5e-7"},
}
"""The arguments of an instance of each rule; all of them, since tests make each of them hostile."""

_SHARES = {"deltas": "1e-7", "margin": "1/10"}
ODOMETERS: dict[type[TimeUniform], dict[str, Any]] = {
    c.LinearOdometer: {"delta": "1e-6", "target_epsilon": 1, **_SHARES},
    c.MixtureOdometer: {"delta": "1e-6", "gamma": 1, **_SHARES},
    c.OneSidedMixtureOdometer: {"delta": "1e-6", "gamma": 1, **_SHARES},
    c.RenyiOdometer: {"delta": "1e-6", "orders": [2, 8], "weights": ["1/2", "1/2"], **_SHARES},
    c.Rogers2016Odometer: {"delta": "1e-6", "n": 100, **_SHARES},
    c.RogersLemma64Odometer: {"delta": "1e-6", "x": 1, **_SHARES},
    c.StitchedOdometer: {"delta": "1e-6", "v0": 1, **_SHARES},
}
"""The same of the time-uniform odometers, for children in approximate zCDP."""


def rule_for(kind: Any, children: Any = ApproxZCDP) -> Any:
    """The instance of a rule or of an odometer, for children of a measure.

    For children without a delta, odometers have no shares of delta. For those of one Renyi order,
    rules have that order.
    """
    arguments = (RULES | ODOMETERS)[kind]
    if children is not ApproxZCDP:
        arguments = {name: arguments[name] for name in arguments.keys() - _SHARES.keys()}
    if children is RenyiOrder and "orders" in arguments:
        arguments |= {"orders": [8], "weights": None}
    return kind(**arguments)


def odometers() -> list[tuple[Any, Any]]:
    """A measure and an odometer of each class: over zCDP or Renyi orders, one with deltas."""
    made = [
        rule_for(kind, ApproxZCDP if kind is c.OneSidedMixtureOdometer else ZCDP)
        for kind in ODOMETERS
    ]
    return [(each.measure, each) for each in made]
