"""Whether the parts of an answer fit together: an answer may have been changed on its way.

Otherwise it would be read, and fail when it is printed or an interval is taken. In a process that
computes answers they fit by construction.
"""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from curator.codec.entries import Entry
from curator.codec.fields import UnreadableError
from mechanisms.frugal.frugal_queries import Estimated
from mechanisms.synthetic.fit_queries import Modelled, SyntheticRows
from mechanisms.tables.quantiles.choices import Enclosed
from mechanisms.tables.requests.keys import ReleasedKeys
from mechanisms.tables.spans.ranges import Ranges, ReleasedRanges, Spanned
from mechanisms.tables.statistics.releases import Noisy
from mechanisms.tables.statistics.shown_keys import Shown
from mechanisms.tables.statistics.units import ReleasedSizes, Share
from queryable.answers.combinations import Combination, Quotient
from queryable.answers.estimates import Axis, Bin
from queryable.answers.evidence import Evidence, Selected
from queryable.answers.margins import Margin
from queryable.answers.released import Released

Shape = tuple[int, ...]


def fitting(entry: Entry) -> Entry:
    """The entry, which also refuses values whose parts do not fit together."""
    checks = [check for kind, check in _CHECKS if issubclass(entry.classes[0], kind)]
    if not checks:
        return entry

    def build(*given: Any) -> Any:
        value = entry.build(*given)
        for check in checks:
            check(value)
        return value

    return attrs.evolve(entry, build=build)


def _require(fits: object, text: str) -> None:
    if not fits:
        raise UnreadableError(text)


def _axis(axis: Axis) -> None:
    wide = len(axis.names)
    _require(all(len(key) == wide for key in axis.values), "each key should have all names")


def _released(answer: Released) -> None:
    shape = np.shape(answer.estimate)
    keys = tuple(len(axis.values) for axis in answer.axes)
    _require(shape == keys, f"the estimate has shape {shape}, and the keys {keys}")
    ends = _shape_of_ends(answer.evidence)
    _require(ends in (None, shape), f"the estimate has shape {shape}, and the intervals {ends}")


def _shape_of_ends(evidence: Evidence) -> Shape | None:
    """The shape of the ends of the intervals; None if there are none."""
    match evidence:
        case Noisy(statistic, _):
            return tuple(len(axis.values) for axis in statistic.axes)
        case Combination(terms):
            return np.broadcast_shapes(*(np.shape(answer.estimate) for _, answer in terms))
        case Quotient(top, bottom):
            return np.broadcast_shapes(np.shape(top.estimate), np.shape(bottom.estimate))
        case Selected(whole, place):
            shape = _shape_of_ends(whole)
            _require(
                shape is None or _are_places(place, shape), "an entry has places of its answer"
            )
            return None if shape is None else shape[len(place) :]
        case Margin(whole, along):
            shape = _shape_of_ends(whole)
            fits = [at for at in range(len(shape or ())) if at in along] == list(along)
            _require(fits, "a margin should be along dimensions of its answer")
            _require(whole.adds_up, "a margin should be of an answer that adds up")
            return tuple(size for at, size in enumerate(shape or ()) if at not in along)
        case Enclosed(low, _):
            return np.shape(low)
        case Share(sizes, _):
            return np.shape(sizes.estimate)[:-1]
        case Spanned():
            return ()
        case Shown():
            return (len(evidence.noisy),)
    return None


def _are_places(place: Any, shape: Shape) -> bool:
    return len(place) <= len(shape) and all(
        type(at) is int and 0 <= at < size for at, size in zip(place, shape, strict=False)
    )


def _noisy(evidence: Noisy) -> None:
    fits = np.shape(evidence.noisy) == (evidence.statistic.shape or ())
    _require(fits, "the noisy integers should have the shape of the statistic")


def _enclosed(evidence: Enclosed) -> None:
    fits = np.shape(evidence.low) == np.shape(evidence.high)
    _require(fits, "there should be as many lower as upper ends")


def _share(evidence: Share) -> None:
    shape = np.shape(evidence.sizes.estimate)
    _require(shape and 0 <= evidence.place < shape[-1], "place should be that of a size")


def _ranges(answer: ReleasedRanges) -> None:
    evidence = answer.evidence
    fits = isinstance(evidence, Noisy) and isinstance(evidence.statistic, Ranges)
    _require(fits and len(answer.axes) == 1, "ranges should be of noisy ranges")


def _spanned(evidence: Spanned) -> None:
    statistic = evidence.whole.statistic
    keys = statistic.by.size if isinstance(statistic, Ranges) else 0
    fits = 0 <= evidence.first <= evidence.last < keys
    _require(fits, "a range should be of the keys of noisy ranges")


def _keys(answer: ReleasedKeys) -> None:
    names = [len(axis.names) for axis in answer.axes]
    _require(names == [len(answer.columns)], "found keys should be on one axis, of all columns")


def _sizes(answer: ReleasedSizes) -> None:
    last = [key for axis in answer.axes[-1:] for key in axis.values]
    fits = last and all(len(key) == 1 and type(key[0]) is Bin for key in last)
    _require(fits, "the last keys should be numbers of rows")


def _estimated(answer: Estimated) -> None:
    fits = len(answer.spreads) == np.size(answer.value)
    _require(fits, "there should be a spread for each entry")
    _require(answer.unit > 0, "the unit should be positive")


def _modelled(answer: Modelled) -> None:
    shape = np.shape(answer.value)
    fits = all(np.shape(x.value) == np.shape(x.cells) == shape for x in answer.direct)
    _require(fits, f"the counts in each marginal should have shape {shape}")


def _rows(answer: SyntheticRows) -> None:
    places, sizes = np.asarray(answer.places), [len(each) for each in answer.labels]
    fits = len(sizes) == len(answer.names) and places.shape[1:] == (len(sizes),)
    _require(fits and places.dtype.kind == "i", "each row should have a place in each column")
    fits = not places.size or (places.min() >= 0 and bool((places.max(axis=0) < sizes).all()))
    _require(fits, "each place should have a label")


_CHECKS: tuple[tuple[type, Callable[[Any], None]], ...] = (
    (Axis, _axis),
    (Released, _released),
    (ReleasedKeys, _keys),
    (ReleasedRanges, _ranges),
    (ReleasedSizes, _sizes),
    (Spanned, _spanned),
    (Noisy, _noisy),
    (Enclosed, _enclosed),
    (Share, _share),
    (Estimated, _estimated),
    (Modelled, _modelled),
    (SyntheticRows, _rows),
)
