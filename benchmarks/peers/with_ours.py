"""The twenty questions with this library, as its README and recipes recommend to write them."""

from datetime import date

import numpy as np
from data import CATEGORIES, CITIES, REGIONS

from composition import budget
from mechanisms import (
    BrownianNoiseReduction,
    Keys,
    Open,
    RelativeError,
    SparseVector,
    Table,
    Until,
    column,
    even_schedule,
)
from queryable import ZCDP, Queryable

LOSS = ZCDP("1/4")
BINS = [0, 10, 20, 50, 100, 200]
GRID = range(201)
BY_CATEGORY = {"category": CATEGORIES}
BOUNDS = {"age": (18, 90), "amount": (0, 200)}


def opened(folder):
    types = {"amount": "DOUBLE", "age": "DOUBLE", "date": "DATE"}  # other cells become missing
    path = folder / "purchases.csv"
    purchases = Table(path, privacy_unit="customer_id", max_rows=20, types=types)
    purchases = purchases.join(public=folder / "cities.csv", on="city")
    # A large budget, because each question is asked again and again
    table = Queryable(BrownianNoiseReduction() @ budget(epsilon=5_000, delta="1e-6"), purchases)
    return table, purchases


def count(table, purchases):
    return table.release(purchases.count(), loss=LOSS)


def known_keys(table, purchases):
    return table.release(purchases.group_by(BY_CATEGORY).count(), loss=LOSS)


def month(table, purchases):
    months = Keys.months("date", "2024-01", "2024-12")
    return table.release(purchases.group_by(months).count(), loss=LOSS)


def mean(table, purchases):
    return table.release(purchases.mean("amount", 0, 200), loss=LOSS)


def median(table, purchases):
    return table.release(purchases.quantile("amount", 0.5, GRID), loss=LOSS)


def group_median(table, purchases):
    medians = purchases.group_by(BY_CATEGORY).quantile("amount", 0.5, GRID)
    return table.release(medians, loss=LOSS)


def variance(table, purchases):
    return table.release(purchases.variance("amount", 0, 200), loss=LOSS)


def histogram(table, purchases):
    return table.release(purchases.histogram("amount", bins=BINS), loss=LOSS)


def top_k(table, purchases):
    return table.release(purchases.top("city", 3, categories=list(CITIES)), loss=LOSS)


def cross_tab(table, purchases):
    groups = purchases.group_by({"category": CATEGORIES, "city": list(CITIES)})
    return table.release(groups.count(), loss=LOSS)


def correlation_and_slope(table, purchases):
    correlation = table.release(purchases.correlation("age", "amount", bounds=BOUNDS), loss=LOSS)
    return correlation, table.release(purchases.regress("amount", "age", bounds=BOUNDS), loss=LOSS)


def join(table, purchases):
    return table.release(purchases.group_by({"region": REGIONS}).count(), loss=LOSS)


def people(table, purchases):
    return table.release(purchases.count_units(), loss=LOSS)


def people_who(table, purchases):
    return table.release(purchases.count_units(column("category") == "books"), loss=LOSS)


def pattern(table, purchases):
    return table.release(purchases.count(column("item").contains("gift")), loss=LOSS)


def dates(table, purchases):
    spring = (column("date") >= date(2024, 4, 1)) & (column("date") < date(2024, 7, 1))
    return table.release(purchases.count(spring), loss=LOSS)


def nulls(table, purchases):
    return table.release(purchases.count(column("amount").is_null()), loss=LOSS)


def sparse_vector(table, purchases):
    above = table.launch(SparseVector(2_900, epsilon="1/2", sensitivity=1))
    return next(c for c in CATEGORIES if above(purchases.count_units(column("category") == c)))


def accuracy_first(table, purchases):
    books = purchases.count(column("category") == "books")
    return table(Open(books, even_schedule(10**6, 100, 50)))(Until(RelativeError("1/20")))


def follow_up(table, purchases):
    largest = CATEGORIES[known_keys(table, purchases).estimate.argmax()]
    return table.release(purchases.count(column("category") == largest), loss=LOSS)


IMPOSSIBLE, TRIES, BY_HAND = {}, {}, set()
GIVEN = {
    *("count", "known_keys", "month", "mean", "median", "group_median", "variance", "histogram"),
    *("cross_tab", "correlation_and_slope", "join", "people", "people_who", "pattern", "dates"),
    *("nulls", "accuracy_first", "follow_up"),
}


def contained(statistic):
    """Whether the intervals of one release contain the values without noise, all at once."""

    def hit(table, purchases):
        asked = statistic(purchases)
        low, high = table.release(asked, loss=LOSS).interval(0.95, simultaneous=True)
        exact = asked.estimate(asked(purchases))
        return bool(np.all((low <= exact) & (exact <= high)))

    return hit


CONTAINED = {
    "count": contained(lambda purchases: purchases.count()),
    "known_keys": contained(lambda purchases: purchases.group_by(BY_CATEGORY).count()),
    "mean": contained(lambda purchases: purchases.mean("amount", 0, 200)),
    "variance": contained(lambda purchases: purchases.variance("amount", 0, 200)),
    "histogram": contained(lambda purchases: purchases.histogram("amount", bins=BINS)),
    "correlation_and_slope": contained(
        lambda purchases: purchases.regress("amount", "age", bounds=BOUNDS)
    ),
    "people_who": contained(lambda purchases: purchases.count_units(column("category") == "books")),
    "pattern": contained(lambda purchases: purchases.count(column("item").contains("gift"))),
}
