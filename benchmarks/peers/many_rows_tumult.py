"""The questions of `many_rows.py` with Tumult Analytics 0.21 on Spark with two local threads.

A cached view holds the truncated rows, and Spark makes few partitions, which was faster here than
its default of 200.
"""

import os
import sys

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

BUDGET, STATES = PureDPBudget(1), [f"s{number:02}" for number in range(50)]


def opened(file):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "5g")
    spark = spark.config("spark.sql.shuffle.partitions", "4")
    spark = spark.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session = Session.from_dataframe(
        PureDPBudget(float("inf")), "visits", spark.read.parquet(file), AddRowsWithID("person_id")
    )
    kept = QueryBuilder("visits").enforce(MaxRowsPerID(4))
    session.create_view(kept, "kept", cache=True)
    return session


def closed(session):
    session.delete_view("kept")


def answered(session, query):
    return session.evaluate(query, BUDGET).collect()


def count(session, number):
    return answered(session, QueryBuilder("kept").filter(f"hours > {40 + number % 20}").count())


def total(session, number):
    return answered(session, QueryBuilder("kept").sum("hours", 0, 60 + number % 20))


def mean(session, number):
    return answered(session, QueryBuilder("kept").average("amount", 0, 100 + number))


def histogram(session, number):
    bins = [number % 7, *range(10, 101, 10)]
    return answered(session, QueryBuilder("kept").histogram("hours", bins))


def group_by(session, number):
    rows = QueryBuilder("kept").filter(f"hours > {number % 20}")
    return answered(session, rows.groupby(KeySet.from_dict({"state": STATES})).count())


def counts(session, number, hours):
    kept = QueryBuilder("kept")
    return [
        answered(session, kept.filter(f"hours > {each} AND item > {number}").count())
        for each in hours
    ]


def hundred_counts(session, number):
    return counts(session, number, range(100))
