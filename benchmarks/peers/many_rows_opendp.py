"""The questions of `many_rows.py` with OpenDP 0.16's Polars interface.

The rows are in memory, because that was faster than scanning the file. Rows are truncated first
and with keep="first", because that was the fastest of the documented ways that were tried (the
default, keep="sample", took up to twice as long). Truncation is part of each query.
"""

from itertools import pairwise

import opendp.prelude as dp
import polars as pl

MOST, STATES = 4, [f"s{number:02}" for number in range(50)]


def opened(file):
    dp.enable_features("contrib")
    return dp.Context.compositor(
        data=pl.read_parquet(file).lazy(),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person_id")),
        privacy_loss=dp.loss_of(epsilon=2_000),
        margins=[dp.polars.Margin(max_length=100_000_000)],
    )


def closed(context):
    pass


def truncated(context):
    return context.query(epsilon=1).truncate_per_group(MOST, keep="first")


def count(context, number):
    query = truncated(context).filter(pl.col.hours > 40 + number % 20)
    return query.select(dp.len(signed=True)).release().collect().item()


def total(context, number):
    hours = pl.col.hours.cast(int).fill_null(0)
    query = truncated(context).select(hours.dp.sum((0, 60 + number % 20)))
    return query.release().collect().item()


def mean(context, number):
    amount = pl.col.amount.fill_nan(0.0).fill_null(0.0)
    query = truncated(context).select(amount.dp.mean((0.0, 100.0 + number)))
    return query.release().collect().item()


def histogram(context, number):
    bins = [number % 7, *range(10, 101, 10)]
    edges = ["-inf", *bins, "inf"]
    labels = [f"[{low}, {high})" for low, high in pairwise(edges)]
    keys = pl.LazyFrame([pl.Series("hours", labels, dtype=pl.Categorical)])
    query = truncated(context).with_columns(pl.col.hours.cut(breaks=bins, left_closed=True))
    query = query.group_by("hours").agg(dp.len(signed=True)).with_keys(keys)
    return query.release().collect()


def group_by(context, number):
    query = truncated(context).filter(pl.col.hours > number % 20).group_by("state")
    query = query.agg(dp.len(signed=True)).with_keys(pl.LazyFrame({"state": STATES}))
    return query.release().collect()


def counts(context, number, hours):
    conditions = {
        f"c{each}": ((pl.col.hours > each) & (pl.col.item > number)).cast(int) for each in hours
    }
    query = truncated(context).with_columns(**conditions)
    counts = [pl.col(name).dp.sum((0, 1)) for name in conditions]
    return query.select(*counts).release().collect()


def hundred_counts(context, number):
    return counts(context, number, range(100))
