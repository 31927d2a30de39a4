"""A queryable on a ledger gives the view that one in memory gives with the same coins."""

import inspect
import re
from typing import Any

import pytest

import composition
import curator
import mechanisms
import queryable as q
from composition import Rule
from composition.rules.base import Accumulator
from mechanisms import Table
from queryable.errors import RetiredChildError
from queryable.messages import AskMany, LaunchMany, unnested, without_receipts
from queryable.statistics import Releasable
from tests import stored
from tests.curator.cases import CASES, TAGGED, Case, Named, kinds_in, visits
from tests.stored import KEY, MemoryLedger, coins_of, opening_of

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def told(handle: q.Queryable, query: Any, by_path: bool) -> None:
    """Send a query that is legal; refusals and failures are in the view."""
    path: list[Any] = []
    names: tuple[str | None, ...] = ()
    if isinstance(query, Named):
        path, query, names = [*query.path], query.query, query.names
    while by_path and type(query) is q.Ask:
        path, query = [*path, query.child], query.query
    try:
        if isinstance(query, LaunchMany | AskMany):
            handle._outcomes(tuple(path), query, names)
        else:
            whole = (*path, *unnested(query)[0])  # where a child is that it launches
            handle._delivered(whole, handle._root.tell(tuple(path), query, names))
    except (q.QueryRefusedError, q.MechanismFault, RetiredChildError, q.PrivacyClaimError):
        pass


def opened(ledger: MemoryLedger, case: Case) -> q.Queryable:
    return curator.open(ledger, case.mechanism, case.data(), name="a", key=KEY, codec=TAGGED)


def view_of(handle: q.Queryable) -> list[bytes]:
    """The opening and the view as texts."""
    return [TAGGED.encode(without_receipts(handle._root.opening)), *stored.view_of(handle, TAGGED)]


def charges_of(handle: q.Queryable) -> list[str]:
    """The rows of the ledger, without the number of each among all exchanges, polls included."""
    return [re.sub(r"^\d+ *", "", line) for line in str(handle.ledger()).splitlines()[1:]]


def tree_of(handle: q.Queryable) -> list[str]:
    """The tree without what polls reported."""
    return [line for line in handle.tree().splitlines() if "last reported" not in line]


def in_memory(ledger: MemoryLedger, case: Case) -> q.Queryable:
    data = case.data()
    if isinstance(data, Table):
        data = data.with_seed(int(opening_of(ledger, "a")["seed"]))
    return q.Queryable(case.mechanism, data, coins=coins_of(ledger, "a", TAGGED), allow_seeded=True)


LONG = {"Individual on a table", "Individual within FiltCon"}
"""Cases of a second or more. In the quick run `test_replays.py` has the first."""
ADDRESSED = [
    pytest.param(
        case,
        by_path,
        id=f"{case}, {'to children' if by_path else 'through the root'}",
        marks=pytest.mark.slow if (not by_path and place % 12) or case.name in LONG else (),
    )
    for place, case in enumerate(CASES)
    for by_path in (False, True)
    if by_path or case.data is not visits  # each restart opens a table again
]
"""How a message gets to a child is a matter of the handle: in the quick run, of every 12th."""


@pytest.mark.parametrize(("case", "by_path"), ADDRESSED)
def test_a_ledger_gives_the_view_of_memory(case: Case, by_path: bool) -> None:
    """Byte for byte; and with a restart after each message, the same again.

    On a table, which each restart opens again, after the first and every eighth.
    """
    once, often = MemoryLedger(), MemoryLedger()
    on_ledger = opened(once, case)
    opened(often, case)
    often.events["a"], often.epochs = [*once.events["a"]], {"a": once.epochs["a"]}
    memory = in_memory(once, case)
    restarted, step = opened(often, case), 8 if case.data is visits else 1
    for number, query in enumerate(case.script):
        told(memory, query, by_path)
        told(on_ledger, query, by_path)
        if number % step == 0:
            restarted = opened(often, case)
        told(restarted, query, by_path)
        assert view_of(restarted) == view_of(memory)
    assert view_of(on_ledger) == view_of(memory)
    last = opened(often, case)
    assert view_of(last) == view_of(opened(once, case)) == view_of(memory)
    assert charges_of(last) == charges_of(memory)
    assert tree_of(last) == tree_of(memory)
    assert {*last.children} == {*memory.children}


def exported(*kinds: type) -> set[type]:
    """The concrete classes of these kinds that the packages export."""
    everything = (
        getattr(each, name) for each in (composition, mechanisms) for name in each.__all__
    )
    return {
        each
        for each in everything
        if inspect.isclass(each) and issubclass(each, kinds) and not inspect.isabstract(each)
    }


def test_everything_exported_is_a_case() -> None:
    """Mechanisms, compositors, persons, rules, odometers and statistics."""
    found = {kind for case in CASES for kind in kinds_in((case.mechanism, case.script))}
    kinds = (q.InteractiveMechanism, q.PersonInTheMiddle, Rule, Accumulator, Releasable)
    missing = sorted(each.__name__ for each in exported(*kinds) - found)
    assert not missing, f"add a Case of {missing} to tests/curator/cases.py"
