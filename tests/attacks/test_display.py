"""Pictures of an interaction show only what its answers contain.

Two runs over neighbouring data whose answers are forced to be equal, by noise that makes up for the
difference; their states differ. Whatever is shown of them must be the same to the letter.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import pytest

from composition import FiltCon, Parallel, Partition
from mechanisms import Count, Laplace, SparseVector, column
from queryable import (
    ZCDP,
    InteractiveError,
    InteractiveMechanism,
    PureDP,
    Queryable,
    Statistic,
)
from queryable.checks.protection import ROW
from queryable.display.history import TreeHistory
from queryable.display.text import as_text

HERE = {"age": [30, 40, 50], "part": ["a", "a", "b"]}
GONE = {"age": [40, 50], "part": ["a", "b"]}


@attrs.define
class Scripted:
    """Coins whose draws are written down."""

    draws: list[Any]

    def draw(self, law: Any, size: Any = None) -> Any:
        return self.draws.pop(0)

    def spawn(self, child: Any, message: int) -> "Scripted":
        return self


def failing(data: Any) -> int:
    raise ValueError(f"there are {len(data['age'])}")


def session(data: Any, draws: list[int], mechanism: InteractiveMechanism[Any]) -> Queryable:
    """A count, a failure, a sparse vector, parts, a refusal; `draws` make up for the data."""
    q = Queryable(mechanism, data, coins=Scripted(draws), allow_seeded=True)
    assert q.launch(Laplace(Count(), scale=10), name="count") == 7
    with suppress(InteractiveError):
        q.launch(Laplace(Statistic(failing, l1=1, l2=1), scale=10))
    sparse = q.launch(SparseVector(20, "0.1", cutoff=2))
    assert sparse.ask(Count(column("age") >= 30)) is False
    parts = Partition("part", ["a", "b"])
    filters = {name: FiltCon(PureDP("0.2")) for name in ("a", "b")}
    parallel = q.launch(Parallel(parts, filters))
    assert parallel.children["a"].launch(Laplace(Count(), scale=10)) == 5
    with suppress(InteractiveError):
        q.launch(Laplace(Count(), epsilon=100))
    return q


#          count  threshold  comparison  part
WITH = [4, 1, 0, 3]
WITHOUT = [5, -2, 4, 4]

SHOWN: dict[str, Callable[[Queryable], str]] = {
    "tree": lambda q: q.tree(),
    "html": lambda q: q._repr_html_(),
    "ledger": lambda q: q.ledger().to_json(),
    "ledger text": lambda q: str(q.ledger()),
    "ledger csv": lambda q: q.ledger().to_csv(),
    "ledger html": lambda q: q.ledger().to_html(),
    "explanation": lambda q: q.explain(),
    "repr": repr,
    "a part": lambda q: q.children[3].children["a"].tree(),
    "frame": lambda q: q.ledger().to_pandas().to_csv(),
}


@pytest.mark.parametrize("mechanism", [FiltCon(PureDP(2)), FiltCon(ZCDP(1))], ids=str)
@pytest.mark.parametrize("shown", SHOWN)
def test_equal_answers_give_equal_pictures(shown: str, mechanism: Any) -> None:
    here, gone = session(HERE, [*WITH], mechanism), session(GONE, [*WITHOUT], mechanism)
    assert SHOWN[shown](here) == SHOWN[shown](gone)


def test_a_picture_of_states_would_differ() -> None:
    """The states of the runs above differ in their noise."""

    def noise(q: Queryable) -> int:
        return int(q._root._now.state.children[2].state.threshold_noise)

    here = session(HERE, [*WITH], FiltCon(PureDP(2)))
    gone = session(GONE, [*WITHOUT], FiltCon(PureDP(2)))
    assert noise(here) != noise(gone)


def test_everything_shown_is_a_function_of_the_view() -> None:
    """A history made of the exchanges alone, without handle or state, is the same."""
    q = session(HERE, [*WITH], FiltCon(PureDP(2)))
    again = TreeHistory(q._root.mechanism, q.view.opening, enumerate(q.view), {0: "count"})
    assert as_text(again.root, ROW) == q.tree()


def test_no_value_of_the_data_is_shown() -> None:
    secret = {"age": [31337, 31337, 31337], "part": ["a", "a", "b"]}
    q = session(secret, [*WITH], FiltCon(PureDP(2)))
    for show in SHOWN.values():
        assert not re.search("31337|there are", show(q))
