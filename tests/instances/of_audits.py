"""Arguments of valid calls of `queryable.audit`."""

from fractions import Fraction
from typing import Any

import queryable.audit
from composition import FiltCon
from queryable import PureDP, Queryable, Update
from queryable.audit import view_law
from queryable.audit.views.strategies import StrategyNode
from tests.instances.functions import RESPONSE, nothing


def law(bit: bool) -> Any:
    """The law of randomized response."""
    return view_law(RESPONSE, bit, nothing)


AUDITS: dict[str, dict[str, Any]] = {
    "Broken": {"law": "", "how": ""},
    "EnumeratedCoins": {"script": []},
    "HockeyStick": {"epsilon": 1},
    "MaxDivergence": {},
    "NeighbourReport": {
        **dict.fromkeys(("neighbours", "messages", "steps", "leaves", "readings", "renewed"), 1),
        "worst": (),
        "broken": (),
        "unchecked": {},
    },
    "Pair": {"under_x": Update([1]), "under_x_prime": Update([])},
    "Renyi": {"alpha": 2},
    "Strategy": {"root": StrategyNode()},
    "SeenError": {"text": ""},
    "audit": {
        "mechanism": RESPONSE,
        "pairs": [(True, False)],
        "samples": 100,
        "confidence": "0.9",
        "limit": 1000,
    },
    "audit_histories": {
        "mechanism": FiltCon(PureDP(1)),
        "dataset": [],
        "queries": (queryable.audit.Pair(Update([1]), Update([])),),
        "history": 0,
        "horizon": 1,
        "limit": 100,
    },
    "broken_laws": {"mechanism": RESPONSE, "dataset": True, "wrong": (None,)},
    "every_outcome": {"run": lambda coins: 1, "limit": 100},
    "hashable": {"value": None},
    "hockey_stick": {"p": law(True), "q": law(False), "epsilon": 1},
    "keep_batches": {"queryable": Queryable(FiltCon(PureDP(1)), [1])},
    "least_epsilon": {"p": law(True), "q": law(False), "delta": Fraction(1, 10)},
    "max_divergence": {"p": law(True), "q": law(False)},
    "on_neighbours": {
        "queryable": Queryable(FiltCon(PureDP(1)), [1]),
        "neighbours": 2,
        "d_in": 1,
        "seed": 0,
    },
    "privacy_profile": {"p": law(True), "q": law(False), "epsilons": [1]},
    "push_forward": {"law": law(True), "function": repr},
    "renyi_divergence": {"p": law(True), "q": law(False), "alpha": 2},
    "trade_off": {"p": law(True), "q": law(False)},
    "view_law": {
        "mechanism": RESPONSE,
        "dataset": True,
        "adversary": nothing,
        "max_rounds": 2,
        "limit": 100,
    },
    "worst_case": {
        "mechanism": RESPONSE,
        "x": True,
        "x_prime": False,
        "queries": (),
        "horizon": 0,
        "divergence": queryable.audit.HockeyStick(1),
        "limit": 100,
    },
    "zcdp": {"p": law(True), "q": law(False)},
}
