"""An error that quotes data does not reach the analyst, whatever runs what raises it.

Of each subject of the laws, all that runs inside another mechanism, or is launched by a query,
fails at its launch with a `QueryError` that quotes a record. A mechanism that runs others itself,
as selections do, could take it for a wrong query. Coins are seeded: a selection with a random
number of runs may run nothing.
"""

from typing import Any

import pytest

from queryable import InteractiveMechanism, Queryable, QueryError, SeededCoins
from queryable.checks.held import held
from queryable.errors import MechanismFault
from queryable.messages import is_owners
from tests.instances.functions import DATA
from tests.laws.subjects import SUBJECTS, Subject

QUOTED = "the record is 7"


def inside(subject: Subject) -> set[type]:
    """The classes of mechanisms that run inside others."""
    values = (subject.mechanism, *(each for each in subject.script if not is_owners(each)))
    kinds = {type(each) for value in values for each in held(value)}
    found = {each for each in kinds if issubclass(each, InteractiveMechanism)}
    return found - {type(subject.mechanism)}


HOLDERS = [each for each in SUBJECTS if inside(each)]


@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
@pytest.mark.parametrize("subject", HOLDERS, ids=str)
def test_an_error_that_quotes_data_does_not_reach_the_analyst(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[type] = []

    def fails(self: Any, *_: Any) -> Any:
        tried.append(type(self))
        raise QueryError(QUOTED)

    for kind in inside(subject):
        monkeypatch.setattr(kind, "init", fails)
    try:
        queryable = Queryable(subject.mechanism, DATA, coins=SeededCoins(1), allow_seeded=True)
    except MechanismFault as error:
        told, script = [repr(error)], ()
    else:
        told, script = [repr(queryable.opening)], subject.script
    for query in script:
        with_data = is_owners(query)
        try:
            told.append(repr((queryable._root.feed if with_data else queryable.ask)(query)))
        except Exception as error:
            told.append(repr(error))
    assert tried, "nothing inside was run"
    assert not [each for each in told if QUOTED in each]


def test_what_runs_others_is_among_the_subjects() -> None:
    names = {each.name for each in HOLDERS}
    assert {"Best", "FirstGood", "Scripted", "ConComp", "FiltCon", "ExPost"} <= names
