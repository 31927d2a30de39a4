"""Messages as rows, whatever was asked: what a page and a report show of each.

Responsible for the row of a query that is no launch, and for answers as short texts and as small
tables. The ledger has the rows of launches.
"""

from reprlib import Repr
from typing import Any

import attrs

from queryable.answers.estimates import LabelledEstimate
from queryable.answers.noisy import Remarked
from queryable.display.ledger import LedgerRow, row_of
from queryable.display.nodes import ANSWERED, FAILED, HALTED, REFUSED, asked_by, is_launch, is_paid
from queryable.messages import Answer, Failed, Halted, Launched, Refused
from queryable.optional import one_line
from queryable.statistics import IntegerStatistic
from queryable.view import Exchange

LONGEST = 120
"""The number of characters of a short text."""

_OUTCOMES = {Failed: FAILED, Halted: HALTED, Refused: REFUSED}


@attrs.frozen
class AnswerTable:
    """The first rows of an answer with several estimates, as texts.

    Attributes:
        about: the confidence of the intervals, and what they hold for; empty if there are none.
        head: the names of the columns: those of keys, then "estimate", "low" and "high".
        keys: how many of the columns have keys.
        left_out: how many rows are not among `rows`.
        notes: what whoever reads the numbers may overlook.
    """

    about: str
    head: tuple[str, ...]
    keys: int
    rows: tuple[tuple[str, ...], ...]
    left_out: int
    notes: tuple[str, ...] = ()


def row_of_any(number: int, name: str | None, exchange: Exchange) -> LedgerRow:
    """The row of a message: that of the ledger, or one without a charge if it is no launch."""
    if is_launch(exchange) or is_paid(exchange):
        return row_of(number, name, exchange)
    outcome = _OUTCOMES.get(type(exchange.answer), ANSWERED)
    asked = _asked(exchange.query)
    return LedgerRow(number, exchange.path, name, "", asked, None, None, None, outcome)


def _asked(query: Any) -> str:
    return (
        one_line(query.asked, LONGEST) if isinstance(query, IntegerStatistic) else asked_by(query)
    )


def brief(answer: Answer, longest: int = LONGEST) -> str:
    """An answer as a text on one line; a refusal or a failure has its outcome, so it has none."""
    if isinstance(answer, Launched) and answer.child is not None:
        return f"child {one_line(str(answer.child))}"
    answer = _given(answer)
    if answer is None:
        return ""
    try:
        table = table_of(answer)
        if table is not None:
            text = _as_text(table)
        elif isinstance(answer, LabelledEstimate):  # what was asked has the title
            text = str(answer).removeprefix(f"{answer.title}: ").replace("\n", "; ")
        elif isinstance(answer, Remarked):
            text = str(answer)
        else:
            text = _briefly(longest).repr(answer)
    except Exception:  # an int of too many digits, or nested too deep
        return f"<{type(answer).__name__}>"
    return one_line(text, longest)


def table_of(answer: Answer, most: int = 20) -> AnswerTable | None:
    """The first rows of an answer that has several estimates; None for other answers."""
    given = _given(answer)
    if not isinstance(given, LabelledEstimate) or not given.axes:
        return None
    try:
        head, rows, keys = given.as_texts(most)
        about = given.caption.removeprefix(given.title).removeprefix("; ")
        return AnswerTable(about, head, keys, rows, given.count - len(rows), given.notes)
    except Exception:  # its numbers are of a mechanism of somebody's own
        return None


def _given(answer: Answer) -> Any:
    """What was released; None where nothing was."""
    given = answer.answer if isinstance(answer, Launched) and answer.child is None else answer
    return None if isinstance(given, Launched | Refused | Halted | Failed) else given


def _as_text(table: AnswerTable) -> str:
    """The rows one after another: "F: 120 (110 to 130); M: 95 (85 to 105)"."""
    parts = [_row_text(row[: table.keys], row[table.keys :]) for row in table.rows]
    left = [f"and {table.left_out:,} more"] if table.left_out else []
    return "; ".join([*parts, *left, *(f"note: {each}" for each in table.notes)])


def _row_text(keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = [" to ".join(values[at : at + 2]) for at in range(1, len(values), 2)]
    intervals = f" ({'; with sampling about '.join(pairs)})" if pairs else ""
    return f"{', '.join(keys)}: {values[0]}{intervals}"


class _Briefly(Repr):
    """Texts of answers; long ones are not written out first."""

    def repr_Fraction(self, value: Any, level: int) -> str:  # noqa: N802 (the library's)
        """An exact number, rounded."""
        return f"{float(value):.6g}"

    def repr_ndarray(self, value: Any, level: int) -> str:
        """The first elements of an array."""
        return self.repr_list(value.ravel()[: self.maxlist + 1].tolist(), level)

    def repr_NoisyArray(self, value: Any, level: int) -> str:  # noqa: N802 (the library's)
        """The first elements, and that they are no exact ones."""
        return f"{self.repr_ndarray(value, level)} (with noise)"


def _briefly(longest: int) -> _Briefly:
    found = _Briefly()
    found.maxother = found.maxstring = found.maxlong = longest
    return found
