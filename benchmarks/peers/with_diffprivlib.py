"""The twenty questions with diffprivlib 0.6.6, as its documentation recommends to write them.

The library takes arrays and knows no persons. `opened` keeps 20 rows of each customer, and every
question that counts rows divides epsilon by 20, which is what group privacy asks for.
"""

import numpy as np
import pandas as pd
from data import CATEGORIES, CITIES, REGIONS
from diffprivlib import tools

ROWS = 20
EPSILON = 1 / ROWS
BINS = [0, 10, 20, 50, 100, 200]


def opened(folder):
    everything = pd.read_csv(folder / "purchases.csv", dtype=str)
    everything["amount"] = pd.to_numeric(everything["amount"], errors="coerce")
    everything["age"] = pd.to_numeric(everything["age"], errors="coerce")
    everything["date"] = pd.to_datetime(everything["date"], format="%Y-%m-%d", errors="coerce")
    kept = everything.groupby("customer_id").head(ROWS)
    kept.attrs.update(folder=folder, customers=everything)
    return kept


def count(kept):
    return tools.count_nonzero(kept["customer_id"] != "", epsilon=EPSILON)


def known_keys(kept):
    codes = pd.Categorical(kept["category"], categories=CATEGORIES).codes
    counts, _ = tools.histogram(codes, epsilon=EPSILON, bins=6, range=(0, 6))
    return dict(zip(CATEGORIES, counts, strict=True))


def month(kept):
    months = kept["date"].dropna().dt.month
    return tools.histogram(months, epsilon=EPSILON, bins=12, range=(1, 13))[0]


def mean(kept):
    return tools.nanmean(kept["amount"], epsilon=EPSILON, bounds=(0, 200))


def median(kept):
    return tools.median(kept["amount"].dropna(), epsilon=EPSILON, bounds=(0, 200))


def group_median(kept):
    return {
        name: tools.median(rows["amount"].dropna(), epsilon=EPSILON, bounds=(0, 200))
        for name, rows in kept.groupby("category")
        if name in CATEGORIES
    }


def variance(kept):
    return tools.nanvar(kept["amount"], epsilon=EPSILON, bounds=(0, 200))


def histogram(kept):
    return tools.histogram(kept["amount"].dropna(), epsilon=EPSILON, bins=BINS, range=(0, 200))[0]


def top_k(kept):
    codes = pd.Categorical(kept["city"], categories=CITIES).codes
    counts, _ = tools.histogram(codes, epsilon=EPSILON, bins=12, range=(0, 12))
    return [list(CITIES)[place] for place in np.argsort(-counts)[:3]]


def cross_tab(kept):
    categories = pd.Categorical(kept["category"], categories=CATEGORIES).codes
    cities = pd.Categorical(kept["city"], categories=CITIES).codes
    counts, _, _ = tools.histogram2d(
        categories, cities, epsilon=EPSILON, bins=(6, 12), range=((0, 6), (0, 12))
    )
    return pd.DataFrame(counts, index=CATEGORIES, columns=CITIES)


def correlation_and_slope(kept):
    rows = kept[["age", "amount"]].dropna()
    x, y = rows["age"].clip(18, 90), rows["amount"].clip(0, 200)
    share = EPSILON / 5
    mean_x = tools.mean(x, epsilon=share, bounds=(18, 90))
    mean_y = tools.mean(y, epsilon=share, bounds=(0, 200))
    covariance = tools.mean(x * y, epsilon=share, bounds=(0, 18_000)) - mean_x * mean_y
    variance_x = tools.var(x, epsilon=share, bounds=(18, 90))
    variance_y = tools.var(y, epsilon=share, bounds=(0, 200))
    return covariance / (variance_x * variance_y) ** 0.5, covariance / variance_x


def join(kept):
    joined = kept.merge(pd.read_csv(kept.attrs["folder"] / "cities.csv"), on="city")
    codes = pd.Categorical(joined["region"], categories=REGIONS).codes
    return tools.histogram(codes, epsilon=EPSILON, bins=4, range=(0, 4))[0]


def people(kept):
    return tools.count_nonzero(kept["customer_id"].unique() != "", epsilon=1)


def people_who(kept):
    everything = kept.attrs["customers"]
    buyers = everything[everything["category"] == "books"]["customer_id"].unique()
    return tools.count_nonzero(buyers != "", epsilon=1)


def pattern(kept):
    return tools.count_nonzero(kept["item"].str.contains("gift", regex=False), epsilon=EPSILON)


def dates(kept):
    return tools.count_nonzero(kept["date"].between("2024-04-01", "2024-06-30"), epsilon=EPSILON)


def nulls(kept):
    return tools.count_nonzero(kept["amount"].isna(), epsilon=EPSILON)


def accuracy_first(kept):
    for epsilon in (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1):
        answer = tools.count_nonzero(kept["category"] == "books", epsilon=epsilon / ROWS)
        if ROWS / epsilon * np.log(1 / 0.05) <= answer / 20:
            break
    return answer


def follow_up(kept):
    counts = known_keys(kept)
    return tools.count_nonzero(kept["category"] == max(counts, key=counts.get), epsilon=EPSILON)


IMPOSSIBLE = {
    "sparse_vector": "not among its mechanisms; it has Laplace noise to write one with",
}
TRIES = {"opening": (2, "cannot be imported beside scikit-learn 1.6 or later")}
BY_HAND = {
    "count",
    "known_keys",
    "month",
    "histogram",
    "cross_tab",
    "join",
    "people",
    "people_who",
    "pattern",
    "dates",
    "nulls",
    "follow_up",
}
"""The answer has no interval. For counts the user knows the noise: geometric, scale 1/epsilon."""


def geometric(epsilon):
    """Half the width of a 95 % interval of noise with probabilities ~ exp(-epsilon |k|)."""
    return int(np.ceil(np.log(2 / (0.05 * (1 + np.exp(-epsilon)))) / epsilon))


HELD = {
    "count": (count, lambda _: geometric(EPSILON)),
    "people_who": (people_who, lambda _: geometric(1)),
}
