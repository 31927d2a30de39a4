"""The effect that the body of an answer states, and what an opening makes of a wrong one."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import attrs
import pytest

import curator
import queryable as q
from composition import FiltCon
from curator.codec import entry_of
from curator.ledgers import Event, LedgerError
from curator.logs.effects import Effect, effects_of, entries_in
from curator.lost import Lost
from curator.verification.accounts import WrongAccountError
from curator.verification.effects import require_effect
from curator.verify import VerificationError, verify
from mechanisms import BrownianNoiseReduction, Count, Laplace, Open, SparseVector, column
from queryable.errors import HandleError
from queryable.faults import touching_data
from queryable.messages import AskMany, LaunchMany
from queryable.randomness.sealed import SealedCoins
from queryable.running.journal import Message
from queryable.view import Exchange
from tests.ledgers import at, chained_again
from tests.stored import KEY, STORED, MemoryLedger, ledger_of
from tests.strategies import Courier, RandomBits, RandomWord, Toy
from tests.unit.curator.logs.test_skimming import made_of

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


@attrs.frozen
class Broken(q.Measurement[int]):
    """Fails when it reads the data."""

    def loss(self, d_in: int) -> q.PureDP:
        return q.PureDP("1/100").group(d_in)

    def release(self, dataset: Any, coins: Any) -> int:
        return touching_data(lambda: int(dataset["no column"]))


@attrs.frozen
class Runner(Toy):
    """Answers launches without a charge."""

    def step(self, state: Any, query: Any, coins: Any = None) -> tuple[int, Any]:
        return state + 1, q.Launched(None, 7)


CODEC = STORED.joined([entry_of("tests.broken/1", Broken), entry_of("tests.runner/1", Runner)])
FILTER = FiltCon(q.ZCDP(1))
WORD = q.Launch(RandomWord(q.PureDP("1/100")))
OTHER_WORD = q.Launch(RandomWord(q.PureDP("1/200")))
BITS = q.Launch(RandomBits(q.PureDP("1/100")))
NESTED = q.Launch(FiltCon(q.PureDP("1/10")))
COURIER = q.Launch(Courier() @ FiltCon(q.PureDP("1/10")))
MUCH = q.Launch(RandomWord(q.PureDP(100)))
FAILS = q.Launch(Broken())
RETIRES = q.Launch(Lost(q.PureDP("1/100")))
SEARCH, ADULTS = q.Launch(SparseVector(-(10**6), epsilon="1/100")), Count(column("age") >= 18)
ESTIMATES = q.Launch(BrownianNoiseReduction() @ FiltCon(q.ZCDP("1/10")))
RUNNER = q.Launch(Runner(q.PureDP("1/100")))
MANY = LaunchMany((WORD, MUCH, FAILS))

SCRIPT: tuple[tuple[Any, Any], ...] = (
    (WORD, "measured"),
    (FAILS, "failed"),
    (BITS, "started"),
    (NESTED, "started"),
    (MUCH, "refused"),
    (MANY, ["measured", "refused", "failed"]),
    (LaunchMany((WORD, OTHER_WORD)), ["measured", "measured"]),
    (LaunchMany((WORD,)), ["measured"]),
    (LaunchMany((MUCH, MUCH)), ["refused", "refused"]),
    (LaunchMany((BITS, WORD)), ["started", "measured"]),
    (q.Ask(2, "bits"), "asked"),
    (SEARCH, "started"),
    (q.Ask(11, AskMany((ADULTS, ADULTS))), ["asked", "told"]),
    (q.Ask(3, WORD), "measured"),
    (q.Ask(3, MUCH), "refused"),
    (COURIER, "started"),
    (q.Ask(12, WORD), "measured"),
    (q.Ask(12, BITS), "started"),
    (q.Ask(12, q.PrivacyLossQuery()), "other"),
    (ESTIMATES, "started"),
    (q.Ask(13, Open(ADULTS, (100, 10))), "other"),
    (RUNNER, "started"),
    (q.Ask(14, WORD), "measured"),
    (RETIRES, "other"),
    (WORD, "measured"),
)
"""Messages, and the effect of each."""


def opened(ledger: MemoryLedger) -> q.Queryable:
    return curator.open(ledger, FILTER, {"age": [7, 31, 62]}, name="a", key=KEY, codec=CODEC)


def told(ledger: MemoryLedger) -> q.Queryable:
    """A root that was sent the script."""
    handle = opened(ledger)
    for query, _ in SCRIPT:
        with suppress(q.InteractiveError):
            handle._root.tell((), query)  # type: ignore[attr-defined]
    return handle


@cache
def events() -> list[Event]:
    """The events of the script."""
    ledger = MemoryLedger()
    told(ledger)
    return ledger.events["a"]


def answers(events: list[Event]) -> Iterator[tuple[int, Any]]:
    """The places of the events with effects, and these."""
    for place, event in enumerate(events):
        body = json.loads(event.body)
        if place > 1 and "answer" in body:
            yield place, body["effect"]


def test_effects_of_messages() -> None:
    found = [effect for _, effect in answers(events())]
    assert found == [effect for _, effect in SCRIPT]
    words = {word for each in found for word in (each if isinstance(each, list) else [each])}
    assert words == {*Effect} - {Effect.POLLED}


def test_a_tree_is_shown_as_before() -> None:
    """What a child has answered has no charge, and launches of one message are counted apart."""
    ledger = MemoryLedger()
    before = told(ledger)
    for _ in range(40):
        before.launch_many([WORD.mechanism, Laplace(Count(), epsilon="1/100")])
    again = opened(ledger_of(ledger.events["a"]))
    assert again.tree() == before.tree()
    assert again.explain() == before.explain()


QUESTIONS = AskMany((q.CanAfford(WORD), "bits", q.Ask(0, "bits")))


@pytest.mark.parametrize(("still", "polled"), [(True, "polled"), (False, "other")])
def test_effects_of_several_questions(still: bool, polled: str) -> None:
    """One that is passed on to a child has another path; its entry is not taken as the others."""
    told = (
        Exchange((2,), q.CanAfford(WORD), True),
        Exchange((2,), "bits", 7),
        Exchange((2, 0), "bits", 7),
    )
    coins = SealedCoins(KEY, "a", canonical=CODEC.encode)
    effects = effects_of(Message((2,), QUESTIONS, (), coins), told, still=still)
    assert effects == [polled, "asked", "other"]
    queries = json.loads(CODEC.encode(QUESTIONS))["queries"]
    entries = list(zip(queries, (True, 7, 7), strict=True))
    require_effect(effects, entries, CODEC, many=True, still=still)
    with pytest.raises(WrongAccountError, match="states the effect"):
        require_effect(effects, entries, CODEC, many=True, still=not still)


def test_entries_are_those_that_are_no_polls() -> None:
    assert entries_in(Effect.MEASURED) == 1
    assert entries_in([Effect.ASKED, Effect.POLLED, Effect.TOLD]) == 2


def wrong(effect: Any) -> Iterator[Any]:
    """Other effects: one word is another one or missing, or there are more or fewer words."""
    words = effect if isinstance(effect, list) else [effect]
    for place in range(len(words)):
        for word in (*map(str, Effect), "", None, 7, ["asked"]):
            if word != words[place]:
                other = [*words[:place], word, *words[place + 1 :]]
                yield other if isinstance(effect, list) else word
    yield from ([], {}, [*words, *words], words[0] if isinstance(effect, list) else words)


def forged() -> Iterator[tuple[list[Event], int, Any]]:
    """The events with each effect changed to each wrong one, with hashes that fit."""
    before = events()
    for place, effect in answers(before):
        for other in wrong(effect):
            changed = at(before, place, lambda body, other=other: body.update(effect=other))
            yield chained_again(changed), place, other


def test_a_wrong_effect_is_found_by_the_verifier() -> None:
    verify(events(), codec=CODEC)
    for changed, place, _ in forged():
        with pytest.raises(VerificationError, match=rf"event {place + 1} .* states the effect"):
            verify(changed, codec=CODEC)


def test_an_effect_that_is_missing_is_found_by_the_verifier() -> None:
    without = at(events(), 3, lambda body: body.pop("effect"))
    with pytest.raises(VerificationError, match="not what a curator writes: KeyError: 'effect'"):
        verify(chained_again(without), codec=CODEC)


def test_a_wrong_effect_leads_to_no_other_state() -> None:
    """The message is folded, or the root is not opened: its answer and charges tell what it did.

    Two facts are in the query alone, so only the verifier finds them: that a launch retires others,
    and that a question is several.
    """
    known, folded = cache(lambda count: standing(events()[:count])), 0
    for changed, place, other in forged():
        effect = json.loads(events()[place].body)["effect"]
        if (effect, other) in ((["asked", "told"], "asked"), ("other", "measured")):
            continue
        with suppress(HandleError, LedgerError):
            assert standing(changed[: place + 1]) == known(place + 1), (place, other)
            folded += 1
    assert folded > 100


def standing(events: list[Event]) -> Any:
    """What a root is that was opened with these events."""
    root = opened(ledger_of(events))._root
    now = root._now  # type: ignore[attr-defined]
    state = made_of(now.state, codec=CODEC)
    return state, now.coins.history, now.exchanges, root.handles._openings  # type: ignore[attr-defined]
