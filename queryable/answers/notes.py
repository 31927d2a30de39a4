"""Notes on answers: what whoever reads a number may overlook.

Responsible for the texts, and for when they apply. A note follows from released values and public
facts alone, so it is postprocessing: it reads no data and costs nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_NEAR = 0.05
"""The share of the range between two bounds that is called the edge."""


def of_some_rows(most: int, unit: str) -> str:
    """What a mean or a quantile is of, where the rows of one unit are bounded."""
    rows = "1 row" if most == 1 else f"{most:,} rows"
    return (
        f"it is of at most {rows} of each {unit}: no interval says what further rows would change"
    )


def at_bounds(estimates: Any, lower: float, upper: float) -> Iterator[str]:
    """That estimates are at the edge of what the bounds allow: many numbers may be beyond them."""
    values, edge = np.asarray(estimates, dtype=float), _NEAR * (upper - lower)
    for name, bound, beyond, near in (
        ("lower", lower, "smaller", values <= lower + edge),
        ("upper", upper, "larger", values >= upper - edge),
    ):
        if lower < upper and near.any():
            yield (
                f"{_how_many(near)} near the {name} bound, {bound:,.6g}: {beyond} numbers count as "
                "the bound. If there may be many, ask again with wider bounds"
            )


def all_within_noise(noisy: Any, width: int) -> Iterator[str]:
    """That no group is known to have a row: their keys may be written in another way."""
    sizes = np.asarray(noisy, dtype=object)
    if sizes.size and all(-width <= each <= width for each in sizes.flat):
        groups = "the one group is" if sizes.size == 1 else f"all {sizes.size:,} groups are"
        yield (
            f"{groups} within noise of 0: check the spelling and the type of the keys, or ask more "
            "accurately"
        )


def beyond_noise(estimates: Any, sizes: Any, width: int) -> Any:
    """The estimates, without those of groups that may have no row: these are all noise."""
    if np.shape(estimates) != np.shape(sizes):
        return estimates
    return np.where(np.abs(sizes) > width, estimates, np.nan)


def on_grid(grid: tuple[Any, ...], estimates: Any, ends: tuple[Any, Any] | None) -> Iterator[str]:
    """That the grid of a quantile, more than its noise, decides an answer.

    Args:
        estimates: the places in the grid.
        ends: those of the ends of the intervals, -1 and the size of the grid beyond it; or None.
    """
    places, last = np.asarray(estimates), len(grid) - 1
    if last < 2:
        values = "1 value" if last == 0 else "2 values"
        yield (
            f"the grid has {values}: it should list all possible answers, such as range(0, 101, 5)"
        )
        return
    for which, end, beyond in (("first", 0, "below"), ("last", last, "above")):
        if (places == end).any():
            said = _how_many(places == end)
            yield f"{said} the {which} value of the grid: the quantile may be {beyond} it"
    if ends is None:
        return
    low, high = map(np.asarray, ends)
    if np.all((low >= 0) & (high <= last) & (high - low <= 2)):
        yield (
            "the interval ends at neighbouring values of the grid: if the column has values "
            "between them, a finer grid makes it narrower, at the same cost"
        )


def of_terms(terms: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """The notes on what is computed from answers: each once, with whose it is if not of all.

    Args:
        terms: the title and the notes of each answer.
    """
    whose: dict[str, list[str]] = {}
    for title, notes in terms:
        for note in notes:
            whose.setdefault(note, []).append(title)
    return tuple(
        note if len(titles) == len(terms) else f"{', '.join(dict.fromkeys(titles))}: {note}"
        for note, titles in whose.items()
    )


def _how_many(which: Any) -> str:
    """The subject of a sentence about the one number, or about some of several."""
    return f"{which.sum():,} of {which.size:,} are" if np.ndim(which) else "it is"
