"""Parameters that are wrong: the error, a part of its message, and what raises it."""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import (
    AtMostADay,
    Basic,
    ConComp,
    ExPost,
    FiltCon,
    FiltSeq,
    Individual,
    Menu,
    OdomCon,
    Parallel,
    Partition,
    Rogers2016,
    ViaRenyi,
    Whitehouse2023,
    accumulator_of,
    filter_of,
)
from composition.compositors.blocks.units import NO_UNITS, kept_rows
from composition.compositors.claims import claim_of, parsed
from composition.rules import Additive, ViaGDP, ViaZCDP
from composition.rules.optimal import optimal_delta
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Bit,
    Launch,
    LaunchOver,
    Loss,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
)
from queryable.streams.blocks import BlockLossQuery, BlocksQuery
from tests.strategies import Toy
from tests.wrong import EITHER, named, rows

WRONG = rows(
    # compositors/blocks/test_pacing
    (TypeError, "most", lambda: AtMostADay("1/10")),
    (TypeError, "rule", lambda: AtMostADay(PureDP(1), "x")),
    # compositors/blocks/test_units
    (QueryError, "no column 'who'", lambda: kept_rows({"n": [1]}, "who", NO_UNITS, 0, 1, 1)),
    # compositors/fixed/test_concurrent
    (TypeError, "not an interactive mechanism", ConComp, [[None], [Toy], [Toy(), "toy"], ["ab"]]),
    # compositors/fixed/test_parallel
    (
        TypeError,
        "Partition",
        lambda partition: Parallel(partition, {"a": Toy()}),
        [None, "k", ["a", "b"]],
    ),
    # compositors/fixed/test_partition
    (TypeError, "key", lambda key: Partition(key, ["a"]), [None, 3, ["k"]]),
    # compositors/individual/test_individual
    ((ValueError, TypeError), "rho", Individual, [0, -1, "x", None, float("nan"), True]),
    # compositors/test_adaptive
    (EITHER, "d_in", named(FiltCon, PureDP(1)), [{"d_in": each} for each in (0, True, -1, "1")]),
    (
        EITHER,
        "most|max",
        named(FiltSeq, PureDP(1)),
        [{"max_mechanisms": -1}, {"max_mechanisms": True}],
    ),
    (
        EITHER,
        "depth",
        named(FiltCon, PureDP(1)),
        [{"max_depth": each} for each in (-1, 151, float("nan"))],
    ),
    # compositors/test_claims
    (
        PrivacyClaimError,
        "below the privacy map",
        lambda d_out: claim_of(Launch(Toy(), d_out), PureDP, 1),
        [PureDP("0.0999999999999999"), PureDP(0)],
    ),
    (
        PrivacyClaimError,
        "d_out",
        lambda d_out: claim_of(Launch(Toy(), d_out), PureDP, 1),
        [0.1, "0.1", PureDP, (1,), ZCDP(1), ApproxDP(1, "1e-6"), GDP(1)],
    ),
    (
        QueryError,
        "^add noise to the statistic, as in release.* alone is exact",
        lambda: parsed(Launch(Statistic(len, l1=1, l2=1))),
    ),
    (QueryError, "^write RandomizedResponse.* alone is exact", lambda: parsed(Launch(Bit(bool)))),
    (QueryError, "expected a Launch", lambda: parsed(Toy())),
    (
        PrivacyClaimError,
        r"^use composition.budget\(.*FiltCon\(ZCDP\(\.\.\)\).*Toy has ZCDP",
        lambda: claim_of(Launch(Toy(ZCDP(1))), PureDP, 1),
    ),
    (
        QueryError,
        r"send \w+ to a Blocks",
        lambda query: Queryable(FiltCon(PureDP(1)), []).ask(query),
        [LaunchOver(Toy(), ["may"]), BlocksQuery(), BlockLossQuery("may")],
    ),
    # compositors/test_ex_post
    ((ValueError, TypeError), r"budget|PureDP", ExPost, [ZCDP(1), ApproxZCDP(1, "1e-6"), 1, None]),
    (ValueError, "slack is 1e-06.*part of the delta", lambda: ExPost(PureDP(1), slack="1e-6")),
    (
        ValueError,
        "slack is .*within the budget's delta",
        lambda slack: ExPost(ApproxDP(1, "1e-6"), slack=slack),
        ["2e-6", 1],
    ),
    (
        (ValueError, TypeError),
        "slack",
        lambda slack: ExPost(ApproxDP(1, "1e-6"), slack=slack),
        [-1, 2, "x", True, float("nan"), PureDP(1), [1]],
    ),
    (
        (ValueError, TypeError),
        "lines",
        lambda lines: ExPost(ApproxDP(1, "1e-6"), slack="1e-6", lines=lines),
        [0, 17, -1, "2", 1.5, True, None],
    ),
    # compositors/test_pool
    (
        ValueError,
        "slopes|slack|rho",
        named(attrs.evolve, ExPost(ApproxDP(1, "1e-6"), slack="1e-6").account()),
        [
            *({"slopes": each} for each in ((), [Fraction(1)], (Fraction(0),), (1,), None)),
            *({"slack": Fraction(each)} for each in ("2e-6", 0)),
            *({"rho": each} for each in (Fraction(-1), 1, None)),
        ],
    ),
    # compositors/test_filters
    (
        ValueError,
        "Whitehouse2023 takes ApproxDP",
        lambda: FiltCon(PureDP(1), rule=Whitehouse2023()),
    ),
    (TypeError, None, lambda: FiltCon(PureDP(1), rule=Basic)),
    (TypeError, None, FiltCon, [1, "1", None, PureDP, 0.5]),
    (ValueError, "on_exceed", lambda: FiltCon(PureDP(1), on_exceed="stop")),
    # compositors/test_odometers
    ((ValueError, TypeError), None, OdomCon, [RDP, None, "PureDP", PureDP(1), Loss]),
    # rules/menus/test_menu
    (ValueError, "empty", lambda: Menu("0.01", (), None)),
    (ValueError, "twice", lambda: Menu("0.01", (1, 1), None)),
    (ValueError, "twice", lambda: Menu("0.01", (1, "0.01"), None)),
    (ValueError, "multiple of the unit", lambda: Menu("0.01", ("0.015",), None)),
    (ValueError, "multiple of the unit", lambda: Menu("0.01", (0,), None)),
    (ValueError, "multiple of the unit", lambda: Menu("0.01", (-1,), None)),
    (ValueError, "boolean", lambda: Menu("0.01", (True,), None)),
    (ValueError, "1 costs for a menu of 2", lambda: Menu("0.01", (1, 2), (1,))),
    (ValueError, "at least 1", lambda: Menu("0.01", (1, 2), (0, 1))),
    (ValueError, "never fall", lambda: Menu("0.01", (1, 2), (2, 1))),
    (ValueError, "costs are for", lambda: Menu("0.01", (1, 2), {1: 1})),
    (ValueError, "boolean", lambda: Menu("0.01", (1, 2), (1, True))),
    (TypeError, "cost", lambda: Menu("0.01", [1], [1.5])),
    (ValueError, "unit", lambda unit: Menu(unit, [1]), [0, -1, "x", float("nan")]),
    # rules/test_all_rules
    (
        ValueError,
        r"delta|slack",
        lambda rule: rule.open(ApproxDP(1, 0)),
        [Whitehouse2023(), ViaZCDP(), ViaGDP(), Rogers2016()],
    ),
    # rules/test_duality
    (TypeError, "accumulator", filter_of, [Basic(), Additive, None, "sum"]),
    (ValueError, r"RDP\.at", lambda: accumulator_of(Basic(), RDP)),
    # rules/test_optimal
    (
        TypeError,
        "is no privacy loss",
        lambda losses: optimal_delta(losses, 1),
        [[0.1], ["0.1"], [PureDP], [(1, 0)]],
    ),
    # rules/test_renyi
    (ValueError, "sum to 9/10", lambda: ViaRenyi((2, 4), ("0.5", "0.4"))),
    (ValueError, "sum to 11/10", lambda: ViaRenyi((2, 4), ("0.5", "0.6"))),
    (ValueError, "1 weights for 2 orders", lambda: ViaRenyi((2, 4), (1,))),
    (ValueError, "negative", lambda: ViaRenyi((2, 4), (2, -1))),
    (ValueError, "sum to", lambda: ViaRenyi((2, 4), (0.1, 0.2))),
    (ValueError, "empty", lambda: ViaRenyi((), None)),
    (ValueError, "rise", lambda: ViaRenyi((4, 2), None)),
    (ValueError, "above 1", lambda: ViaRenyi((1, 2), None)),
    # rules/test_rogers
    (ValueError, "0 < delta < 1/e", lambda: Rogers2016().open(ApproxDP(1, 0))),
    (ValueError, "0 < delta < 1/e", lambda: Rogers2016().open(ApproxDP(1, "0.37"))),
    (ValueError, "epsilon is 0", lambda: Rogers2016().open(ApproxDP(0, "1e-6"))),
    (ValueError, "ApproxDP", lambda: Rogers2016().open(ZCDP(1))),
)


@pytest.mark.parametrize(("error", "words", "call"), WRONG)
def test_a_wrong_parameter_is_named(error: Any, words: Any, call: Any) -> None:
    with pytest.raises(error, match=words):
        call()
