import json
from fractions import Fraction
from itertools import pairwise
from math import inf

import pytest

from composition import FiltCon, OdomCon, OneSidedMixtureOdometer
from queryable import RDP, ZCDP, MechanismFault, PureDP, Queryable, QueryRefusedError
from queryable.display.ledger import LedgerRows
from queryable.display.spreadsheet import float_up
from tests.strategies import Faulty, Toy, raising


def session() -> Queryable:
    """A charge, a failure, a nested charge, a refusal."""
    q = Queryable(FiltCon(ZCDP("1/3")), None)
    q.launch(Toy(), name="first")
    with pytest.raises(MechanismFault):
        q.launch(Faulty(raising(ValueError()), at_launch=True))
    q.launch(FiltCon(ZCDP("1/10"))).launch(Toy())
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(PureDP(10)))
    return q


LEDGER = session().ledger()


def test_rows_state_every_launch() -> None:
    assert [row.sequence for row in LEDGER] == [0, 1, 2, 3, 4]
    assert [row.path for row in LEDGER] == [(), (), (), (2,), ()]
    assert [row.name for row in LEDGER] == ["first", None, None, None, None]
    assert [row.outcome for row in LEDGER] == ["charged", "failed", "charged", "charged", "refused"]
    assert LEDGER[4].loss == PureDP(10).to(ZCDP)
    assert LEDGER[4].total == LEDGER[2].total
    assert LEDGER[0].claim == PureDP("1/10")


def test_a_ledger_is_an_immutable_sequence() -> None:
    assert len(LEDGER[1:3]) == 2
    assert isinstance(LEDGER[1:3], LedgerRows)
    assert session().ledger() == LEDGER
    assert LEDGER[1:] != LEDGER
    with pytest.raises(TypeError):
        LEDGER[0] = LEDGER[1]  # type: ignore[index]
    assert repr(LEDGER) == "<Ledger: 3 charged, 1 refused, 1 failed>"
    assert "first" in str(LEDGER)
    assert str(LedgerRows([])).startswith("#")


def test_json_has_exact_numbers() -> None:
    rows = json.loads(LEDGER.to_json(indent=1))
    assert rows[2]["loss"] == {"measure": "ZCDP", "rho": "1/10"}
    total = Fraction(rows[4]["total"]["rho"])
    assert total == LEDGER[4].total.rho
    assert rows[3]["path"] == [2]
    for row in rows:
        for name in ("claim", "loss", "total"):
            assert not any(isinstance(each, float) for each in row[name].values())


@pytest.mark.parametrize(
    "odometer", [OdomCon(RDP.at(2, 4)), OdomCon(ZCDP, OneSidedMixtureOdometer("1e-6", 1))], ids=str
)
def test_json_of_other_measures(odometer: OdomCon) -> None:
    q = Queryable(odometer, None)
    q.launch(Toy())
    (row,) = json.loads(q.ledger().to_json())
    assert row["claim"] == {"measure": "PureDP", "epsilon": "1/10"}
    assert row["total"]["measure"] in ("RenyiCurve", "TimeUniformBound")


@pytest.mark.parametrize("as_frame", ["to_pandas", "to_polars", "to_arrow"])
@pytest.mark.parametrize("ledger", [LEDGER, LedgerRows([])], ids=["some", "none"])
def test_frames(as_frame: str, ledger: LedgerRows) -> None:
    frame = getattr(ledger, as_frame)()
    assert len(frame) == len(ledger)
    names = list(getattr(frame, "columns", [])) if as_frame != "to_arrow" else frame.column_names
    assert names[:5] == ["sequence", "path", "name", "mechanism", "outcome"]
    if len(ledger):
        values = list(
            frame["total_rho"].to_pylist() if as_frame == "to_arrow" else frame["total_rho"]
        )
        assert all(a <= b for a, b in pairwise(values[:3]))
        assert Fraction(values[0]) >= ledger[0].total.rho


def test_floats_are_rounded_up() -> None:
    third = Fraction(1, 3)
    assert Fraction(float_up(third)) >= third
    assert float_up(Fraction(1, 2)) == 0.5
    assert float_up(Fraction(10) ** 400) == inf
