"""What is refused because of public sizes: losses, rounds, tables, rows. Reads no data."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from mechanisms.synthetic.domain import Columns
from mechanisms.synthetic.fit_queries import Fit
from mechanisms.synthetic.fitting import LEAST_VARIANCE, MOST_VARIANCE
from mechanisms.synthetic.spending import MOST_ROUNDS, Round, first_round
from mechanisms.synthetic.workload import cells_of_model
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from queryable.effort import STEPS, refused, require_short_answer, take
from queryable.errors import QueryError
from queryable.losses import ZCDP
from queryable.losses.numbers import at_least_one, natural, positive, shown

MOST_CELLS = 10**7
"""The largest number of cells of the tables in which a model or an answer is computed."""
_LEAST_LOSS = Fraction(1, 10**12)
_MOST_ROWS = 1_000_000
_MOST_VALUES = 10_000_000
_QUICK_CELLS = 1 << 18
_STEPS_OF_FIT = STEPS // 2
_STEPS_OF_COLUMN = 20
_STEPS_OF_MARGINAL = 2_000
_CELLS_A_STEP = 20
_CHARACTERS_OF_LABEL = 3


def rounds_field(value: Any) -> int | None:
    """Check the rounds of a person.

    Raises:
        TypeError, ValueError: they are no number of rounds.
    """
    return None if value is None else at_least_one(value, "rounds", MOST_ROUNDS)


def cells_field(value: Any) -> int:
    """Check the largest number of cells of a model.

    Raises:
        TypeError, ValueError: it is none.
    """
    return at_least_one(value, "max_cells", MOST_CELLS)


def require_whole_units(per: PrivacyUnit | None) -> None:
    """Check that the same rows are counted, whatever they are grouped by.

    Raises:
        ValueError: they depend on the groups.
    """
    if per is not None and (per.max_groups, per.max_rows_per_group) != (None, None):
        raise ValueError(
            "per should be a privacy unit without max_groups and max_rows_per_group: with them, "
            "which rows are counted depends on the columns that are measured"
        )


def fit_of(query: Fit) -> tuple[Fraction, int | None]:
    """The loss and the rounds of a fit.

    Raises:
        QueryError: they are none.
    """
    try:
        loss = query.loss.rho if isinstance(query.loss, ZCDP) else query.loss
        loss = positive(loss, "loss")
        rounds = None if query.rounds is None else natural(query.rounds, "rounds")
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None
    if not loss >= _LEAST_LOSS:
        raise QueryError(f"loss is {shown(loss)}; it should be at least 10**-12")
    if rounds is not None and not rounds <= MOST_ROUNDS:
        raise QueryError(f"rounds is {rounds}; it should be at most {MOST_ROUNDS}")
    return loss, rounds


def require_quick(rounds: int | None, max_cells: int, columns: int) -> None:
    """Check that a fit is short enough, where long ones are not allowed. Its steps are counted.

    Args:
        columns: of the model, times the number of its candidates.

    Raises:
        QueryError: it is too long, or the message has no more steps.
    """
    if (rounds is None or rounds > 1 or max_cells > _QUICK_CELLS) and refused():
        raise QueryError(
            "ask Fit(loss, rounds=1) here, one round a message, of a Synthetic whose max_cells "
            f"is at most {_QUICK_CELLS}: a fit takes long"
        )
    if not take(_STEPS_OF_FIT + columns * _STEPS_OF_COLUMN):
        raise QueryError(
            "ask for one fit in a message, and launch a Synthetic of fewer columns or a "
            "smaller workload: the choice takes too long for a curator that others ask too"
        )


def require_quick_choice(tables: Sequence[int]) -> None:
    """Count the steps of a choice.

    Args:
        tables: for each marginal that is compared, the cells of the tables for it.

    Raises:
        QueryError: it takes too long, where long ones are not allowed.
    """
    many, cells = len(tables), sum(tables)
    if not take(many * _STEPS_OF_MARGINAL + cells // _CELLS_A_STEP):
        raise QueryError(
            "launch a Synthetic with a smaller workload or smaller max_cells: to choose among "
            f"{many} marginals, the rows are counted for each, and tables of {cells} cells are "
            "computed, which takes too long for a curator that others ask too"
        )


def planned_round(loss: Fraction, rounds: int, l2: Fraction) -> Round:
    """One of so many equal rounds.

    Args:
        l2: how far a marginal moves.

    Raises:
        QueryError: its noise is too small or too large to compute with.
    """
    planned = first_round(loss, rounds)
    # the last round gets the rest of the loss: all of it at most, and a thousandth of a round
    if not l2**2 / (2 * loss) >= LEAST_VARIANCE:
        raise QueryError(f"loss is {shown(loss)}; ask for less: there would be almost no noise")
    if not 1000 * l2**2 / (2 * planned.measuring) <= MOST_VARIANCE:
        raise QueryError(
            f"loss is {shown(loss)}; give more, or fewer rounds: the noise of a round would be too "
            "large to compute with"
        )
    return planned


def require_small(sets: Iterable[Columns], sizes: tuple[int, ...]) -> None:
    """Check that the model's count of some columns can be computed.

    Raises:
        QueryError: the tables would be too large.
    """
    cells = cells_of_model(sets, sizes)
    if not cells <= MOST_CELLS:
        raise QueryError(
            f"ask about fewer columns at once: the model would need tables of {cells} cells for "
            f"it, and {MOST_CELLS} is the most"
        )
    if not take(cells // _CELLS_A_STEP):
        raise QueryError(
            f"ask about fewer columns at once: tables of {cells} cells take too long for a curator "
            "that others ask too; ask for a part in a further message"
        )


def characters_of(sizes: Iterable[int]) -> int:
    """About how many characters measurements of so many counts have, as a ledger has them."""
    return sum(300 + 8 * size for size in sizes)


def rows_of(rows: Any, columns: int) -> int:
    """The number of rows that are sampled.

    Raises:
        QueryError: it is none, or too large.
    """
    try:
        many = natural(rows, "rows")
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None
    most = min(_MOST_ROWS, _MOST_VALUES // columns)
    if not many <= most:
        raise QueryError(f"rows is {many}; it should be at most {most}")
    if not take(many * columns):
        raise QueryError(
            f"rows is {many}; ask a curator for at most {STEPS // columns} rows of {columns} "
            "columns in one message, and for more in further ones"
        )
    require_short_answer(many * columns * _CHARACTERS_OF_LABEL, "rows")
    return many
