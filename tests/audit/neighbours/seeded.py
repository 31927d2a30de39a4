"""Faults that are seeded into the packages: of claims, values, charges and outcomes."""

import csv
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon, Partition
from composition.compositors.blocks import units as in_blocks
from composition.compositors.individual import books
from composition.compositors.individual.accounts import Accounts
from mechanisms import Count, Laplace, gaussian, laplace
from mechanisms.counters import contributions
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.engines.files.csv_files import CsvFile
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.requests import arrays, request
from mechanisms.tables.requests.privacy_unit import Contribution
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.discovered import DiscoveredKeys
from mechanisms.tables.statistics.moments import Mean
from queryable.answers.noisy import NoisyInt, noisy_array
from queryable.conversation import Moved
from queryable.data.later import made
from queryable.data.rows import column_values, take
from queryable.losses import PureDP

additive = import_module("composition.rules.additive")  # the package has a function of its name

Seed = Callable[[pytest.MonkeyPatch], None]


def halved(owner: type, name: str) -> Seed:
    """A property says half of what is true."""
    was: Any = vars(owner)[name]

    def seed(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(owner, name, property(lambda self: was.fget(self) / 2))

    return seed


def replaced(owner: Any, name: str, wrong: Callable[..., Any]) -> Seed:
    """A function is another one, which is given the right one first."""
    was = getattr(owner, name)
    return lambda patch: patch.setattr(owner, name, partial_of(wrong, was))


def partial_of(wrong: Callable[..., Any], was: Any) -> Callable[..., Any]:
    def run(*given: Any, **named: Any) -> Any:
        return wrong(was, *given, **named)

    return run


def stated(owner: Any, name: str, value: Any) -> Seed:
    return lambda patch: patch.setattr(owner, name, value)


def without_noise(_: Any, statistic: Any, dataset: Any, law: Any, coins: Any) -> Any:
    value = statistic(dataset)
    return NoisyInt(value, law) if statistic.shape is None else noisy_array(value, law)


def overlapping(was: Any, self: Any, dataset: Any, wanted: Any) -> Any:
    found = dict(was(self, dataset, wanted))
    return {**found, "b": dataset}


def unclipped(was: Any, self: Any, values: Any) -> Any:
    return np.trunc(np.nan_to_num(values.astype(float)) / float(self.unit)).astype(object)


def half_added(was: Any, parts: Any, more: Any) -> Any:
    return was(parts, tuple(Fraction(each) / 2 for each in more))


def one_more(was: Any, records: Any, level: Any, seen: Any) -> Any:
    return was(records, attrs.evolve(level, max_records=level.max_records + 1), seen)


def by_identity(was: Any, records: Any, column: str) -> Any:
    return [
        None if each is None else (place, each) for place, each in enumerate(was(records, column))
    ]


def one_block_more(was: Any, records: Any, column: str, units: Any, bounds: Any) -> Any:
    place, blocks, rows = bounds
    return was(records, column, units, (place, blocks + 1, rows))


def batch_dropped(was: Any, records: Any, level: Any, seen: Any) -> Any:
    ages = column_values(records, "age")
    if any(age is None or age != age for age in ages):  # noqa: PLR0124 (NaN)
        return take(records, []), seen
    return was(records, level, seen)


def one_key_declared(patch: pytest.MonkeyPatch) -> None:
    """A unit is counted in as many keys as before."""
    counted = DiscoveredKeys.discovery
    patch.setattr(
        DiscoveredKeys,
        "discovery",
        property(lambda self: attrs.evolve(counted.fget(self), max_keys=self.max_keys)),
    )
    patch.setattr(DiscoveredKeys, "most", property(lambda self: 1))


def failing_on_missing(was: Any, where: Any, dataset: Any) -> Any:
    costs = dataset.get("cost", ()) if isinstance(dataset, dict) else ()
    if np.isnan(np.asarray(costs, dtype=float)).any():
        raise OverflowError("the constant does not fit beside this cell")
    return was(where, dataset)


def line_by_line(was: Any, self: Any, block: bytes, width: int) -> Any:
    text = self.csv_format.text(block)
    rows = [row for line in text.split("\n") for row in csv.reader([line])]
    kept = [(row + [""] * width)[:width] for row in rows if row]
    return [list(each) for each in zip(*kept, strict=True)], 0


def a_quarter(was: Any, known: Any, records: Any) -> Any:
    added, squares = was(known, records)
    return added, np.asarray(squares) // 4


def peeking(was: Any, self: Any, data: Any) -> Any:
    moved = was(self, data)
    rows = made(data.rows)
    count = len(rows.whole["age"])
    return Moved(moved.state, count, ()) if isinstance(moved, Moved) else moved


def always(value: Any) -> Callable[..., Any]:
    return lambda *_: value


SEEDS: dict[str, tuple[str, str, Seed]] = {
    "l1 of sums is halved": ("squares", "l1", halved(Aggregate, "l1")),
    "l2 of sums is halved": ("squares", "l2", halved(Aggregate, "l2")),
    "linf of sums is halved": ("squares", "linf", halved(Aggregate, "linf")),
    "counts fall as records are added": ("counts", "monotone", stated(Count, "monotone", "down")),
    "numbers are not clipped": ("counts", "l1", replaced(Lattice, "units", unclipped)),
    "the largest of a mean is half the radius": (
        "units",
        "l1",
        stated(Mean, "largest", property(lambda self: (self.radius // 2,) * 2)),
    ),
    "a unit is declared as one row": (
        "units",
        "l1",
        stated(request, "contribution", always(Contribution(1, 1, 1))),
    ),
    "a unit has one key more": ("found", "keys", one_key_declared),
    "a quoted line is two": ("in_a_file", "l1", replaced(CsvFile, "_parsed", line_by_line)),
    "a cell decides whether a question fails": (
        "counts",
        "outcome",
        replaced(arrays, "selected", failing_on_missing),
    ),
    "half the noise of Laplace": (
        "counts",
        "noise",
        stated(laplace, "DiscreteLaplace", lambda scale: DiscreteLaplace(scale / 2)),
    ),
    "half the variance of Gaussian": (
        "squares",
        "noise",
        stated(gaussian, "DiscreteGaussian", lambda variance: DiscreteGaussian(variance / 2)),
    ),
    "no noise": ("counts", "noise", replaced(laplace, "noisy", without_noise)),
    "half the loss of Laplace": (
        "counts",
        "noise",
        stated(
            Laplace, "loss", lambda self, d_in: PureDP(d_in * self.statistic.l1 / self.scale / 2)
        ),
    ),
    "a filter charges half": ("squares", "account", replaced(additive, "add_parts", half_added)),
    "a filter in a filter claims half": (
        "squares",
        "account",
        stated(FiltCon, "loss", lambda self, d_in: type(self.budget)(self.budget.rho / 2)),
    ),
    "parts overlap": ("parts", "account", replaced(Partition, "split", overlapping)),
    "records pay for a quarter": (
        "individually",
        "account",
        replaced(books, "_added_by", a_quarter),
    ),
    "records do not pay": (
        "individually",
        "account",
        stated(
            Accounts,
            "charged",
            lambda self, *_: (np.ones(len(self.spent), dtype=bool), self),
        ),
    ),
    "a unit counts in another block": (
        "blocks",
        "account",
        replaced(in_blocks, "_rows_within_bounds", one_block_more),
    ),
    "a unit has one record more": (
        "counter",
        "l1",
        replaced(contributions, "first_records", one_more),
    ),
    "units are told apart by identity": (
        "counter",
        "l1",
        replaced(contributions, "column_keys", by_identity),
    ),
    "a missing cell drops a batch": (
        "counter",
        "l1",
        replaced(contributions, "first_records", batch_dropped),
    ),
    "a compositor tells how many records there are": (
        "counts",
        "step",
        replaced(FiltCon, "open", peeking),
    ),
}
"""What is seeded: the analysis in which it is found, by which measure, and the change."""
