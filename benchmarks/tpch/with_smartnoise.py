"""The queries in SmartNoise SQL: `python with_smartnoise.py FOLDER`, which prints JSON.

FOLDER has Parquet files and `queries.json`: `python -m benchmarks.tpch files FOLDER` writes them.
It runs in an environment of its own with smartnoise-sql, pandas and pyarrow, and imports nothing of
this library. Each text is tried as it is; then the best form over a flat table that the owner has
prepared, whose products, LIKE and CASE are columns.
"""

import json
import re
import sqlite3
import sys
import warnings
from decimal import Decimal
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import snsql
from snsql import Privacy

EPSILON, DELTA = 2.0, 1e-6
SECONDS = 120
UNITS = {
    "lineitem": ("l_custkey", 150),
    "orders": ("o_custkey", 40),
    "customer": ("c_custkey", 1),
    "sales": ("l_custkey", 150),
    "deliveries": ("l_orderkey", 7),
    "customers": ("c_custkey", 1),
    "offers": ("ps_suppkey", 80),
}
SALES = "FROM tpch.sales WHERE"
FORMS = {
    1: "SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS a, SUM(l_extendedprice) AS b,"
    " SUM(disc_price) AS c, SUM(charge) AS d, AVG(l_quantity) AS e, AVG(l_extendedprice) AS f,"
    f" AVG(l_discount) AS g, COUNT(*) AS h {SALES} l_shipdate <= 19980902"
    " GROUP BY l_returnflag, l_linestatus",
    4: "SELECT o_orderpriority, COUNT(DISTINCT l_orderkey) AS n FROM tpch.deliveries WHERE late = 1"
    " AND o_orderdate >= 19930701 AND o_orderdate < 19931001 GROUP BY o_orderpriority",
    5: f"SELECT s_nation, SUM(disc_price) AS n {SALES} is_local = 1 AND s_region = 'ASIA'"
    " AND o_orderdate >= 19940101 AND o_orderdate < 19950101 GROUP BY s_nation",
    6: f"SELECT SUM(given) AS n {SALES} l_shipdate >= 19940101 AND l_shipdate < 19950101"
    " AND l_discount >= 0.05 AND l_discount <= 0.07 AND l_quantity < 24",
    7: f"SELECT s_nation, c_nation, l_year, SUM(disc_price) AS n {SALES} l_shipdate >= 19950101"
    " AND l_shipdate <= 19961231 AND ((s_nation = 'FRANCE' AND c_nation = 'GERMANY')"
    " OR (s_nation = 'GERMANY' AND c_nation = 'FRANCE')) GROUP BY s_nation, c_nation, l_year",
    8: f"SELECT o_year, SUM(brazil_price) / SUM(disc_price) AS n {SALES} c_region = 'AMERICA'"
    " AND o_orderdate >= 19950101 AND o_orderdate <= 19961231"
    " AND p_type = 'ECONOMY ANODIZED STEEL' GROUP BY o_year",
    9: f"SELECT s_nation, o_year, SUM(amount) AS n {SALES} green = 1 GROUP BY s_nation, o_year",
    11: "SELECT ps_partkey, SUM(stock_value) AS n FROM tpch.offers WHERE s_nation = 'GERMANY'"
    " GROUP BY ps_partkey HAVING n > 5000",
    12: f"SELECT l_shipmode, SUM(high) AS a, SUM(low) AS b {SALES} l_shipmode IN ('MAIL', 'SHIP')"
    " AND late = 1 AND on_time = 1 AND l_receiptdate >= 19940101 AND l_receiptdate < 19950101"
    " GROUP BY l_shipmode",
    13: "SELECT c_count, COUNT(*) AS n FROM tpch.customers GROUP BY c_count",
    14: f"SELECT 100.0 * SUM(promo_price) / SUM(disc_price) AS n {SALES} l_shipdate >= 19950901"
    " AND l_shipdate < 19951001",
    15: f"SELECT l_suppkey, SUM(disc_price) AS n {SALES} l_shipdate >= 19960101"
    " AND l_shipdate < 19960401 GROUP BY l_suppkey ORDER BY n DESC LIMIT 1",
    16: "SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS n FROM tpch.offers"
    " WHERE p_brand <> 'Brand#45' AND polished = 0 AND complaints = 0"
    " AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY p_brand, p_type, p_size",
    19: f"SELECT SUM(disc_price) AS n {SALES} l_shipinstruct = 'DELIVER IN PERSON'"
    " AND l_shipmode IN ('AIR', 'AIR REG') AND ((p_brand = 'Brand#12' AND p_size <= 5"
    " AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND l_quantity <= 11)"
    " OR (p_brand = 'Brand#23' AND p_size <= 10 AND l_quantity >= 10 AND l_quantity <= 20"
    " AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'))"
    " OR (p_brand = 'Brand#34' AND p_size <= 15 AND l_quantity >= 20 AND l_quantity <= 30"
    " AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')))",
    22: "SELECT cntrycode, COUNT(*) AS a, SUM(c_acctbal) AS b FROM tpch.customers"
    " WHERE is_of_these = 1 AND orders = 0 AND c_acctbal > 5021 GROUP BY cntrycode",
}


def opened(folder: Path) -> Any:
    """A reader over SQLite with all tables, and public bounds of their numbers."""
    connection = sqlite3.connect(":memory:")
    connection.execute("ATTACH ':memory:' AS tpch")
    tables, stated = {}, {}
    for path in folder.glob("*.parquet"):
        tables[path.stem] = _plain(pd.read_parquet(path))
        if path.stem in ("sales", "offers"):
            _in_thousands(tables[path.stem])
    tables["deliveries"] = tables["sales"]
    for name, frame in tables.items():
        frame.to_sql("given", connection, index=False, if_exists="replace")
        connection.execute(f"CREATE TABLE tpch.{name} AS SELECT * FROM given")
        unit, most = UNITS.get(name, (None, 1))
        of_unit = {"max_ids": most, "censor_dims": False} if unit else {"row_privacy": True}
        stated[name] = {"rows": len(frame), **of_unit}
        for column in frame.columns:
            stated[name][column] = _column(frame[column], column == unit)
    privacy = Privacy(epsilon=EPSILON, delta=DELTA)
    return snsql.from_connection(
        connection, engine="sqlite", privacy=privacy, metadata={"": {"tpch": stated}}
    )


def _plain(frame: Any) -> Any:
    for name in frame.columns:
        cell = frame[name].iloc[0]
        if isinstance(cell, Decimal):
            frame[name] = frame[name].astype(float)
        elif frame[name].dtype == object:
            frame[name] = frame[name].astype(str)
    return frame


def _in_thousands(frame: Any) -> None:
    """Divide amounts by 1,000: of larger ones the noise is refused."""
    for name in frame.columns:
        if frame[name].dtype.kind == "f" and frame[name].max() > 1_000:
            frame[name] /= 1_000


def _column(cells: Any, is_unit: bool) -> dict[str, Any]:
    if cells.dtype == object:
        return {"type": "string", "private_id": is_unit}
    kind = "float" if cells.dtype.kind == "f" else "int"
    low, high = (float if kind == "float" else int)(min(cells.min(), 0)), cells.max().item()
    return {
        "type": kind,
        "private_id": is_unit,
        **({} if is_unit else {"lower": low, "upper": high}),
    }


def qualified(text: str) -> str:
    """A text whose tables are named with their schema, as this library wants them."""

    def named(found: Any) -> str:
        tables = re.sub(r"([a-z]+)( [a-z]+\d?)?(,|$)", r"tpch.\1\2\3", found[2])
        return f"{found[1]}{tables}{found[3]}"

    return re.sub(r"(from )([a-z][a-z0-9, ]*?)( where|$)", named, " ".join(text.split()))


def outcome(reader: Any, text: str) -> dict[str, Any]:
    """Whether a text is answered, or the words in which it is not; in a process of its own."""
    forked = get_context("fork")
    here, there = forked.Pipe()
    process = forked.Process(target=_answer, args=(reader, text, there))
    process.start()
    found = here.recv() if here.poll(SECONDS) else None
    process.kill()
    process.join()
    return found or {"runs": False, "error": f"no answer within {SECONDS} seconds"}


def _answer(reader: Any, text: str, there: Any) -> None:
    try:
        rows = reader.execute(" ".join(text.split()))
    except Exception as error:
        there.send({"runs": False, "error": f"{type(error).__name__}: {error}"[:200]})
        return
    there.send({"runs": True, "rows": len(rows) - 1})


def main(folder: Path) -> None:
    """Print what becomes of each query."""
    warnings.simplefilter("ignore")
    reader = opened(folder)
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    found = []
    for each in queries:
        number = each["number"]
        sys.stderr.write(f"{number} ")
        found.append(
            {
                "number": number,
                "verbatim": outcome(reader, qualified(each["text"])),
                "prepared": outcome(reader, FORMS[number]) if number in FORMS else None,
            }
        )
    told = {"library": "SmartNoise SQL", "version": version("smartnoise-sql"), "queries": found}
    sys.stdout.write(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
