"""The data sets that an owner opens: which tables are joined, whom they protect, public bounds.

The customer is protected; parts, suppliers, nations and regions are public. Two further data sets
protect a supplier and an order. Bounds are numbers of the specification. `max_rows` is above what a
unit of these data has, so that no row is left out.
"""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.tpch.data import (
    BRANDS,
    CONTAINERS,
    FIRST,
    LAST,
    MODES,
    NATION_NAMES,
    PRIORITIES,
    REGIONS,
    SEGMENTS,
    TYPES,
)
from mechanisms import Table

_DAYS = {"lower": FIRST, "upper": LAST}
DECLARED: Mapping[str, Mapping[str, Any]] = {
    "lineitem": {
        "l_quantity": {"lower": 0, "upper": 50},
        "l_extendedprice": {"lower": 0, "upper": 105_000},
        "l_discount": {"lower": 0, "upper": "1/10"},
        "l_tax": {"lower": 0, "upper": "8/100"},
        "l_returnflag": {"keys": ["A", "N", "R"]},
        "l_linestatus": {"keys": ["F", "O"]},
        "l_shipmode": {"keys": MODES},
        **dict.fromkeys(("l_shipdate", "l_commitdate", "l_receiptdate"), _DAYS),
    },
    "orders": {
        "o_totalprice": {"lower": 0, "upper": 600_000},
        "o_orderdate": _DAYS,
        "o_orderpriority": {"keys": PRIORITIES},
        "o_orderstatus": {"keys": ["F", "O", "P"]},
        "o_shippriority": {"keys": [0]},
    },
    "customer": {
        "c_acctbal": {"lower": -1_000, "upper": 10_000},
        "c_mktsegment": {"keys": SEGMENTS},
    },
    "part": {
        "p_brand": {"keys": BRANDS},
        "p_type": {"keys": TYPES},
        "p_container": {"keys": CONTAINERS},
        "p_size": {"lower": 1, "upper": 50},
        "p_retailprice": {"lower": 900, "upper": 2_100},
    },
    "partsupp": {
        "ps_availqty": {"lower": 0, "upper": 10_000},
        "ps_supplycost": {"lower": 0, "upper": 1_000},
    },
    "supplier": {"s_acctbal": {"lower": -1_000, "upper": 10_000}},
    "nation": {"n_name": {"keys": NATION_NAMES}},
    "region": {"r_name": {"keys": REGIONS}},
}
MOST_ITEMS, MOST_ORDERS, MOST_OFFERS, MOST_LINES = 150, 40, 80, 7


class Opened:
    """The data sets over some tables, each opened when it is first asked.

    Args:
        tables: the eight tables, by name.
    """

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables = tables
        self._known: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self._known:
            self._known[name] = _DATA_SETS[name](self)
        return self._known[name]

    def table(self, name: str, **unit: Any) -> Table:
        """One of the eight tables, with what is public about its columns."""
        keys = {  # the keys of public tables are public
            "part": {"p_partkey": {"keys": _keys(self.tables, "part", "p_partkey")}},
            "supplier": {"s_suppkey": {"keys": _keys(self.tables, "supplier", "s_suppkey")}},
            "partsupp": {"ps_partkey": {"keys": _keys(self.tables, "part", "p_partkey")}},
            "lineitem": {
                "l_suppkey": {"keys": _keys(self.tables, "supplier", "s_suppkey")},
                "l_partkey": {"keys": _keys(self.tables, "part", "p_partkey")},
            },
        }
        declared = {**DECLARED[name], **keys.get(name, {})}
        return Table(self.tables[name], declared=declared, seed=1, **unit)

    def with_public(
        self, table: Table, name: str, *, on: Mapping[str, str], prefix: str = ""
    ) -> Table:
        """A table joined with a public one.

        Args:
            prefix: of its columns' names in the joined rows.
        """
        public = self.table(name)
        columns = {each: f"{prefix}{each}" for each in public.columns}
        return table.join(public=public, on=on, columns=columns, name=name)


def _keys(tables: Mapping[str, Any], name: str, column: str) -> list[Any]:
    return list(tables[name][column].to_pylist())


def _with_parts(opened: Opened, table: Table) -> Table:
    """Items with the part, the supplier, their offer, and the supplier's nation and region."""
    found = opened.with_public(table, "part", on={"l_partkey": "p_partkey"})
    found = opened.with_public(found, "supplier", on={"l_suppkey": "s_suppkey"})
    on = {"l_partkey": "ps_partkey", "l_suppkey": "ps_suppkey"}
    found = opened.with_public(found, "partsupp", on=on)
    found = opened.with_public(found, "nation", on={"s_nationkey": "n_nationkey"}, prefix="s_")
    on = {"s_n_regionkey": "r_regionkey"}
    return opened.with_public(found, "region", on=on, prefix="s_")


def _items(opened: Opened, unit: str = "l_custkey", most: int = MOST_ITEMS) -> Table:
    return opened.table("lineitem", privacy_unit=unit, max_rows=most)


def _lineitem(opened: Opened) -> Table:
    return _with_parts(opened, _items(opened))


def _ordered(opened: Opened) -> Table:
    """Items with their orders. An order has one customer, so its key decides who that is."""
    orders = opened.table("orders", privacy_unit="o_custkey", max_rows=MOST_ORDERS)
    return _items(opened).join(
        orders,
        on={"l_custkey": "o_custkey", "l_orderkey": "o_orderkey"},
        columns=list(orders.columns),
        how="inner",
        max_rows=MOST_ITEMS,
        name="orders",
        implied=["l_custkey"],
    )


def _items_and_orders(opened: Opened) -> Table:
    return _with_parts(opened, _ordered(opened))


def _sales(opened: Opened) -> Table:
    customers = opened.table("customer", privacy_unit="c_custkey", max_rows=1)
    found = _ordered(opened).join(
        customers,
        on={"l_custkey": "c_custkey"},
        columns=list(customers.columns),
        how="inner",
        name="customer",
    )
    found = opened.with_public(found, "nation", on={"c_nationkey": "n_nationkey"}, prefix="c_")
    found = opened.with_public(found, "region", on={"c_n_regionkey": "r_regionkey"}, prefix="c_")
    return _with_parts(opened, found)


def _accounts(opened: Opened) -> Table:
    customers = opened.table("customer", privacy_unit="c_custkey", max_rows=1)
    orders = opened.table("orders", privacy_unit="o_custkey", max_rows=MOST_ORDERS)
    return customers.join(
        orders, on={"c_custkey": "o_custkey"}, columns=list(orders.columns), name="orders"
    )


def _offers(opened: Opened) -> Table:
    offers = opened.table("partsupp", privacy_unit="ps_suppkey", max_rows=MOST_OFFERS)
    suppliers = opened.table("supplier", privacy_unit="s_suppkey", max_rows=1)
    found = offers.join(
        suppliers,
        on={"ps_suppkey": "s_suppkey"},
        columns=list(suppliers.columns),
        how="inner",
        name="supplier",
    )
    found = opened.with_public(found, "part", on={"ps_partkey": "p_partkey"})
    found = opened.with_public(found, "nation", on={"s_nationkey": "n_nationkey"})
    return opened.with_public(found, "region", on={"n_regionkey": "r_regionkey"})


def _deliveries(opened: Opened) -> Table:
    orders = opened.table("orders", privacy_unit="o_orderkey", max_rows=1)
    return _items(opened, "l_orderkey", MOST_LINES).join(
        orders,
        on={"l_orderkey": "o_orderkey"},
        columns=list(orders.columns),
        how="inner",
        name="orders",
    )


_DATA_SETS: Mapping[str, Callable[[Opened], Table]] = {
    "lineitem": _lineitem,
    "lineitem, orders": _items_and_orders,
    "lineitem, orders, customer": _sales,
    "customer, orders": _accounts,
    "partsupp, supplier": _offers,
    "lineitem by order": _deliveries,
}
