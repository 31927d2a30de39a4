"""`on_neighbours`: the analysis of a queryable, held again on neighbours of its data.

Responsible for which neighbours are tried. `recording` holds the analysis on its own data, `again`
on one neighbour.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import attrs

from queryable.audit.neighbours.again import Again
from queryable.audit.neighbours.chosen import unit_column, wishes, without_units
from queryable.audit.neighbours.courses import Recalled, Told
from queryable.audit.neighbours.findings import Example, Findings
from queryable.audit.neighbours.judged import Judged
from queryable.audit.neighbours.movements import Distance
from queryable.audit.neighbours.recording import Recording, recorded
from queryable.audit.neighbours.report import NeighbourReport
from queryable.audit.rows import Neighbour, neighbours_of
from queryable.audit.rows.of_data import form_of_data
from queryable.checks.datasets import protected
from queryable.data.cells import count_records
from queryable.losses.numbers import at_least_one, natural
from queryable.messages import Update
from queryable.wording.quoting import quoted

_FEW = 3


def on_neighbours(
    queryable: Any, neighbours: int | Iterable[Any] = 1000, *, d_in: int = 1, seed: int = 0
) -> NeighbourReport:
    """Hold the analysis of a queryable again on neighbours of its data, and compare.

    For the owner of the data. It reads the data without a charge, and the report quotes records, so
    neither goes to an analyst. The queryable itself is not asked and does not change.

    The same messages are held on each neighbour with the same outcomes. So every step of every
    compositor has to be the same, with the same charge. Wherever data are read, each statistic is
    evaluated on both data sets, and its change is compared with its `l1`, `l2`, `linf` and
    `monotone`. Of answers that are numbers with noise, what the noise loses at this change is
    compared with the mechanism's claim, and what all of them lose with the reported loss. The exact
    law of other mechanisms of your own is compared if it is small. On none of the rows, and on few,
    everything has to be answered, refused or failed as on all of them.

    Args:
        queryable: the owner's, of the root of the tree.
        neighbours: how many neighbours are made (`queryable.audit.rows`), or the neighbours:
            `Neighbour`s, or data sets in the form of the data.
        d_in: in how many records or privacy units each of them differs, added or removed. A
            substitution is 2.
        seed: of the neighbours that are made, and of noise that is not kept.

    Raises:
        TypeError, ValueError: an argument is wrong.
        HandleError: it is an analyst's queryable, or that of a child; or its data have grown and
            the batches were not kept (`keep_batches`), or cannot be read as they were.
        TypeError: no neighbours can be made of data of this form.

    Examples:
        >>> from composition import FiltCon
        >>> from mechanisms import Laplace
        >>> from queryable import PureDP, Queryable
        >>> from queryable.audit import on_neighbours
        >>> from queryable.statistics import Statistic
        >>> table = Queryable(FiltCon(PureDP(1)), [3, 9, 14, 2])
        >>> total = Statistic(lambda rows: sum(rows), l1=10, l2=10)  # nothing cuts a record off
        >>> noisy = table(Laplace(total, epsilon="1/2"))
        >>> report = on_neighbours(table, neighbours=[[3, 9, 2]])
        >>> report.holds, report.smallest.ratio
        (False, 1.4)
    """
    course = Recalled.of(queryable)
    findings = Findings()
    recording = recorded(course, seed)
    judged = Judged(recording, findings)
    _alike(recording, findings, judged)
    tried = 0
    for example, distance, dataset, replaced in _tried(recording, neighbours, d_in, seed):
        tried += 1
        Again(recording, dataset, distance, example, findings, judged, replaced).hold()
    count, renewed = len(course.messages), recording.renewed
    return NeighbourReport.of(findings, neighbours=tried, messages=count, renewed=renewed)


MOST_NEIGHBOURS, MOST_DIFFERENT = 10**6, 1_000
"""How many neighbours are tried in one call, and in how many records one may differ."""


def _parts(recording: Recording) -> Iterator[tuple[int, Any]]:
    """The data of the start and of each batch, with the places of their messages."""
    course = recording.course
    yield 0, course.dataset
    for place in course.batches:
        yield place, course.messages[place].query.records


Tried = tuple[Example, Distance, Any, dict[int, Told]]


def _tried(
    recording: Recording, neighbours: int | Iterable[Any], d_in: int, seed: int
) -> Iterator[Tried]:
    """What differs, how far, the data of the start, and the messages that differ."""
    if not at_least_one(d_in, "d_in") <= MOST_DIFFERENT:
        raise ValueError(f"d_in is {quoted(d_in)}; it should be at most {MOST_DIFFERENT}")
    if not isinstance(neighbours, int) or isinstance(neighbours, bool):
        if isinstance(neighbours, bool | str | bytes) or not _is_iterable(neighbours):
            raise TypeError(
                f"neighbours is {quoted(neighbours)}; it should be how many, or a list of data sets"
            )
        for each in neighbours:
            yield _one(recording, 0, _neighbour(recording.course.dataset, each), d_in)
        return
    number, parts, unit = natural(neighbours, "neighbours"), [*_parts(recording)], None
    if not number <= MOST_NEIGHBOURS:
        raise ValueError(f"neighbours is {quoted(number)}; it should be at most {MOST_NEIGHBOURS}")
    if len(parts) > 1 and (unit := unit_column(recording)) is not None and d_in == 1:
        for example, data in islice(without_units(parts, unit), number):
            number -= 1
            yield example, Distance(1, -1, example.removed), *_with(recording, data)
    wanted = wishes(recording)
    tried = max(min(number, len(parts)), 1)
    some = [parts[turn * len(parts) // tried] for turn in range(tried)]
    for turn, (place, data) in enumerate(some):
        share = number // tried + (turn < number % tried)
        beside = [each for other, each in parts if other != place]
        known = {"unit": unit, "beside": beside} if unit is not None else {"beside": beside}
        try:
            made = neighbours_of(data, share, d_in=d_in, constants=wanted, seed=seed, **known)
        except ValueError:  # a batch that has no such column
            continue
        for each in made:
            example, distance, *rest = _one(recording, place, each, d_in)
            if unit is not None:
                distance = Distance(d_in, distance.way, each.removed + each.added)
            yield example, distance, rest[0], rest[1]


def _one(recording: Recording, place: int, each: Neighbour, d_in: int) -> Tried:
    way = (each.added > 0) - (each.removed > 0)
    example = Example(each.removed, each.added, each.reason, each.difference)
    return example, Distance(d_in, way), *_with(recording, {place: each.data})


def _is_iterable(value: Any) -> bool:
    try:
        iter(value)
    except TypeError:  # also of an array without dimensions
        return False
    return True


def _neighbour(dataset: Any, given: Any) -> Neighbour:
    """A data set as a neighbour."""
    if isinstance(given, Neighbour):
        return given
    if not isinstance(given, type(dataset)):
        raise TypeError(
            f"neighbours has {quoted(type(given))}; each should be of the form of the data, "
            f"{quoted(type(dataset))}"
        )
    try:
        longer = count_records(given) - count_records(dataset)
    except (TypeError, ValueError):
        longer = 0
    return Neighbour(given, max(-longer, 0), max(longer, 0), "", "a data set that was given")


def _alike(recording: Recording, findings: Findings, judged: Judged) -> None:
    """Hold the analysis on none of the rows, and on few of the start and of each batch."""
    parts = [*_parts(recording)]
    try:
        forms = {place: form_of_data(data, [each for _, each in parts]) for place, data in parts}
    except TypeError as error:
        findings.leave_out("what happens on few rows", str(error))
        return
    rows = sum(form.count for form in forms.values())
    for most in (0, _FEW):
        fewer = {
            place: form.edited(range(most, form.count), ())
            for place, form in forms.items()
            if most < form.count
        }
        if not fewer:
            continue
        left = rows - sum(max(form.count - most, 0) for form in forms.values())
        words = f"only the first {left} rows" if most else "no rows"
        example = Example(rows - left, 0, "", words)
        dataset, replaced = _with(recording, fewer)
        Again(recording, dataset, None, example, findings, judged, replaced).hold()


def _with(recording: Recording, data: Mapping[int, Any]) -> tuple[Any, dict[int, Told]]:
    """The data of the start, and the messages that differ, if some parts are replaced."""
    course = recording.course
    start = protected(data[0]) if 0 in data else course.dataset
    messages: dict[int, Told] = {}
    for place in data:
        if place:
            message = course.messages[place]
            query = Update(data[place], message.query.block)
            messages[place] = attrs.evolve(message, query=query)
    return start, messages
