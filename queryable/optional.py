"""What a mechanism may define beyond the interface: for displays, `accuracy` and checks.

Few mechanisms define one of these members, so `InteractiveMechanism` does not have them. Where a
class does not, the default below holds. All of them depend on public facts alone.

* `public_name`, a property: the name in trees and ledgers. Default: the name of the class.
* `guarantee()`: a `Guarantee`, the texts of `explain`. Default: the docstring's Privacy section.
* `added_noise()`: a `Noise`, where the answer is a number plus noise. Default: unknown.
* `events()`: the `Event`s that it draws from in all, for one record; None, if all that is stated
  is a loss. Default: None.
* `answer_unit`, a rational: what one unit of the answer stands for in the units of the column; None
  if the estimate is no multiple of one number. Default: 1.
* `right_from(questions, missed)`: from which distance to its threshold on the first answers of a
  mechanism that compares are all right, but for the probability `missed`. Default: it does not
  compare.
* `account()`: the empty `RunningTotal` of a compositor whose answers carry receipts. Default: none.
* `account_below()`: the same of a compositor behind a person whose answers state what they cost.
  Default: none.
* `started_with()`: the children that the opening answer is about, by id and in its order.
  Default: no children.
* `require_growing()`: raises if it keeps the data of its launch, and says why. Default: it raises
  if `growth` is None, and gives no reason.
* `as_filter(d_out, d_in)`: the mechanism that runs when this one is launched with `d_out`, stated
  at `d_in`. Default: itself. An odometer returns a filter with the budget `d_out`.
* `interleaves`, a bool: whether a launch leaves earlier children alive. Default: True.
* `same_records`, a bool: whether all that is launched in it reads the same records, unless the data
  grow. Default: True.
* `height`, a number: how many mechanisms are nested in it at most, one in another; `nested` checks
  it. Default: 0.
* `effort`, an `Effort`: what its start takes, or its release, without that of mechanisms in it.
  Default: `Effort()`.
* `divides_by`: the column by whose cells it divides the rows among mechanisms, or the function of a
  row; None if it does not. Data whose rows it cannot divide are refused, and nothing is charged.
* `asks()`: a mechanism, and the list of queries that it will be asked, which is checked before a
  launch is charged (`dry_runs`). Default: nothing.
* `imagined()`: an answer of the form that its answers have, where a person who launches it does the
  same whatever the numbers are. Dry runs go on with it. Default: none.
* `tosses_elsewhere`, a bool: whether it has noise that does not come from its coins, so that equal
  coins give other answers. It runs with the system's coins only. Default: False.
* `repeats`, a number: how often each mechanism that it holds is run, where that is expected to be
  more than once. Default: 1.
* `priced(launches)`, of a person in the middle: the loss of what it would launch if it were asked
  what these launches answer; `recommend` compares it with theirs. Default: unknown.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from queryable.answers.noisy import Noise
from queryable.effort import Effort
from queryable.errors import QueryError
from queryable.events.laws import Event
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import ChildId
from queryable.receipts import RunningTotal
from queryable.wording.guarantees import Guarantee, documented

NO_RUN = "no run"
"""In the metadata of a field: a mechanism in it is a description, and is never run."""

_EFFORT = Effort()
_LONGEST_LABEL = 60
LONGEST_NAME, END_OF_NAME = 100, 45
_LONGEST_FULL_NAME = 2000


def public_name(mechanism: Any) -> str:
    """The public name of a mechanism or statistic, on one line and at most 100 characters long.

    What is left out of a longer name is in the middle: the end says how many rows are counted.
    """
    return one_line(_name_of(mechanism), LONGEST_NAME, END_OF_NAME)


def full_name(mechanism: Any) -> str:
    """The public name on one line, with up to 2,000 characters: what was asked, for the ledger."""
    return one_line(_name_of(mechanism), _LONGEST_FULL_NAME, END_OF_NAME)


def _name_of(mechanism: Any) -> str:
    try:
        text = mechanism.public_name
    except Exception:  # not defined, or it fails
        text = None
    return text if isinstance(text, str) and text.strip() else type(mechanism).__name__


def one_line(text: str, longest: int = _LONGEST_LABEL, end: int = 0) -> str:
    """A text on one line, shortened, without characters that move a terminal's cursor.

    Args:
        longest: the number of characters that are kept.
        end: how many of them are the last ones of the text.
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    if len(line) <= longest:
        return line
    return f"{line[: longest - end - 3]}...{line[len(line) - end :]}"


def guarantee(mechanism: Any) -> Guarantee:
    """The guarantee in words; empty where the mechanism's own method fails."""
    if not isinstance(mechanism, InteractiveMechanism):
        return Guarantee()
    try:
        words = _called(mechanism, "guarantee", documented(type(mechanism)))
    except Exception:
        return Guarantee()
    return words if isinstance(words, Guarantee) else Guarantee()


def added_noise(mechanism: Any) -> Noise | None:
    """The noise that is added to a number to make the answer; None where it is not known."""
    if not isinstance(mechanism, InteractiveMechanism):
        return None
    noise: Noise | None = _called(mechanism, "added_noise", None)
    return noise


def events(mechanism: Any) -> tuple[Event, ...] | None:
    """What it draws from in all, for one record; None where that is not stated."""
    if not isinstance(mechanism, InteractiveMechanism):
        return None
    try:
        stated = _called(mechanism, "events", None)
    except Exception:  # of a mechanism of the user's own
        return None
    known = isinstance(stated, tuple) and all(isinstance(each, Event) for each in stated)
    return stated if known else None


def answer_unit(mechanism: Any) -> Fraction | None:
    """What one unit of the answer stands for in the units of the column; None if it has none."""
    unit: Fraction | None = getattr(mechanism, "answer_unit", Fraction(1))
    return unit


def empty_account(mechanism: InteractiveMechanism[Any]) -> RunningTotal | None:
    """The empty account of a compositor; None where answers carry no receipts."""
    account: RunningTotal | None = _called(mechanism, "account", None)
    return account


def account_below(mechanism: InteractiveMechanism[Any]) -> RunningTotal | None:
    """The empty account of a compositor below a person that states its costs; None elsewhere."""
    account: RunningTotal | None = _called(mechanism, "account_below", None)
    return account


def started_with(
    mechanism: InteractiveMechanism[Any],
) -> Mapping[ChildId, InteractiveMechanism[Any]]:
    """The children that the opening answer is about, in the order of that answer."""
    children: Mapping[ChildId, InteractiveMechanism[Any]] = _called(mechanism, "started_with", {})
    return children


def divides_by(mechanism: Any) -> Any:
    """The column, or the function of a row, by which it divides rows; None if it does not."""
    return getattr(mechanism, "divides_by", None)


def interleaves(mechanism: Any) -> bool:
    """Whether a launch leaves earlier children alive."""
    return bool(getattr(mechanism, "interleaves", True))


def same_records(mechanism: Any) -> bool:
    """Whether all that is launched in it reads the same records, unless the data grow."""
    return bool(getattr(mechanism, "same_records", True))


def tosses_elsewhere(mechanism: Any) -> bool:
    """Whether it has noise that does not come from its coins."""
    return bool(getattr(mechanism, "tosses_elsewhere", False))


def effort(mechanism: InteractiveMechanism[Any]) -> Effort:
    """What its start takes, or its release, without that of mechanisms in it."""
    stated: Effort = getattr(mechanism, "effort", _EFFORT)
    return stated


def as_filter(
    mechanism: InteractiveMechanism[Any], d_out: Loss, d_in: int
) -> InteractiveMechanism[Any]:
    """The mechanism that runs when this one is launched with `d_out` (Haney et al., Lemma 2.19)."""
    method = getattr(mechanism, "as_filter", None)
    within: InteractiveMechanism[Any] = mechanism if method is None else method(d_out, d_in)
    return within


def require_growing(mechanism: InteractiveMechanism[Any]) -> None:
    """Check that a mechanism takes batches of records.

    Raises:
        QueryError: it keeps the data that it was launched on. Its own `require_growing` may say
            why.
    """
    if mechanism.growth is None:
        _called(mechanism, "require_growing", None)
        name = type(mechanism).__name__
        raise QueryError(f"{name} keeps the data that it was launched on; nothing has changed")


def _called(mechanism: InteractiveMechanism[Any], name: str, default: Any) -> Any:
    method = getattr(mechanism, name, None)
    return default if method is None else method()
