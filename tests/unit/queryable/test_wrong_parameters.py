"""Parameters that are wrong: the error, a part of its message, and what raises it."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms import Count
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Bit,
    Loss,
    MechanismFault,
    Postprocessed,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
    explain,
)
from queryable.audit import Renyi
from queryable.data.cells import cells
from queryable.data.rows import rows_of
from queryable.losses import RenyiCurve, as_measure
from queryable.losses.numbers import exact, natural, round_up
from queryable.randomness.laws import Bernoulli, UniformBelow
from queryable.streams.levels import BlockLevel, UserLevel
from tests.strategies import Courier, Toy
from tests.wrong import rows

WRONG = rows(
    # audit/test_objectives
    (ValueError, "alpha", Renyi, [1, 0, -2, "1/2", float("nan"), True]),
    # data/test_cells
    (ValueError, "one cell", lambda: cells({"a": np.zeros((3, 2))}, "a")),
    # data/test_rows
    (ValueError, "length", lambda: list(rows_of({"a": [1, 2], "b": [1]}))),
    # display/test_explanation
    (TypeError, "InteractiveMechanism", lambda: explain(Count())),
    # losses/test_loss
    (TypeError, None, lambda: PureDP(1) <= 2),
    (TypeError, None, lambda: PureDP(1) + 1),
    (ValueError, "no group bound", lambda loss: loss.group(2), [RDP(8, 1), ApproxZCDP(1, "1e-6")]),
    (ValueError, "no delta", lambda: PureDP(1).to(ZCDP, "1e-6")),
    (ValueError, "no delta", lambda: PureDP(1).to(PureDP, "1e-6")),
    (ValueError, "no delta", lambda: GDP(1).to(ZCDP, "1e-6")),
    (TypeError, "not a measure", as_measure, [None, "ZCDP", Loss, PureDP(1), int]),
    # losses/test_measures
    (ValueError, "probability", lambda: ApproxDP(1, "1.1")),
    # losses/test_numbers
    (
        ValueError,
        "epsilon",
        lambda written: exact(written, "epsilon"),
        [
            float("nan"),
            float("inf"),
            -float("inf"),
            np.float64("nan"),
            -1,
            -0.1,
            "-0.1",
            Fraction(-1, 3),
            Decimal("-1"),
            Decimal("NaN"),
            Decimal("sNaN"),
            Decimal("Infinity"),
            True,
            False,
            np.True_,
            "",
            " ",
            "nan",
            "inf",
            "1/0",
            "1/-2",
            "0x10",
            "1_000",
            "one",
            "1e401",
            "1e-401",
            "1e999999999",
            10**401,
            "9" * 500,
            "0." + "0" * 500 + "1",
            "1" * 5000,
            "\u0661",
        ],
    ),
    (
        ValueError,
        r"rho is .*; it should be .*1/20",
        lambda written: exact(written, "rho"),
        [float("nan"), -1, True, "", "1/0"],
    ),
    (
        TypeError,
        "epsilon",
        lambda written: exact(written, "epsilon"),
        [None, b"1", 1j, [1], np.array([1, 2]), object()],
    ),
    (
        ValueError,
        "integer",
        lambda value: natural(value, "d_in"),
        [True, np.False_, -1, np.int64(-5)],
    ),
    (TypeError, "integer", lambda value: natural(value, "d_in"), [1.0, "1", None, Fraction(1)]),
    (
        ArithmeticError,
        None,
        lambda formula: round_up(formula, Fraction(10**30)),
        [lambda x: x.exp(), lambda x: 1 / (x - x)],
    ),
    # losses/test_renyi
    (ValueError, r"RDP\.at\(8\)", lambda: as_measure(RDP)),
    (ValueError, "above 1", lambda: RDP.at(1)),
    (
        ValueError,
        r"family of measures.*RDP\.at\(",
        lambda family: PureDP(1).to(family),
        [RDP, RenyiCurve],
    ),
    # losses/test_tradeoff
    (
        ValueError,
        r"no theorem converts .* to FDP",
        lambda loss: loss.to(FDP),
        [ZCDP(1), RDP(8, 1), ApproxZCDP(1, "1e-6")],
    ),
    (ValueError, None, lambda: FDP([(0, 1), (1, float("nan"))])),
    (ValueError, None, lambda: FDP([(0, True), (1, 0)])),
    (ValueError, None, lambda: FDP([(0, 1), (-1, 0)])),
    (TypeError, "pairs", lambda: FDP([(0, 1, 2), (1, 0)])),
    (ValueError, None, lambda: FDP([(0, "1/2"), ("1/4", "1/2"), (1, 0)])),
    (TypeError, None, lambda: FDP([(0, 1), (1, None)])),
    (TypeError, None, lambda: FDP([0, 1])),
    (TypeError, None, lambda: FDP(3)),
    # losses/test_within
    (ValueError, "give a delta above 0, such as ApproxDP", lambda: ZCDP.within(ApproxDP(1, 0))),
    (ValueError, "no theorem converts ZCDP", lambda: ZCDP.within(GDP(1))),
    (TypeError, "should be a loss", ZCDP.within, [1, None, ApproxDP, "ApproxDP(1, 0)"]),
    # randomness/test_coins
    (TypeError, None, SeededCoins, [0.5, "1", None]),
    # randomness/test_laws
    ((ValueError, TypeError), "bound", UniformBelow, [0, -1, True, "3", 2.0]),
    (ValueError, "probability", Bernoulli, [2, -1, float("nan"), True]),
    # streams/levels
    (TypeError, "name of the column", lambda name: UserLevel(name, 1), ["", None, 3]),
    (TypeError, "name of the column", lambda name: BlockLevel(name, 1), ["", None, 3]),
    # test_handle
    (
        TypeError,
        "InteractiveMechanism",
        lambda mechanism: Queryable(mechanism, None),
        [Toy, None, "toy", len],
    ),
    # test_mechanism
    (ValueError, "d_in", lambda d_in: Toy().privacy_map(d_in), [True, -1]),
    # test_postprocessing
    (
        TypeError,
        None,
        lambda arguments: Postprocessed(*arguments),
        [(Toy, Courier()), (Toy(), Courier), (Courier(), Toy()), (None, Courier())],
    ),
    (
        (ValueError, TypeError),
        "max_rounds",
        lambda rounds: Postprocessed(Toy(), Courier(), max_rounds=rounds),
        [0, -1, 1.5],
    ),
    # test_statistics
    (TypeError, None, lambda function: Statistic(function, l1=1, l2=1), [None, 3, "len"]),
    (TypeError, None, Bit, [None, 3, "len"]),
    (
        MechanismFault,
        None,
        lambda value: Bit(lambda dataset: value)(None),
        [1, 0, None, "yes", np.array([True])],
    ),
)


@pytest.mark.parametrize(("error", "words", "call"), WRONG)
def test_a_wrong_parameter_is_named(error: Any, words: Any, call: Any) -> None:
    with pytest.raises(error, match=words):
        call()
