"""What is read of a log: bodies that no curator writes, messages, and their times."""

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

import curator
from composition import FiltCon
from curator.ledgers import Event, LedgerError
from curator.logs.requests import RequestKey, Requests
from curator.logs.story import Telling
from queryable import Launch, PureDP
from tests.ledgers import chained_again, events_of
from tests.stored import KEY, STORED, ledger_of
from tests.strategies import RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

FILTER, DATA = FiltCon(PureDP(1)), (1, 2, 3)
FEW, MUCH = (Launch(RandomWord(PureDP(epsilon))) for epsilon in ("1/100", 100))
INTENT, ANSWER, EXCHANGE = 2, 3, 4


def without(field: str) -> Callable[[str], str]:
    def changed(text: str) -> str:
        body: dict[str, Any] = json.loads(text)
        del body[field]
        return json.dumps(body)

    return changed


@pytest.mark.parametrize(
    ("place", "change"),
    [
        *((place, lambda _: "[]") for place in (ANSWER, EXCHANGE)),
        *((place, lambda text: text[:-1]) for place in (INTENT, ANSWER, EXCHANGE)),
        *((place, lambda text: text + " {}") for place in (INTENT, ANSWER, EXCHANGE)),
        *(
            (place, without(field))
            for place in (INTENT, EXCHANGE)
            for field in ("n", "history", "path", "query")
        ),
        *((place, without("answer")) for place in (ANSWER, EXCHANGE)),
        (ANSWER, without("of")),
    ],
)
def test_a_body_that_no_curator_writes(place: int, change: Callable[[str], str]) -> None:
    events = events_of(FILTER, (FEW, MUCH), DATA)
    assert [event.kind for event in events[INTENT:]] == ["intent", "answer", "exchange"]
    event = attrs.evolve(events[place], body=change(events[place].body))
    changed: list[Event] = chained_again([*events[:place], event, *events[place + 1 :]])
    with pytest.raises(LedgerError, match=r"is not what a curator writes|is out of order"):
        curator.open(ledger_of(changed), FILTER, DATA, name="a", key=KEY, codec=STORED)


def test_messages_and_their_answers() -> None:
    """A message of one event has one body; one that was run again was interrupted."""
    events = events_of(FILTER, (FEW, MUCH), DATA)
    one, other = Telling(events).messages()
    assert (one.place, other.place) == (3, 5)
    assert one.asked == json.loads(events[INTENT].body)
    assert one.answered == json.loads(events[ANSWER].body)
    assert other.asked is other.answered
    assert [(each.interrupted, each.fed) for each in (one, other)] == [(False, False)] * 2
    again = attrs.evolve(events[ANSWER], kind="again", body='{"of":3}')
    answer = attrs.evolve(events[ANSWER], seq=5)
    (one,) = Telling([*events[:ANSWER], again, answer]).messages()
    assert one.interrupted


def test_the_time_of_an_entry_is_that_of_its_message() -> None:
    requests = Requests()
    requests.add(None, 1, 50)
    requests.add(RequestKey("0" * 32, "1" * 64), 2, 50)
    requests.add(None, 0, 55)  # polls are no entries
    requests.add(None, 1)  # of a ledger without times
    requests.add(None, 1, 60)
    requests.add(None, 1, 58)  # the clock was set back
    found = [requests.time_of(entry) for entry in range(requests.entries)]
    assert found == [50, 50, 50, None, 60, 58]
    assert Requests().time_of(0) is None
