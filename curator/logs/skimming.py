"""`Skim`: makes the state of a root again from its log, and decodes only what changes it.

Most messages of a long analysis are launches of measurements, refusals, and questions to children
that are not run again until they are next asked. The body of an answer says so in its `effect`. Of
such a launch, the state has a place in the log and the account after it; of such a question, a
place in the child's list of messages; of a refusal, nothing. So neither their queries nor their
answers are decoded. Of the launch of a child, the mechanism is decoded, and its claim is computed
again. All other messages, also one whose claim has changed, are folded by
`queryable.running.folding`.

An effect is compared with the tag of the answer and with the charges, and a message is folded if
they disagree. Only the query says that a launch retires others, and that a question is several, so
there the effect is believed. The account of a compositor is the logged one after its last launch:
what was charged then. What was refused is what the log says was refused. The verifier computes all
of them again, and compares effects with whole queries and answers.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from composition import ExPost
from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import Claim, claim_of
from curator.codec import Codec
from curator.logs.batches import Batches
from curator.logs.effects import Effect
from curator.logs.gathering import Gathered
from curator.logs.person_states import Keeping
from curator.logs.reading import MessageReader, coins_at, entry_of
from curator.logs.requests import Requests
from curator.logs.story import LoggedMessage, charges_of, coins_of, past_of, request_of, same_by
from curator.logs.targets import Where
from queryable.conversation import Run
from queryable.conversation.recalling import Recall
from queryable.errors import QueryError
from queryable.mechanism import Measurement
from queryable.messages import Launch, Launched
from queryable.randomness.sealed import SealedCoins
from queryable.running.folding import fold, fold_update
from queryable.running.root import MemoryRoot
from queryable.running.telling import Tells

_EFFECTS = {str(each): each for each in Effect if each not in (Effect.POLLED, Effect.OTHER)}
_QUESTIONS = {Effect.ASKED, Effect.TOLD}
_LAUNCHES, _REFUSED = {Effect.MEASURED, Effect.FAILED, Effect.REFUSED}, {Effect.REFUSED}
_TAGS = {
    Effect.MEASURED: "launched/1",
    Effect.FAILED: "failed/1",
    Effect.STARTED: "launched/1",
    Effect.REFUSED: "refused/1",
}
_TELLS = {
    Effect.MEASURED: Tells.MEASURED,
    Effect.REFUSED: Tells.REFUSED,
    Effect.ASKED: Tells.NOTHING,
}
_RECEIPT = {"account", "charged", "d_in", "place"}

Effects = Sequence[Effect]
Charges = Sequence[dict[str, Any]]


class Skim:
    """Folds messages over a root, in order.

    Args:
        root: with the state after its opening.
        coins: those of the root, at any history.
        batches: gives the messages of the data's owner again.
        keeping: may have states of units.

    Attributes:
        requests: those that have been answered.
    """

    def __init__(
        self,
        root: MemoryRoot,
        reader: MessageReader,
        coins: SealedCoins,
        codec: Codec,
        batches: Batches,
        keeping: Keeping | None = None,
    ) -> None:
        self._root, self._coins, self._codec, self._batches = root, coins, codec, batches
        self._gathered = Gathered(root, reader, coins, codec, keeping)
        self.requests = Requests()

    def fold(self, messages: Iterable[LoggedMessage]) -> None:
        """Fold messages.

        Raises:
            HandleError: a message does not lead to its answer: the code is not the same.
            LedgerError: a batch is missing, or is another one.
        """
        last: LoggedMessage | None = None
        for message in messages:
            count = self._skimmed(message)
            if count:
                last = message
            else:
                if last is not None:
                    self._gathered.settle(last)
                    last = None
                count = self._folded(message)
                self._gathered.forget()
            if not message.fed:
                self.requests.add(request_of(message.asked), count, message.asked.get("on"))
        if last is not None:
            self._gathered.settle(last)

    def _folded(self, message: LoggedMessage) -> int:
        """Fold a message; how many entries it has."""
        asked, answered = message.asked, message.answered
        before = self._root.settled().exchanges
        if message.fed:
            batch = self._batches.again(asked["query"], asked.get("id"))
            dead = "retired" in asked
            fold_update(self._root, batch, coins_of(asked, self._coins), dead=dead)
        else:
            fold(self._root, [past_of(asked, answered, self._coins, self._codec)])
        return self._root.settled().exchanges - before

    def _skimmed(self, message: LoggedMessage) -> int:
        """Skim a message; how many entries it has, or 0 if it is to be folded."""
        effects = _effects_of(message)
        if not effects:
            return 0
        where, kinds = self._gathered.at(tuple(message.asked["path"])), {*effects}
        charges = charges_of(message.asked, message.answered)
        if Effect.STARTED in kinds:
            skims = self._start(message, where, charges)
        elif charges and kinds <= _LAUNCHES and kinds != _REFUSED:
            skims = _charge(message, where, effects, charges)
        else:
            skims = _pass(message, where, kinds, charges)
        if not skims:
            return 0
        told = [_TELLS.get(each, Tells.EXCHANGE) for each in effects]
        self._gathered.add(where, message.place, told, message.asked.get("names", ()))
        return len(effects)

    def _start(self, message: LoggedMessage, where: Where, charges: Charges) -> bool:
        """Take the launch of a child, whose mechanism and claim are decoded."""
        node, decode = where.compositor, self._codec.decode
        if node is None or type(node.mechanism) is ExPost or not _are_plain(charges, 1):
            return False
        launch, answer = decode(message.asked["query"]), decode(message.answered["answer"])
        if type(launch) is not Launch or type(answer) is not Launched:
            return False
        mechanism, identity = launch.mechanism, node.next_child
        if launch.d_out is not None or answer.child != identity:
            return False
        if isinstance(mechanism, Measurement) or mechanism.retires_others:
            return False
        claim = _claimed(node.mechanism, launch)
        if claim != Claim(mechanism, decode(charges[0]["charged"])):
            return False
        place = node.counted(message.place)
        coins = coins_of(message.asked, self._coins)
        recall = Recall(answer, same_by(self._codec))

        def toss() -> SealedCoins:
            return coins_at(coins, where.path, place).spawn(identity, 0)

        data = node.own.data
        if recall.holds(mechanism):
            moved = Run(mechanism, data, toss(), standing=recall)()
        else:
            moved = recall.started(mechanism, data if mechanism.converses else data.rows, toss)
        assert moved is not None
        node.launched.append(message.place)
        node.account = charges[0]["account"]
        self._gathered.start(where, node, claim, answer, moved.state)
        return True


def _effects_of(message: LoggedMessage) -> Effects:
    """The effect of each entry of a message; () if it is to be folded."""
    answered = message.answered
    if message.fed or message.interrupted or "retired" in answered:
        return ()
    words = answered.get("effect")
    try:
        answers = json.loads(answered["answer"])
    except ValueError:  # folding says what is wrong
        return ()
    if type(words) is not list:
        words, answers = [words], [answers]
    effects = [_EFFECTS[word] for word in map(str, words) if word in _EFFECTS]
    if type(answers) is not list or not len(effects) == len(words) == len(answers):
        return ()
    return effects if all(map(_agree, effects, answers)) else ()


def _agree(effect: Effect, answer: Any) -> bool:
    """Whether an answer may have an effect, by its tag."""
    tag = answer.get("@", "") if type(answer) is dict else ""
    if effect in _QUESTIONS:
        return bool(tag != "launched/1")
    return tag == _TAGS[effect] and ("child" in answer) is (effect is Effect.STARTED)


def _charge(message: LoggedMessage, where: Where, effects: Effects, charges: Charges) -> bool:
    """Take launches of measurements, some of which may be refused."""
    node = where.compositor
    if node is None or "still" in message.answered or not _are_plain(charges, len(effects)):
        return False
    for entry, effect in enumerate(effects):
        if effect is not Effect.REFUSED:
            node.launched.append(entry_of(message.place, entry))
    node.account = charges[-1]["account"]
    node.counted(message.place)
    return True


def _pass(message: LoggedMessage, where: Where, kinds: set[Effect], charges: Charges) -> bool:
    """Take questions, or launches that charge nothing."""
    refused = kinds == _REFUSED
    if Effect.MEASURED in kinds:
        return False
    if "still" in message.answered:
        return True
    if where.unit is not None and not charges:
        where.unit.asked.append(where.unit.counted(message.place))
        return True
    if where.compositor is not None and refused:
        where.compositor.counted(message.place)
        return True
    return False


def _are_plain(charges: Charges, count: int) -> bool:
    """Whether so many launches are charged, each for the mechanism that it names."""
    return len(charges) == count and all(
        charge.keys() == _RECEIPT and charge["place"] == place
        for place, charge in enumerate(charges)
    )


def _claimed(compositor: AdaptiveComposition, launch: Launch) -> Claim | None:
    """The claim of a launch, computed and proven again; None if that is not possible any more."""
    try:
        claim = claim_of(launch, compositor.proof.measure, compositor.d_in)
        compositor.proof.cover(claim.mechanism, compositor.d_in, coined=claim.coined)
    except QueryError:
        return None
    return claim
