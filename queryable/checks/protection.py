"""Whom a claim protects: one fact, derived from the tree of mechanisms.

Responsible for the levels that a mechanism and all that it runs state, for comparing them with what
the data protect, and for saying in words whom a claim is about. A compositor charges for what the
data protect, so each level in what it launches has to hold for that. The claim of a root may be
about units of its own. Knows no data but what is public about them.
"""

from collections.abc import Iterable
from typing import Any

import attrs

from queryable.checks.held import held, once
from queryable.errors import PrivacyClaimError, QueryError
from queryable.mechanism import InteractiveMechanism
from queryable.optional import one_line
from queryable.streams.levels import BlockLevel, DataLevel, EventLevel, Neighbours, UserLevel

Levels = tuple[Neighbours, ...]
_OF_UNITS = (UserLevel, BlockLevel)
_LEVELS = (DataLevel, EventLevel, *_OF_UNITS)


@attrs.frozen
class Protected:
    """What one step between neighbouring datasets is, in words. Public.

    Attributes:
        unit: what is added or removed, a word such as "row" or "patient".
        extent: how much of a unit is counted, or what the protection does not cover.
        whose: a column that names the units; None if they are rows or records.
    """

    unit: str = attrs.field(converter=one_line)
    extent: str
    whose: str | None = None

    def __str__(self) -> str:
        return f"one {self.unit}: {self.extent}"

    def changed(self, d_in: int) -> str:
        """The step to a dataset that differs in `d_in` units."""
        one = f"one {self.unit}{' with all its rows' if self.whose is not None else ''}"
        if d_in == 1:
            return f"adding or removing {one}"
        if d_in == 2:
            return f"replacing {one} by another (or adding or removing two)"
        return f"adding or removing {d_in:,} {self.unit}s"

    @property
    def assumes(self) -> str:
        """What is assumed about persons."""
        has = f"one {self.unit}" if self.whose is None else f"one value of {one_line(self.whose)}"
        return f"Each person has {has}; for a person with k of them, read privacy_loss(d_in=k)."


_ALONE = "each {} on its own, even if several belong to one person"
ROW = Protected("row", _ALONE.format("row"))
RECORD = Protected("record", _ALONE.format("record"))


def levels_of(mechanism: InteractiveMechanism[Any], inside: Iterable[Any] | None = None) -> Levels:
    """The `neighbours` of a mechanism and of each mechanism that it runs, each once.

    The claim is about data, or streams, that are neighbours at every one of them.

    Args:
        inside: what the mechanism holds, where that is known already; see `held`.

    Raises:
        PrivacyClaimError: one of them does not say whom it protects.
    """
    return once(mechanism, _levels_of, inside)


def _levels_of(mechanism: InteractiveMechanism[Any], inside: Iterable[Any] | None) -> Levels:
    found = dict[Neighbours, None]()
    for each in held(mechanism) if inside is None else inside:
        if isinstance(each, InteractiveMechanism):
            level = level_of(each)
            if level is not None:
                found[level] = None
    return tuple(found)


def level_of(mechanism: InteractiveMechanism[Any]) -> Neighbours | None:
    """What a mechanism states itself; None if it protects what those in it protect.

    Raises:
        PrivacyClaimError: it does not state a level.
    """
    try:
        level = mechanism.neighbours
        if level is None or type(level) in _LEVELS:
            return level
    except Exception:  # a class of somebody's own
        pass
    name = type(mechanism).__name__
    raise PrivacyClaimError(f"{name} does not say whom it protects: its neighbours are no level")


def require_charged_for(
    data: Protected, mechanism: InteractiveMechanism[Any], inside: Iterable[Any] | None = None
) -> None:
    """Check that the claim holds for what the data protect, which is what a launch is charged for.

    Args:
        inside: what the mechanism holds, where that is known already; see `held`.

    Raises:
        QueryError: the data protect units, and a mechanism in it only single records; or the data
            protect single records, and a mechanism in it bounds what a unit may do, not a record.
    """
    name = type(mechanism).__name__
    for level in levels_of(mechanism, inside):
        if data.whose is None:
            _require_for_rows(level, name)
        else:
            _require_for_units(data.whose, level, name)


def whom(mechanism: InteractiveMechanism[Any], data: Protected | None = None) -> Protected:
    """Whom the claim of a mechanism that runs alone is about.

    It is what the data protect; or the units that all mechanisms in it protect, where these protect
    them over data that protect single records.

    Args:
        data: what the data protect; None if there are none yet.

    Raises:
        QueryError: nobody, over such data.
    """
    levels = levels_of(mechanism)
    of_units = [each for each in levels if isinstance(each, UserLevel | BlockLevel)]
    columns = {each.column for each in of_units}
    if data is not None and data.whose is not None:
        require_charged_for(data, mechanism)
        return data if not of_units else _unit(levels, data)
    alone = len(columns) == 1 and len(of_units) == len(levels)
    elsewhere = data is None and len(columns) == 1 and EventLevel() not in levels
    if alone or (elsewhere and too_few_for_rows(levels) is not None):
        return _unit(of_units, None)
    for level in levels:
        _require_for_rows(level, type(mechanism).__name__)
    return RECORD if data is None else data


def too_few_for_rows(levels: Iterable[Neighbours]) -> str | None:
    """What to change so that claims about units hold for one record; None if they do.

    A record that comes first may displace the last one of its unit that counted, so two records
    differ, perhaps in two blocks. A claim about units covers that if two or more of a unit count.
    """
    blocks, records = dict[str, None](), dict[str, None]()
    for level in levels:
        if isinstance(level, BlockLevel) and level.max_blocks < 2:
            blocks[level.column] = None
        if isinstance(level, UserLevel | BlockLevel) and level.max_records == 1:
            records[level.column] = None
    advice = [f"two blocks of each {column}" for column in blocks]
    advice += [f"two records of each {column}" for column in records]
    return f"let {' and '.join(advice)} count" if advice else None


def _unit(levels: Iterable[Neighbours], data: Protected | None) -> Protected:
    """The unit that all of these levels protect, and how much of it counts."""
    extents, column = dict[str, None](), None
    for level in levels:
        if data is not None and not isinstance(level, UserLevel):
            extents[data.extent] = None
        if isinstance(level, UserLevel | BlockLevel):
            column = level.column
            bounded = data is not None  # then the data bound the records in a block
            words = level.blocks if bounded and isinstance(level, BlockLevel) else level.counted
            extents[words] = None
    assert column is not None
    return Protected(column if data is None else data.unit, "; ".join(extents), column)


def _require_for_rows(level: Neighbours, name: str) -> None:
    """Check that a claim at this level holds for one record."""
    advice = too_few_for_rows([level]) if type(level) in _OF_UNITS else None
    if advice is not None:
        raise QueryError(
            f"these data protect single records, and {name} protects {level}. One record more may "
            f"take the place of another one there, and then two differ: {advice}. Nothing is "
            "charged"
        )


def _require_for_units(whose: str, level: Neighbours, name: str) -> None:
    if isinstance(level, DataLevel):
        return
    if isinstance(level, UserLevel | BlockLevel) and level.column == whose:
        return
    raise QueryError(
        f"these data protect all rows of one {one_line(whose)}, and {name} protects {level}. State "
        f"neighbours=UserLevel({whose!r}, max_records) where it takes that, or unit={whose!r} in "
        "Blocks; nothing is charged"
    )
