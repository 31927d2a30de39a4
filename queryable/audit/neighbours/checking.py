"""`on_neighbours`: the analysis of a queryable, held again on neighbours of its data.

Responsible for which neighbours are tried. `recording` holds the analysis on its own data, `again`
on one neighbour.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from queryable.audit.neighbours.again import Again
from queryable.audit.neighbours.courses import Recalled, Told
from queryable.audit.neighbours.findings import Example, Findings
from queryable.audit.neighbours.judged import Judged
from queryable.audit.neighbours.movements import Distance
from queryable.audit.neighbours.recording import Recording, recorded
from queryable.audit.neighbours.report import NeighbourReport
from queryable.audit.neighbours.wishes import wishes
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
        HandleError: it is an analyst's queryable, or that of a child; or its data have grown and
            the batches were not kept (`keep_batches`).
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
    for place, data in _parts(recording):
        _alike(recording, place, data, findings, judged)
    tried, d_in = 0, at_least_one(d_in, "d_in")
    for place, each in _chosen(recording, neighbours, d_in, seed):
        tried += 1
        way = (each.added > 0) - (each.removed > 0)
        example = Example(each.removed, each.added, each.reason, each.difference)
        dataset, replaced = _with(recording, place, each.data)
        distance = Distance(d_in, way)
        Again(recording, dataset, distance, example, findings, judged, replaced).hold()
    count, renewed = len(course.messages), recording.renewed
    return NeighbourReport.of(findings, neighbours=tried, messages=count, renewed=renewed)


def _parts(recording: Recording) -> Iterator[tuple[int, Any]]:
    """The data of the start and of each batch, with the places of their messages."""
    course = recording.course
    yield 0, course.dataset
    for place in course.batches:
        yield place, course.messages[place].query.records


def _chosen(
    recording: Recording, neighbours: int | Iterable[Any], d_in: int, seed: int
) -> Iterator[tuple[int, Neighbour]]:
    """The neighbours, each with the place of the message whose data differ."""
    if not isinstance(neighbours, int) or isinstance(neighbours, bool):
        if isinstance(neighbours, bool) or not isinstance(neighbours, Iterable):
            raise TypeError(
                f"neighbours is {quoted(neighbours)}; it should be how many, or a list of data sets"
            )
        dataset = recording.course.dataset
        yield from ((0, _neighbour(dataset, each)) for each in neighbours)
        return
    number, parts = natural(neighbours, "neighbours"), [*_parts(recording)]
    wanted = wishes(recording)
    for turn, (place, data) in enumerate(parts):
        share = number // len(parts) + (turn < number % len(parts))
        if share:
            made = neighbours_of(data, share, d_in=d_in, constants=wanted, seed=seed)
            yield from ((place, each) for each in made)


def _neighbour(dataset: Any, given: Any) -> Neighbour:
    """A data set as a neighbour."""
    if isinstance(given, Neighbour):
        return given
    try:
        longer = count_records(given) - count_records(dataset)
    except (TypeError, ValueError):
        longer = 0
    return Neighbour(given, max(-longer, 0), max(longer, 0), "", "a data set that was given")


def _alike(recording: Recording, place: int, data: Any, findings: Findings, judged: Judged) -> None:
    """Hold the analysis on none of the rows of one part, and on few."""
    try:
        form = form_of_data(data)
    except TypeError as error:
        findings.leave_out("what happens on few rows", str(error))
        return
    for most in (0, _FEW):
        if most < form.count:
            rows = form.edited(range(most, form.count), ())
            example = Example(form.count - most, 0, "", f"only {most} rows" if most else "no rows")
            dataset, replaced = _with(recording, place, rows)
            Again(recording, dataset, None, example, findings, judged, replaced).hold()


def _with(recording: Recording, place: int, data: Any) -> tuple[Any, dict[int, Told]]:
    """The data of the start, and the messages that differ, if one part is replaced."""
    course = recording.course
    if place == 0:
        return protected(data), {}
    message = course.messages[place]
    query = Update(data, message.query.block)
    return course.dataset, {place: attrs.evolve(message, query=query)}
