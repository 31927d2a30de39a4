"""Random queries over joins: the tables, what the owner joins, and texts that write the joins."""

from random import Random
from typing import Any

import pyarrow as pa

from mechanisms import Table
from tests.unit.mechanisms.tables.in_sql.random_queries import (
    DECLARED,
    PEOPLE,
    ROWS,
    Queries,
    connection,
    rows,
)

VISITS = rows(3)
CLINICS = pa.table(
    {
        "id": pa.array([0, 1, 2, 4, 9, None], pa.int16()),
        "name": ["a", "b", None, "a", "b", "a"],
        "z": [3, 8, 1, None, 5, 2],
        "region": ["N", "S", "S", None, "N", "Q"],
    }
)
REGIONS = pa.table({"region": ["N", "Q", "W"], "w": [4.5, -2.25, 1.0]})
TAGS = pa.table(
    {"clinic": pa.array([0, 0, 1, 3, 3, 3, None]), "tag": ["x", "y", "x", "y"] + ["x"] * 3}
)
_random = Random(5)
BILLS = pa.table(
    {
        "p": [_random.randrange(PEOPLE + 10) for _ in range(300)],
        "of": pa.array([_random.choice([0, 1, 2, 3, None]) for _ in range(300)], pa.int64()),
        "sum": [_random.randrange(20) for _ in range(300)],
    }
)
NAMES = {"keys": ["a", "b"]}
_CLINICS = {
    "name": NAMES,
    "z": {"lower": 0, "upper": 9},
    "id": {"lower": 0, "upper": 9},
    "region": {"keys": ["N", "S"]},
}


def database() -> Any:
    """DuckDB with the separate tables."""
    made = connection(VISITS)
    for name, each in (
        ("clinics", CLINICS),
        ("regions", REGIONS),
        ("tags", TAGS),
        ("bills", BILLS),
    ):
        made.register(name, each)
    return made


def public(**unit: Any) -> Table:
    """Visits with clinics by two keys, and regions of the first: left joins, no row changes."""
    clinics = Table(CLINICS, declared=_CLINICS)
    regions = Table(REGIONS, declared={"w": {"lower": -5, "upper": 5}})
    first = {"id": "c_id", "name": "c_name", "z": "c_z", "region": "c_region"}
    second = {"id": "e_id", "name": "e_name", "z": "e_z"}
    return (
        Table(VISITS, declared=DECLARED, **unit)
        .join(public=clinics, on={"k": "id"}, columns=first, name="clinics")
        .join(public=clinics, on={"i": "id"}, columns=second, name="clinics")
        .join(
            public=regions,
            on={"c_region": "region"},
            columns={"region": "r_region", "w": "w"},
            name="regions",
        )
    )


def several(**unit: Any) -> Table:
    """The same with tags, several of a clinic; rows without one fall out."""
    most = {"max_rows": 2 * ROWS} if unit else {}
    joined = public(**unit)
    return joined.join(
        public=TAGS, on={"k": "clinic"}, how="inner", max_matches=5, name="tags", **most
    )


def private() -> Table:
    """Visits of persons with their bills, some without."""
    visits = Table(VISITS, declared=DECLARED, privacy_unit="p", max_rows=ROWS)
    bills = Table(
        BILLS, privacy_unit="p", max_rows=300, declared={"sum": {"lower": 0, "upper": 20}}
    )
    on = {"p": "p", "k": "of"}
    return visits.join(bills, on=on, columns={"p": "b_p", "of": "of", "sum": "sum"}, name="bills")


class JoinQueries(Queries):
    """Draws queries with joins."""

    sources: tuple[str, ...] = ()

    def _clinics(self, alias: str, key: str) -> tuple[str, str, str]:
        return self._written("clinics", alias, key, f"{alias}.id")

    def _written(self, name: str, alias: str, one: str, other: str) -> tuple[str, str, str]:
        """A join, as ON or in WHERE; text after FROM, and a condition."""
        equal = self._one(f"{one} = {other}", f"{other} = {one}")
        match self.random.randrange(4):
            case 0:
                return f", {name} AS {alias}", equal, ""
            case 1:
                return f" LEFT JOIN {name} {alias} ON {equal}", "", "left"
            case 2:
                return f" JOIN {name} {alias} ON {equal} AND {self.condition(0)}", "", ""
        return f" INNER JOIN {name} {alias} ON ({equal})", "", ""

    def of_public(self) -> tuple[str, list[str]]:
        """FROM and conditions for `public`, or for `several` without its tags."""
        chosen, text, conditions = self.random.randrange(1, 4), "v", list[str]()
        self.sources = ()
        if chosen & 1:
            after, condition, _ = self._clinics("c1", "k")
            text, conditions = text + after, [*conditions, condition]
            self.sources += ("c1",)
            if self._one(True, False):
                after, condition, _ = self._written("regions", "r", "c1.region", "r.region")
                if self._one(True, False):
                    after, condition = f"{self._one('', ' LEFT')} JOIN regions r USING (region)", ""
                text, conditions = text + after, [*conditions, condition]
                self.sources += ("r",)
        if chosen & 2:
            after, condition, _ = self._clinics("c2", "v.i")
            text, conditions = text + after, [*conditions, condition]
            self.sources += ("c2",)
        if "," in text and "JOIN" in text:  # in SQL a comma binds weaker
            return self.of_public()
        return text, [each for each in conditions if each]

    def of_several(self) -> tuple[str, list[str]]:
        """FROM and conditions for `several`."""
        text, conditions = self.of_public()
        if "JOIN" in text:
            return f"{text} JOIN tags g ON g.clinic = k", conditions
        return f"tags, {text}", [*conditions, "tags.clinic = v.k"]

    def of_private(self) -> tuple[str, list[str]]:
        """FROM and conditions for `private`."""
        self.sources = ("b",)
        if self._one(True, False):
            return f"v {self._one('', 'LEFT ')}JOIN bills b ON v.p = b.p AND k = b.of", []
        return "bills b, v", ["b.of = k", "b.p = v.p"]

    def _of_joined(self) -> tuple[list[str], list[str], list[str]]:
        """Aggregates, conditions and keys of the tables that were joined."""
        aggregates, conditions, keys = list[str](), list[str](), list[str]()
        for each in self.sources:
            if each in ("c1", "c2"):
                aggregates += [f"SUM({each}.z)", f"COUNT({each}.id)", f"AVG({each}.z + i)"]
                conditions += [f"{each}.name = 'a'", f"{each}.id IS NULL", f"{each}.z > v.k"]
                keys += [f"{each}.name", f"CASE WHEN {each}.z > 2 THEN 'much' ELSE 'few' END"]
            if each == "r":
                aggregates += ["AVG(w)", "SUM(r.w)"]
                conditions += ["w < 2", "r.region IS NOT NULL", "r.region = 'N'"]
            if each == "b":
                aggregates += ["SUM(b.sum)", "COUNT(sum)", "COUNT(b.p)"]
                conditions += ["sum > 9", "b.of IS NULL", "b.of = v.k"]
                keys += ["CASE WHEN sum > 9 THEN 'much' ELSE 'few' END"]
        return aggregates, conditions, keys

    def joined(self, source: tuple[str, list[str]], *, units: bool) -> str:
        """A query over a source.

        Args:
            units: whether a number of each unit may be asked for.
        """
        from_, conditions = source
        aggregates, more, keys = self._of_joined()
        if self.random.random() < 0.5:
            conditions = [*conditions, self._one(*more, self.condition(1))]
        self.random.shuffle(conditions)
        where = " WHERE " + " AND ".join(conditions) if conditions else ""
        if units and self.random.random() < 0.3:
            number = self._one("COUNT(*)", f"COUNT({self._one('i', 'c', 'sum')})", "SUM(k)")
            if "sum" in number and "b" not in self.sources:
                number = "COUNT(*)"
            clamped = f"CLAMP({number}, -60, 60)" if number == "SUM(k)" else number
            inner = f"SELECT v.p, {clamped} AS n FROM {from_}{where} GROUP BY v.p"
            asked = self._one("COUNT(*)", "SUM(CLAMP(n, 0, 6))")
            return f"SELECT {asked} AS n0 FROM ({inner}) AS u WHERE n >= 1"
        asked_ = [
            self._one(*aggregates, "COUNT(*)"),
            self._one(*aggregates, "SUM(i)", "COUNT(v.s)"),
        ]
        if units:
            asked_.append("COUNT(DISTINCT v.p)")
        if self.random.random() < 0.25:
            names = "v.i, v.k" + (", v.p" if units else "")
            inner = f"SELECT {names} FROM {from_}{where}"
            return f"SELECT COUNT(*) AS n0, SUM(i) AS n1 FROM ({inner}) AS q"
        names_ = [f"{each} AS n{place}" for place, each in enumerate(asked_)]
        if keys and self._one(True, False):
            key = self._one(*keys)
            return f"SELECT {key} AS g0, {', '.join(names_)} FROM {from_}{where} GROUP BY {key}"
        return f"SELECT {', '.join(names_)} FROM {from_}{where}"
