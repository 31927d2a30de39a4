"""Arguments of valid calls of `queryable`, and of what users construct of single modules."""

from fractions import Fraction
from typing import Any

from composition import FiltCon
from mechanisms import Gaussian, Quantiles, Top
from mechanisms.sampling.laws import DiscreteGaussian
from queryable import Launch, PureDP
from queryable.display.ledger import LedgerRow
from tests.instances.functions import NUMBER, REFUSAL, RESPONSE, SIZE, nothing
from tests.strategies import Courier, Toy

ROW = {
    "sequence": 0,
    "path": (0,),
    "name": None,
    "mechanism": "Toy",
    "asked": "Toy",
    "claim": PureDP(1),
    "loss": PureDP(1),
    "total": PureDP(1),
    "outcome": "launched",
}

QUERYABLE: dict[str, dict[str, Any]] = {
    "FDP": {"knots": [(0, 1), (1, 0)], "rounding": 0},
    "GDP": {"mu": 1},
    "RDP": {"alpha": 2, "epsilon": 1},
    "ZCDP": {"rho": 1},
    "ApproxDP": {"epsilon": 1, "delta": "1e-6"},
    "ApproxZCDP": {"rho": 1, "delta": "1e-6"},
    "Ask": {"child": 0, "query": None},
    "AskMany": {"queries": ["bits"]},
    "Bernoulli": {"probability": NUMBER},
    "Bit": {"function": bool},
    "BlockLevel": {"column": "patient", "max_blocks": 2},
    "BlockLossQuery": {"block": "monday"},
    "BlockStated": {"block": "monday", "closed": True, "spent": PureDP(0), "remaining": PureDP(1)},
    "BlocksQuery": {},
    "CanAfford": {"launch": Launch(Toy())},
    "CloseBlock": {"block": "monday"},
    "DataLevel": {},
    "Dominated": {"epsilon": 1, "mu": 1, "delta": 0},
    "EventLevel": {},
    "ExPostBound": {"epsilon": 1, "delta": 0},
    "Failed": {},
    "FromAnalyst": {"query": None},
    "FromMechanism": {"answer": None},
    "Growth": {"from_any_history": True},
    "Halted": {"reason": ""},
    "Last": {"count": 1},
    "Launch": {"mechanism": Toy()},
    "LaunchMany": {"launches": [Launch(Toy())]},
    "LaunchOver": {"mechanism": Toy(), "blocks": ["monday"]},
    "Launched": {"child": 0, "answer": None},
    "MechanismFault": {},
    "AccuracyWarning": {},
    "MisreadWarning": {},
    "PrivacyWarning": {},
    "Postprocessed": {"mechanism": Toy(), "person": Courier(), "max_rounds": 9},
    "PrivacyLossQuery": {"d_in": 1},
    "PureDP": {"epsilon": 1},
    "QueryRefusedError": REFUSAL,
    "Queryable": {"mechanism": Toy(), "dataset": None, "allow_seeded": True},
    "Refused": REFUSAL,
    "SeededCoins": {"seed": 1},
    "Statistic": {"function": len, "l1": 1, "l2": 1, "shape": 2, "monotone": "up"},
    "SystemCoins": {},
    "ToAnalyst": {"answer": None},
    "ToMechanism": {"query": None},
    "Update": {"records": [1], "block": "monday"},
    "UserLevel": {"column": "patient", "max_records": 4},
    "View": {},
    "accuracy": {"mechanism": Gaussian(SIZE, scale=3), "confidence": "0.9"},
    "explain": {"mechanism": Toy()},
    "interact": {"mechanism": RESPONSE, "dataset": True, "adversary": nothing, "max_rounds": 2},
    "rehearse": {"mechanism": RESPONSE, "sample": True},
    "scale_for": {"kind": Gaussian, "statistic": SIZE, "within": 10, "confidence": "0.9"},
    "touching_data": {"run": lambda: None},
    "truncated_view": {
        "mechanism": FiltCon(PureDP(1)),
        "dataset": True,
        "adversary": nothing,
        "threshold": PureDP(1),
        "max_rounds": 2,
    },
}

OF_MODULES: dict[str, dict[str, dict[str, Any]]] = {
    "queryable.view": {"Exchange": {"path": (), "query": None, "answer": None}},
    "queryable.ex_post": {"Opening": {}},
    "queryable.randomness.laws": {"UniformBelow": {"bound": 9}},
    "mechanisms.tables.statistics.top": {
        "PrivateTop": {"top": Top("b", 1, ["x", "y"]), "epsilon": 1}
    },
    "mechanisms.tables.quantiles.choices": {
        "PrivateQuantiles": {
            "counts": Quantiles("a", "1/2", [1, 2]),
            "epsilon": 1,
            "confidence": "0.9",
        }
    },
    "queryable.wording.guarantees": {"Guarantee": {}},
    "queryable.display.ledger": {"LedgerRows": {"rows": [LedgerRow(**ROW)]}, "LedgerRow": ROW},
    "queryable.answers.noisy": {
        "Noise": {"law": DiscreteGaussian(1), "shape": (2,)},
        "NoisyInt": {"value": 3, "noise": DiscreteGaussian(1)},
    },
    "queryable.rehearsal": {
        "Rehearsal": {
            "mechanism": "",
            "claim": None,
            "values": {},
            "opening": None,
            "answers": (),
            "within": None,
        }
    },
    "queryable.losses": {
        "RenyiCurve": {"orders": [2, 4], "epsilons": [1, 1]},
        "TimeUniformBound": {"epsilon": 1, "delta": 0},
        "RenyiOrder": {"alpha": Fraction(2)},
        "as_measure": {"value": PureDP},
        "zero_of": {"measure": PureDP},
        "total": {"losses": [PureDP(1)], "measure": PureDP},
    },
}
