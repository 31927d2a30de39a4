"""Whether what a launch or a query holds fits the data, decided before a charge.

Responsible for comparing mechanisms and statistics with what is public about the data: the
description of a table, its blocks, and whom it protects. No row is read, so a refusal says nothing
about one.
"""

from fractions import Fraction
from typing import Any

from queryable.checks.datasets import Described, protects
from queryable.checks.dry_runs import require_script
from queryable.checks.held import held, times_of
from queryable.checks.kinds import kind_of
from queryable.checks.protection import (
    level_of,
    require_charged_for,
    whom,
)
from queryable.conversation.recalling import recalling
from queryable.data.facts import Facts, base_of
from queryable.data.rows import column_names
from queryable.effort import is_quick
from queryable.errors import QueryError
from queryable.mechanism import InteractiveMechanism
from queryable.optional import (
    divides_by,
    one_line,
    public_name,
)
from queryable.statistics import Checked
from queryable.streams import levels as streams
from queryable.wording.quoting import quoted


def require_opening(dataset: Any, mechanism: InteractiveMechanism[Any]) -> None:
    """Check that a root may be opened with this mechanism over these data. Reads no rows.

    Its claim is about what the data protect, or about units of its own.

    Raises:
        QueryError: it does not fit the data, as for `require_launchable`.
    """
    require_answerable(dataset, mechanism)
    whom(mechanism, protects(dataset))


def require_launchable(dataset: Any, mechanism: InteractiveMechanism[Any]) -> None:
    """Check that a compositor over these data may launch a mechanism, and charge its claim.

    Raises:
        QueryError: it does not fit the data, as for `require_answerable`; or its claim does not
            hold for what the data protect, units or rows.
    """
    found = require_answerable(dataset, mechanism)
    require_charged_for(protects(dataset), mechanism, found)


def require_answerable(dataset: Any, holder: Any) -> list[Any]:
    """Check that what a launch or query holds fits what is public about the dataset.

    All mechanisms, persons and statistics in it are checked, wherever they are nested. The result
    depends on the message and the description, never on a row. So a wrong column name is not
    charged, and the error may quote it. A user's own functions are not checked.

    Args:
        holder: a mechanism, a statistic, or anything in which they may be.

    Returns:
        What it holds; see `held`.

    Raises:
        QueryError: a statistic does not fit, or a mechanism cannot do with the data what it does at
            its start, or a list of queries is never answered.
    """
    base = base_of(dataset)
    found = held(holder)
    kinds = [kind_of(each) for each in found]
    for each, kind in zip(found, kinds, strict=True):
        if kind.mechanism:
            _require_startable(dataset, base, each)
    for each, kind in zip(found, kinds, strict=True):
        if kind.checked:
            why = _objection(base, each)  # the schema is that of all batches
            if why is not None:
                what = "table" if isinstance(base, Described) else "data"
                raise QueryError(
                    f"{why}. {public_name(each)} does not fit the {what}; nothing is charged"
                )
    for each, kind in zip(found, kinds, strict=True):
        asks = getattr(each, "asks", None) if kind.mechanism else None
        if asks is not None and not recalling():
            mechanism, queries = asks()  # while recalling, this was checked before
            times = times_of(holder, each) if is_quick() else Fraction(1)
            require_script(mechanism, queries, dataset, times)
    return found


def _require_startable(dataset: Any, base: Any, mechanism: InteractiveMechanism[Any]) -> None:
    """Check that a mechanism can do with the data what it does at its start. Reads no rows.

    Raises:
        QueryError: it divides rows, and the data protect units, which may have rows in several
            parts, or their rows are not read one by one, or there is no such column; or there is
            no column that names the units that it counts by; or it counts the blocks of units, and
            the data have blocks whose rows it cannot read again; or it answers about batches, and
            none reaches the data.
    """
    if type(dataset) is Facts and not dataset.fed:
        _require_no_batches(mechanism, "this filter")
    key = divides_by(mechanism)
    why = None if key is None else _indivisible(base, key)
    level = level_of(mechanism)
    if isinstance(level, streams.UserLevel | streams.BlockLevel):
        why = why or _no_units(dataset, base, level)
    if why is not None:
        raise QueryError(f"{why}. Nothing is charged")


def require_no_batches(mechanism: Any, name: str) -> None:
    """Check that a mechanism answers about the records of its launch, not about later batches.

    Args:
        name: what it is launched in, which passes no batches on.

    Raises:
        QueryError: it counts batches, or reads the blocks that they belong to.
    """
    for each in held(mechanism):
        _require_no_batches(each, name)


def _require_no_batches(mechanism: Any, name: str) -> None:
    growth = mechanism.growth if isinstance(mechanism, InteractiveMechanism) else None
    if growth is not None and growth.about_batches:
        raise QueryError(
            f"{type(mechanism).__name__} answers about batches that arrive, and {name} passes none "
            f"on: launch it beside it, in a FiltCon for both. Nothing is charged"
        )


def _no_units(dataset: Any, base: Any, level: streams.UserLevel | streams.BlockLevel) -> str | None:
    """Why a mechanism cannot count by these units; None if it can."""
    names = column_names(base)
    if names is not None and level.column not in names:
        listed = ", ".join(map(quoted, names)) or "none"
        column = quoted(level.column)
        return f"there is no column {column} that names units; the columns are {listed}"
    blocks = dataset.blocks if isinstance(dataset, Described | Facts) else ()
    unread = isinstance(base, Described) and blocks and not base.gives_rows
    if isinstance(level, streams.BlockLevel) and unread:
        return (
            f"the blocks of each {level.column} are counted as their records arrive, and these "
            "data have blocks already; launch it before the first block"
        )
    return None


def _indivisible(dataset: Any, key: Any) -> str | None:
    """Why rows cannot be divided by a column, or by a function of a row; None if they can."""
    whose = protects(dataset).whose
    if whose is not None:
        return (
            f"these data protect all rows of one {one_line(whose)}, which may be in several parts: "
            "use group_by, or one filter for all"
        )
    if isinstance(dataset, Described) and not dataset.gives_rows:
        return "these data are in a database or joined, and cannot be divided into parts"
    names = column_names(dataset)
    if isinstance(key, str) and names is not None and key not in names:
        return f"there is no column {quoted(key)} to divide rows by"
    return None


def _objection(dataset: Any, statistic: Checked) -> str | None:
    try:
        if isinstance(dataset, Described):
            dataset.check(statistic)
        else:
            statistic.check(dataset)
    except (KeyError, TypeError, ValueError) as error:
        return str(error.args[0]) if error.args else type(error).__name__
    except Exception:  # it may hold more than public facts; the launch will hide it
        return None
    return None
