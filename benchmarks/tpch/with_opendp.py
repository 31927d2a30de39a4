"""The queries with OpenDP's Polars interface: `python with_opendp.py FOLDER`, which prints JSON.

FOLDER has Parquet files: `python -m benchmarks.tpch files FOLDER` writes them. It runs in an
environment of its own with opendp[polars], and imports nothing of this library. OpenDP reads no SQL
and joins no private data, so each query is the best form over a flat table that the owner has
prepared, whose products, LIKE and CASE are columns, and whose dates are whole numbers.
"""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl
from polars import col

RHO, MOST_ROWS, SECONDS = 0.5, 100_000, 120
UNITS = {"sales": 150, "deliveries": 7, "customers": 1, "offers": 80}


class Asked:
    """Asks questions of flat tables, each with a budget of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _query(self, name: str) -> Any:
        file = "sales" if name == "deliveries" else name
        context = dp.Context.compositor(
            data=pl.scan_parquet(self.folder / f"{file}.parquet"),
            privacy_unit=dp.unit_of(contributions=UNITS[name]),
            privacy_loss=dp.loss_of(rho=RHO),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=[], max_length=MOST_ROWS)],
        )
        return context.query()

    def __call__(self, name: str, where: Any, keys: dict[str, list[Any]], *numbers: Any) -> Any:
        """The number of rows that a question answers."""
        query = self._query(name)
        for each in where:
            query = query.filter(each)
        if not keys:
            return query.select(*numbers).release().collect().height
        frame = pl.LazyFrame(list(product(*keys.values())), schema=list(keys), orient="row")
        known = pl.read_parquet_schema(
            self.folder / f"{'sales' if name == 'deliveries' else name}.parquet"
        )
        frame = frame.with_columns([col(key).cast(known[key]) for key in keys])
        found = query.group_by(*keys).agg(*numbers).with_keys(frame)
        return found.release().collect().height


def _sum(name: str, low: float, high: float) -> Any:
    return col(name).fill_nan(0.0).fill_null(0.0).dp.sum((low, high))


def _whole(name: str, low: int, high: int) -> Any:
    return col(name).fill_null(0).dp.sum((low, high))


def _any(name: str, values: list[Any]) -> Any:
    found = col(name) == values[0]
    for each in values[1:]:
        found = found | (col(name) == each)
    return found


def _between(name: str, low: int, high: int) -> list[Any]:
    return [col(name) >= low, col(name) < high]


def forms(asked: Asked, values: Callable[[str, str], list[Any]]) -> dict[int, Callable[[], Any]]:
    """The queries in their best form, by number."""
    nations, price = values("sales", "s_nation"), (0.0, 105_000.0)
    flags = {"l_returnflag": ["A", "N", "R"], "l_linestatus": ["F", "O"]}
    french = (col("s_nation") == "FRANCE") & (col("c_nation") == "GERMANY")
    german = (col("s_nation") == "GERMANY") & (col("c_nation") == "FRANCE")
    delivered = [
        col("l_shipinstruct") == "DELIVER IN PERSON",
        _any("l_shipmode", ["AIR", "AIR REG"]),
        *[
            (
                (col("p_brand") == "Brand#12")
                & _any("p_container", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"])
                & (col("l_quantity") <= 11.0)
                & (col("p_size") <= 5)
            )
            | (
                (col("p_brand") == "Brand#23")
                & _any("p_container", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"])
                & (col("l_quantity") >= 10.0)
                & (col("l_quantity") <= 20.0)
                & (col("p_size") <= 10)
            )
            | (
                (col("p_brand") == "Brand#34")
                & _any("p_container", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"])
                & (col("l_quantity") >= 20.0)
                & (col("l_quantity") <= 30.0)
                & (col("p_size") <= 15)
            )
        ],
    ]
    offered = [
        col("p_brand") != "Brand#45",
        col("polished") == 0,
        col("complaints") == 0,
        _any("p_size", [49, 14, 23, 45, 19, 3, 36, 9]),
    ]
    return {
        1: lambda: asked(
            "sales",
            [col("l_shipdate") <= 19980902],
            flags,
            _sum("l_quantity", 0.0, 50.0),
            _sum("l_extendedprice", *price),
            _sum("disc_price", *price),
            _sum("charge", 0.0, 113_400.0),
            _sum("l_discount", 0.0, 0.1),
            dp.len(),  # averages are quotients of these
        ),
        4: lambda: asked(
            "deliveries",
            [col("late") == 1, *_between("o_orderdate", 19930701, 19931001)],
            {"o_orderpriority": values("sales", "o_orderpriority")},
            col("l_orderkey").dp.n_unique(),
        ),
        5: lambda: asked(
            "sales",
            [
                col("is_local") == 1,
                col("s_region") == "ASIA",
                *_between("o_orderdate", 19940101, 19950101),
            ],
            {"s_nation": nations},
            _sum("disc_price", *price),
        ),
        6: lambda: asked(
            "sales",
            [
                *_between("l_shipdate", 19940101, 19950101),
                col("l_discount") >= 0.05,
                col("l_discount") <= 0.07,
                col("l_quantity") < 24.0,
            ],
            {},
            _sum("given", 0.0, 10_500.0),
        ),
        7: lambda: asked(
            "sales",
            [*_between("l_shipdate", 19950101, 19970101), french | german],
            {"s_nation": nations, "c_nation": nations, "l_year": [1995, 1996]},
            _sum("disc_price", *price),
        ),
        8: lambda: asked(
            "sales",
            [
                col("c_region") == "AMERICA",
                *_between("o_orderdate", 19950101, 19970101),
                col("p_type") == "ECONOMY ANODIZED STEEL",
            ],
            {"o_year": [1995, 1996]},
            _sum("brazil_price", *price),
            _sum("disc_price", *price),
        ),
        9: lambda: asked(
            "sales",
            [col("green") == 1],
            {"s_nation": nations, "o_year": list(range(1992, 1999))},
            _sum("amount", -50_000.0, 105_000.0),
        ),
        11: lambda: asked(
            "offers",
            [col("s_nation") == "GERMANY"],
            {"ps_partkey": values("offers", "ps_partkey")},
            _sum("stock_value", 0.0, 1e7),
        ),
        12: lambda: asked(
            "sales",
            [
                _any("l_shipmode", ["MAIL", "SHIP"]),
                col("late") == 1,
                col("on_time") == 1,
                *_between("l_receiptdate", 19940101, 19950101),
            ],
            {"l_shipmode": ["MAIL", "SHIP"]},
            _whole("high", 0, 1),
            _whole("low", 0, 1),
        ),
        13: lambda: asked("customers", [], {"c_count": list(range(41))}, dp.len()),
        14: lambda: asked(
            "sales",
            _between("l_shipdate", 19950901, 19951001),
            {},
            _sum("promo_price", *price),
            _sum("disc_price", *price),
        ),
        15: lambda: asked(
            "sales",
            _between("l_shipdate", 19960101, 19960401),
            {"l_suppkey": values("sales", "l_suppkey")},
            _sum("disc_price", *price),
        ),
        16: lambda: asked(
            "offers",
            offered,
            {key: values("offers", key) for key in ("p_brand", "p_type", "p_size")},
            col("ps_suppkey").dp.n_unique(),
        ),
        19: lambda: asked("sales", delivered, {}, _sum("disc_price", *price)),
        22: lambda: asked(
            "customers",
            [col("is_of_these") == 1, col("orders") == 0, col("c_acctbal") > 5021.0],
            {"cntrycode": ["13", "31", "23", "29", "30", "18", "17"]},
            dp.len(),
            _sum("c_acctbal", -1_000.0, 10_000.0),
        ),
    }


def outcome(form: Callable[[], int]) -> dict[str, Any]:
    """Whether a form is answered, or the words in which it is not."""
    try:
        rows = form()
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"runs": False, "error": text[:200]}
    return {"runs": True, "rows": rows}


def one(folder: Path, number: int) -> None:
    """Print what becomes of one query."""
    warnings.simplefilter("ignore")
    dp.enable_features("contrib")

    def values(name: str, column: str) -> list[Any]:
        read = pl.read_parquet(folder / f"{name}.parquet", columns=[column])
        return sorted(read[column].unique().to_list())

    known = forms(Asked(folder), values)
    told = outcome(known[number]) if number in known else None
    sys.stdout.write(json.dumps(told))


def in_time(folder: Path, number: int) -> Any:
    """What becomes of one query in a process of its own."""
    command = [sys.executable, __file__, str(folder), str(number)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, text=True, check=True)
    except subprocess.TimeoutExpired:
        return {"runs": False, "error": f"no answer within {SECONDS} seconds"}
    return json.loads(done.stdout)


def main(folder: Path) -> None:
    """Print what becomes of each query."""
    found = []
    for number in range(1, 23):
        sys.stderr.write(f"{number} ")
        found.append(
            {
                "number": number,
                "verbatim": {"runs": False, "error": "reads no SQL"},
                "prepared": in_time(folder, number),
            }
        )
    told = {"library": "OpenDP", "version": version("opendp"), "queries": found}
    sys.stdout.write(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        one(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main(Path(sys.argv[1]))
