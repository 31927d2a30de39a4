"""Arguments of valid calls of `composition`; those of its rules are in `rules`."""

from typing import Any

from composition import Basic, FiltCon, Menu, Partition, ViaZCDP
from composition.rules import Additive
from mechanisms import Count, Frugal, Gaussian
from queryable import ApproxDP, PureDP, Queryable, SeededCoins
from tests.instances.functions import DATA, NUMBER
from tests.instances.rules import BUDGET, ODOMETERS, RULES
from tests.strategies import Toy

FILTER = {"budget": PureDP(1), "d_in": 1, "max_mechanisms": 3, "max_depth": 9}
RULED = {**FILTER, "rule": Basic(), "on_exceed": "refuse"}
ODOMETER = {"measure": PureDP, "rule": Additive(PureDP), "d_in": 1, "max_mechanisms": 3}
COUNTS = [Toy(PureDP(1))]


def tree() -> Queryable:
    """A small live analysis."""
    q = Queryable(FiltCon(PureDP(9)), DATA, coins=SeededCoins(1), allow_seeded=True)
    q.launch(Toy(), name="toy")
    return q


COMPOSITION: dict[str, dict[str, Any]] = {
    **{kind.__name__: arguments for kind, arguments in (RULES | ODOMETERS).items()},
    "AtMostADay": {"most": PureDP(1), "rule": Basic()},
    "Blocks": {"filter": FiltCon(PureDP(1)), "unit": "who", "unit_blocks": 2, "unit_rows": 3},
    "Candidate": {"rule": Basic(), "admitted": 1, "times": 1},
    "ConComp": {"mechanisms": COUNTS, "max_depth": 9},
    "ExPost": {**FILTER, "budget": ApproxDP(1, "1e-6"), "slack": "1e-7", "lines": 2},
    "Filt": RULED,
    "FiltCon": RULED,
    "FiltSeq": RULED,
    "Fitted": {"rule": Menu("1/10", [1]), "times": NUMBER, "singly": {}},
    "Individual": {"rho": 1},
    "Odom": {**ODOMETER, "max_depth": 9},
    "OdomCon": {**ODOMETER, "max_depth": 9},
    "OdomSeq": {**ODOMETER, "max_depth": 9},
    "Parallel": {
        "partition": Partition("b", ["x", "y"]),
        "mechanisms": {"x": Toy()},
        "max_depth": 9,
    },
    "Partition": {"key": "b", "names": ["x", "y"]},
    "Recommendation": {"planned": 1, "candidates": ()},
    "Universal": {"budget": PureDP(1)},
    "accumulator_of": {"rule": ViaZCDP(), "measure": ApproxDP, "delta": "1e-6"},
    "admitted": {"budget": BUDGET, "rule": Basic(), "loss": PureDP("1/10")},
    "budget": {"epsilon": 1, "delta": "1e-6", "launch_share": "1/5", "max_mechanisms": 3},
    "filter_of": {"accumulator": Additive(PureDP)},
    "fitted": {"budget": BUDGET, "unit": "1/10", "mix": {1: 3}},
    "optimal_delta": {"losses": [PureDP(1)], "epsilon": NUMBER},
    "optimal_epsilon": {"losses": [PureDP(1)], "delta": "1e-6"},
    "recommend": {
        "budget": BUDGET,
        "losses": [Gaussian(Count(), rho="1/100")] * 3,
        "instead": Frugal(),
    },
}

PLOTS: dict[str, dict[str, Any]] = {
    "spending": {"queryable": tree()},
    "rules": {"queryable": BUDGET, "losses": [PureDP("1/10")]},
    "guarantee": {"queryable": BUDGET},
}
"""Of `composition.advice.plot`."""
