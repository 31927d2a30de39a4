import hashlib
from random import Random

import attrs
import pytest

from curator.ledgers import KINDS, BrokenChainError, Event, chained, following


def series(count: int, root: str = "visits") -> list[Event]:
    events: list[Event] = []
    for number in range(count):
        last = events[-1] if events else None
        kind = KINDS[number % len(KINDS)]
        events.append(following(last, root, 1 + number // 5, kind, f'{{"n":{number},"text":"ä"}}'))
    return events


def test_the_hash_is_that_of_the_documentation() -> None:
    first = following(None, "ä", 3, "opened", "{}")
    assert first.hash == hashlib.sha256(b",1,3,opened,2,2;\xc3\xa4{}").hexdigest()
    second = following(first, "ä", 4, "intent", "[1]")
    text = f"{first.hash},2,4,intent,2,3;ä[1]"
    assert second.hash == hashlib.sha256(text.encode()).hexdigest()


def test_a_chain_holds_from_its_beginning_and_from_the_middle() -> None:
    events = series(20)
    assert list(chained(events)) == events
    assert list(chained(events[7:], after=events[6])) == events[7:]
    assert list(chained([])) == []


def test_changes_of_a_chain_are_found() -> None:
    events = series(20)
    other = series(20, "calls")
    fresh = following(events[8], "visits", 2, events[9].kind, "{}")
    back = following(events[8], "visits", 1, events[9].kind, events[9].body)
    for changed in (
        events[1:],  # the first is missing
        events[:9] + events[10:],
        [*events[:9], events[10], events[9], *events[11:]],
        events[:9] + events[8:],
        events[:9] + other[9:],
        [*events[:9], fresh, *events[10:]],
        [*events[:9], back],  # an epoch below that before
        [attrs.evolve(events[0], kind="other")],
        [attrs.evolve(events[0], body="\ud800")],  # not a text
    ):
        with pytest.raises(BrokenChainError, match="event"):
            list(chained(changed))
    with pytest.raises(BrokenChainError, match=r"root 'visits': event 3 is missing"):
        list(chained([*events[:2], events[3]]))


def test_every_single_bit_counts() -> None:
    """1,000 random changes of one bit of one field of one event, each of them found."""
    chance, events, found = Random(1), series(30), 0
    for _ in range(1000):
        place = chance.randrange(len(events))
        name = chance.choice([field.name for field in attrs.fields(Event)])
        changed = list(events)
        changed[place] = attrs.evolve(
            changed[place], **{name: flipped(getattr(changed[place], name), chance)}
        )
        with pytest.raises(BrokenChainError):
            list(chained(changed, after=None))
        found += 1
    assert found == 1000


def flipped(value: int | str, chance: Random) -> int | str:
    """The value with one bit changed."""
    if isinstance(value, int):
        return value ^ (1 << chance.randrange(8))
    data = bytearray(value.encode("utf-32-le"))
    place = 4 * chance.randrange(len(data) // 4)
    data[place] ^= 1 << chance.randrange(7)
    return data.decode("utf-32-le")


def test_an_event_follows_one_of_its_root() -> None:
    with pytest.raises(ValueError, match="belongs to root 'visits', not to 'calls'"):
        following(series(1)[0], "calls", 1, "intent", "{}")
