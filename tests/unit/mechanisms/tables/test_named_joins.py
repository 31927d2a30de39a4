"""Names of joins: what fits, how they go over the wire, and hostile descriptions of them."""

from typing import Any

import pytest

from curator.wire.errors import WireError
from curator.wire.outlines import about_of, outline_of
from mechanisms import Table
from mechanisms.tables.in_sql.planning import planned
from mechanisms.tables.in_sql.refusals import SqlError
from mechanisms.tables.named_joins import MOST_JOINS, NamedJoin, in_text, require_joins
from mechanisms.tables.outline import Outline

_ROWS = {"k": [1, 2], "x": [3, 4]}
_CLINICS = {"id": [1, 2], "region": ["N", "S"]}
_REGIONS = {"region": ["N"], "w": [2]}


def table() -> Table:
    clinics = Table(_CLINICS, declared={"region": {"keys": ["N", "S"]}})
    return (
        Table(_ROWS, declared={"x": {"lower": 0, "upper": 9}})
        .join(public=clinics, on={"k": "id"}, columns={"id": "c", "region": "region"}, name="c")
        .join(public=_REGIONS, on="region", columns=["w"], how="inner", name="regions")
    )


def test_a_table_says_how_its_rows_were_joined() -> None:
    joined = table()
    assert joined.joins == (
        NamedJoin("c", {"k": "id"}, {"id": "c", "region": "region"}),
        NamedJoin("regions", {"region": "region"}, {"w": "w"}, inner=True),
    )
    assert list(joined.declared) == ["x", "region"]
    assert joined.outline.joins == joined.joins
    assert [in_text(each, joined.joins, "v") for each in joined.joins] == [
        "LEFT JOIN c ON v.k = c.id",
        "JOIN regions ON c.region = regions.region",
    ]


def test_joins_go_over_the_wire() -> None:
    joined = table()
    about = about_of(joined.columns, joined.unit, joined.declared, joined.joins)
    assert outline_of(about) == joined.outline


def _changed(about: dict[str, Any], place: int, **how: Any) -> dict[str, Any]:
    joins = [dict(each) for each in about["joins"]]
    joins[place] |= how
    return about | {"joins": joins}


def test_hostile_descriptions_of_joins_are_refused() -> None:
    joined = table()
    good = about_of(joined.columns, joined.unit, joined.declared, joined.joins)
    first, second = good["joins"]
    for wrong in (
        good | {"joins": 3},
        good | {"joins": "c"},
        good | {"joins": ["c"]},
        good | {"joins": [{"name": "c"}]},
        good | {"joins": [second, first]},
        good | {"joins": [first, first]},
        good | {"joins": [first, second] * MOST_JOINS},
        _changed(good, 0, name=3),
        _changed(good, 0, name=""),
        _changed(good, 0, name="c" * 1000),
        _changed(good, 0, more=1),
        _changed(good, 0, on=[]),
        _changed(good, 0, on="ki"),
        _changed(good, 0, on=[["k"]]),
        _changed(good, 0, on=[["k", None]]),
        _changed(good, 0, on=[["k", "id"], ["k", "region"]]),
        _changed(good, 0, on=[["nope", "id"]]),
        _changed(good, 0, on=[["w", "id"]]),
        _changed(good, 0, columns=[["id", "nope"]]),
        _changed(good, 0, columns=[["id", "c"], ["region", "c"]]),
        _changed(good, 0, columns=[["id", "w"]]),
        _changed(good, 0, columns=[["id", ["c"]]]),
        _changed(good, 0, inner=1),
        _changed(good, 0, several="no"),
        _changed(good, 0, implied=["k"]),
        _changed(good, 0, implied=["x"]),
        _changed(good, 0, implied="k"),
        _changed(good, 1, on=[["w", "region"]]),
    ):
        with pytest.raises(WireError, match="by hand"):
            outline_of(wrong)


def test_an_outline_checks_its_joins() -> None:
    joined = table()
    require_joins(joined.joins, joined.columns)
    with pytest.raises(ValueError, match="should be columns of the table"):
        Outline({}, joins=joined.joins[:1])
    with pytest.raises(ValueError, match="not there yet"):
        Outline(joined.columns, joins=joined.joins[::-1])


def test_names_of_a_hostile_description_move_no_cursor() -> None:
    joined = table()
    good = about_of(joined.columns, joined.unit, joined.declared, joined.joins)
    evil = outline_of(_changed(good, 0, name="\x1b[2J\n" + "c" * 90, on=[["k", "\x1b[1A" * 30]]))
    pytest.importorskip("sqlglot")
    for text in ("SELECT COUNT(*) FROM v JOIN other ON v.k = other.id", "SELECT COUNT(*) FROM v"):
        with pytest.raises(SqlError) as told:
            planned(text, evil)
        assert str(told.value).isprintable()
        assert len(str(told.value)) <= 2000
