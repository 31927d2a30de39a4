"""Flat tables for libraries without joins: an owner joins everything, and computes columns.

Numbers are floats, dates are whole numbers such as 19950317, and conditions that a library lacks
(LIKE, CASE) are columns with 0 and 1. What a question needs of arithmetic is a column too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.tpch.running import database

_SALES = """
SELECT l_custkey, l_orderkey, l_suppkey, l_returnflag, l_linestatus, l_shipmode, l_shipinstruct,
    o_orderpriority, p_brand, p_type, p_size, p_container,
    sn.n_name AS s_nation, cn.n_name AS c_nation, sr.r_name AS s_region, cr.r_name AS c_region,
    l_quantity::DOUBLE AS l_quantity, l_extendedprice::DOUBLE AS l_extendedprice,
    l_discount::DOUBLE AS l_discount, year(l_shipdate) AS l_year, year(o_orderdate) AS o_year,
    strftime(l_shipdate, '%Y%m%d')::BIGINT AS l_shipdate,
    strftime(o_orderdate, '%Y%m%d')::BIGINT AS o_orderdate,
    strftime(l_receiptdate, '%Y%m%d')::BIGINT AS l_receiptdate,
    (l_commitdate < l_receiptdate)::BIGINT AS late,
    (l_shipdate < l_commitdate)::BIGINT AS on_time,
    (c_nationkey = s_nationkey)::BIGINT AS is_local, (p_name LIKE '%green%')::BIGINT AS green,
    (o_orderpriority IN ('1-URGENT', '2-HIGH'))::BIGINT AS high,
    (o_orderpriority NOT IN ('1-URGENT', '2-HIGH'))::BIGINT AS low,
    (l_extendedprice * (1 - l_discount))::DOUBLE AS disc_price,
    (l_extendedprice * (1 - l_discount) * (1 + l_tax))::DOUBLE AS charge,
    (l_extendedprice * l_discount)::DOUBLE AS given,
    (l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)::DOUBLE AS amount,
    CASE WHEN p_type LIKE 'PROMO%' THEN disc_price ELSE 0 END AS promo_price,
    CASE WHEN sn.n_name = 'BRAZIL' THEN disc_price ELSE 0 END AS brazil_price
FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey
    JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey
    JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
    JOIN nation sn ON s_nationkey = sn.n_nationkey JOIN region sr ON sn.n_regionkey = sr.r_regionkey
    JOIN nation cn ON c_nationkey = cn.n_nationkey JOIN region cr ON cn.n_regionkey = cr.r_regionkey
"""
_CUSTOMERS = """
SELECT c_custkey, any_value(c_acctbal)::DOUBLE AS c_acctbal,
    any_value(substring(c_phone FROM 1 FOR 2)) AS cntrycode, count(o_orderkey) AS orders,
    count(o_orderkey) FILTER (WHERE o_comment NOT LIKE '%special%requests%') AS c_count,
    (any_value(substring(c_phone FROM 1 FOR 2))
        IN ('13', '31', '23', '29', '30', '18', '17'))::BIGINT AS is_of_these
FROM customer LEFT JOIN orders ON c_custkey = o_custkey GROUP BY c_custkey
"""
_OFFERS = """
SELECT ps_suppkey, ps_partkey, p_brand, p_type, p_size, n_name AS s_nation,
    (ps_supplycost * ps_availqty)::DOUBLE AS stock_value,
    (s_comment LIKE '%Customer%Complaints%')::BIGINT AS complaints,
    (p_type LIKE 'MEDIUM POLISHED%')::BIGINT AS polished
FROM partsupp JOIN supplier ON ps_suppkey = s_suppkey JOIN part ON ps_partkey = p_partkey
    JOIN nation ON s_nationkey = n_nationkey
"""
FLAT = {"sales": _SALES, "customers": _CUSTOMERS, "offers": _OFFERS}


def written(tables: Mapping[str, Any], folder: Path) -> None:
    """Write the flat tables and the separate ones as Parquet files."""
    import pyarrow.parquet as pq

    made = database(tables)
    for name, query in FLAT.items():
        made.execute(f"COPY ({query}) TO '{folder / name}.parquet' (FORMAT parquet)")
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
