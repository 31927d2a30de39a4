"""The questions of `many_rows.py` with this library: a Parquet file, pure differential privacy."""

from composition import FiltCon
from mechanisms import Table, column
from queryable import PureDP, Queryable

LOSS, STATES = PureDP(1), [f"s{number:02}" for number in range(50)]


def opened(file):
    visits = Table(file, privacy_unit="person_id", max_rows=4)
    return Queryable(FiltCon(PureDP(10_000)), visits), visits


def closed(session):
    session[1].close()


def count(session, number):
    queryable, visits = session
    return queryable.release(visits.count(column("hours") > 40 + number % 20), loss=LOSS)


def total(session, number):
    queryable, visits = session
    return queryable.release(visits.sum("hours", 0, 60 + number % 20), loss=LOSS)


def mean(session, number):
    queryable, visits = session
    return queryable.release(visits.mean("amount", 0, 100 + number), loss=LOSS)


def histogram(session, number):
    queryable, visits = session
    bins = [number % 7, *range(10, 101, 10)]
    return queryable.release(visits.histogram("hours", bins=bins), loss=LOSS)


def group_by(session, number):
    queryable, visits = session
    groups = visits.group_by({"state": STATES})
    return queryable.release(groups.count(column("hours") > number % 20), loss=LOSS)


def hundred_counts(session, number):
    queryable, visits = session
    other = column("item") > number
    counts = [visits.count((column("hours") > each) & other) for each in range(100)]
    return queryable.release_many(counts, loss=LOSS)
