"""`Skim`: makes the state of a root again from its log, and decodes only what changes it.

Most messages of a long analysis are launches of measurements, refusals, and questions to children
that are not run again until they are next asked. Of such a launch, the state has a place in the log
and the account after it; of such a question, a place in the child's list of messages; of a refusal,
nothing. All of it follows from the text of the message, which is in canonical form, and needs no
value to be made. Of the launch of a child, the mechanism is decoded, and its claim is computed
again. All other messages, also one whose claim has changed, are folded by
`queryable.running.folding`.

The account of a compositor is the logged one after its last launch: what was charged then. What was
refused is what the log says was refused. The verifier computes all of them again.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from composition import ExPost
from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import Claim, claim_of
from curator.batches import Batches
from curator.codec import Codec
from curator.gathering import Gathered, Names
from curator.keeping import Keeping
from curator.ledgers import Event
from curator.reading import Reader, coins_at, entry_of
from curator.requests import Request, Requests, entries_in
from curator.several import FAILED, LAUNCHED, OTHER, REFUSED, account_after, outcomes, questions
from curator.story import past_of, request_of, same_by
from curator.targets import Where
from queryable.conversation import Run
from queryable.conversation.recalling import Recall
from queryable.errors import QueryError
from queryable.mechanism import Measurement
from queryable.messages import Launch, Launched
from queryable.randomness.sealed import SealedCoins
from queryable.running.folding import fold, fold_update
from queryable.running.root import MemoryRoot
from queryable.running.telling import Tells, tells

# Parts of bodies as `journal.written` spells them. A quotation mark within a text has a backslash
# before it, so a part with bare ones can only be where the fields of the body are.
_CHARGED, _FREE = '"charges":[{"account":"', '"history":"'
_CHARGE, _D_IN, _HISTORY = '","charged":"', '","d_in":', '}],"history":"'
_ONE = re.compile(r'","d_in":[0-9]+,"place":0')
_HEX = 64
_BODY, _KEY = '"body":"', '","key":"'
_PATH, _QUERY, _NAMES, _N = ',"path":', ',"query":"', ',"names":', '","n":'
_ON = ',"on":'
_READ = json.JSONDecoder().raw_decode
_LAUNCH = r"{\"@\":\"launch/1\",\"mechanism\":{\"@\":\""
_TAG, _ONE_LAUNCH = r"{\"@\":\"", r"{\"@\":\"launch/1\","
_D_OUT, _MECHANISM = r"{\"@\":\"launch/1\",\"d_out\":{", r"},\"mechanism\":{\"@\":\""
_WITH_D_OUT = re.compile(re.escape(_D_OUT) + "[^{}]*" + re.escape(_MECHANISM))
_ASKS, _LAUNCHES = (rf"{{\"@\":\"{tag}/" for tag in ("ask-many", "launch-many"))
_FOLDED = tuple(
    rf"{{\"@\":\"{tag}/"
    for tag in (
        "ask",
        "can-afford",
        "measure-query",
        "privacy-loss-query",
        "block-loss-query",
        "blocks-query",
    )
)
_ANSWER, _MORE, _STILL, _END = '{"answer":"', '","charges":[', '","still":true}', '"}'
_LAUNCHED, _REFUSED = (rf"{{\"@\":\"{tag}\"" for tag in (LAUNCHED, REFUSED))
_FAILED, _CHILD, _STARTED = rf"{{\"@\":\"{FAILED}\"}}", r"\"child\":", rf"\"{LAUNCHED}\""


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
        reader: Reader,
        coins: SealedCoins,
        codec: Codec,
        batches: Batches,
        keeping: Keeping | None = None,
    ) -> None:
        self._root, self._coins, self._codec, self._batches = root, coins, codec, batches
        self._gathered = Gathered(root, reader, coins, codec, keeping)
        self._measurements: dict[str, bool] = {}
        self._tells: dict[str, Tells] = {}
        self._alone: set[str] = set()
        self._request: Request | None = None
        self._since: int | None = None
        self.requests = Requests()

    def fold(self, messages: Iterable[tuple[Event, Event]]) -> None:
        """Fold messages: the event with the query, and the one with the answer.

        Raises:
            HandleError: a message does not lead to its answer: the code is not the same.
            LedgerError: a batch is missing, or is another one.
        """
        requests, gathered = self.requests, self._gathered
        last: tuple[Event, Event] | None = None
        for asked, answered in messages:
            self._request = self._since = None
            if asked.kind == "update":
                count = 0
            elif answered is asked:
                count = self._exchanged(asked)
            elif answered.seq != asked.seq + 1:
                count = 0  # it was run again
            else:
                count = self._intended(asked, answered)
            if count:
                last = (asked, answered)
                requests.add(self._request, count, self._since)
                continue
            if last is not None:
                gathered.settle(*last)
                last = None
            body, answer = json.loads(asked.body), json.loads(answered.body)
            if asked.kind == "update":
                self._grow(body)
                continue
            fold(self._root, [past_of(body, answer, self._coins, self._codec)])
            count = entries_in(body, answer, self._codec)
            requests.add(request_of(body), count, body.get("on"))
            gathered.forget()
        if last is not None:
            gathered.settle(*last)

    def _grow(self, body: dict[str, Any]) -> None:
        """Fold a message of the data's owner."""
        coins = self._coins.resumed(bytes.fromhex(body["history"]), body["n"])
        message = self._batches.again(body["query"], body.get("id"))
        fold_update(self._root, message, coins, dead="retired" in body)
        self._gathered.forget()

    # Each of these returns how many entries a message has; 0 if it is to be folded.

    def _exchanged(self, event: Event) -> int:
        """Skim an exchange: a refusal, a question that read no data, or the launch of a child."""
        body, place = event.body, event.seq
        query = body.find(_QUERY)
        start = body.rfind(_PATH, 0, query)
        if start < 0 or not body.startswith(_ANSWER):
            return 0
        history = body.rfind(_FREE, 0, start) + len(_FREE)
        numbers = body[history + _HEX : start]
        if not self._numbered(body, numbers):
            return 0
        where = self._gathered.at(body[start + len(_PATH) : query])
        names = _names_of(numbers)
        if body.startswith(_LAUNCHED, len(_ANSWER)):
            return self._started(event, event, where, names)
        query += len(_QUERY)
        if _STARTED in body or body.startswith(_FOLDED, query):
            return 0
        told: Sequence[Tells] = [self._told(body)]
        refused = body.startswith(_REFUSED, len(_ANSWER))
        if body.startswith((_ASKS, _LAUNCHES), query):
            told = self._several(body, query, body)
            refused = {*told} == {Tells.REFUSED}
        elif refused and body.startswith(_ONE_LAUNCH, query):
            told = [Tells.REFUSED]
        if not refused and (names or not told or body.startswith(_LAUNCHES, query)):
            return 0
        if not body.endswith(_STILL):
            if not body.endswith(_END):
                return 0
            if where.unit is not None and body.find(_MORE, 0, start) < 0:
                where.unit.asked.append(where.unit.counted(place))
            elif where.compositor is not None and refused:
                where.compositor.counted(place)
            else:
                return 0
        self._gathered.add(where, place, told, names)
        return len(told)

    def _intended(self, asked: Event, answered: Event) -> int:
        """Skim a message that was intended and answered."""
        start = 1
        if asked.body.startswith(_BODY, start):
            start += len(_BODY) + _HEX + 2
        if not answered.body.startswith(_ANSWER):
            return 0
        if not answered.body.endswith(f'","of":{asked.seq}}}'):
            return 0
        if asked.body.startswith(_CHARGED, start):
            return self._launched(asked, answered, start + len(_CHARGED))
        if asked.body.startswith(_FREE, start):
            return self._asked(asked, answered, start + len(_FREE))
        return 0

    def _launched(self, asked: Event, answered: Event, account: int) -> int:
        """Skim a launch; the account of its first receipt starts there."""
        body, answer, place = asked.body, answered.body, asked.seq
        history = body.find(_HISTORY, account)
        charged = body.find(_CHARGE, account, history)
        end = body.find(_D_IN, charged, history)
        query = body.find(_QUERY, history)
        numbers, _, path = body[history + len(_HISTORY) + _HEX : query].partition(_PATH)
        if charged < 0 or end < 0 or not self._numbered(body, numbers):
            return 0
        where, names = self._gathered.at(path), _names_of(numbers)
        query += len(_QUERY)
        node, after = where.compositor, body[account:charged]
        told: Sequence[Tells] = [Tells.MEASURED]
        if node is None:
            return 0
        if body.startswith(_LAUNCHES, query):
            told = self._several(body, query, answer)
            start = body.rfind("[", 0, account)
            after = account_after(json.loads(body[start : history + len("}]")]), len(told))
            if not after:
                return 0
        elif not self._is_alone(body[end:history]):
            return 0
        elif not self._measures(body, query):
            return self._started(asked, answered, where, names)
        elif answer == f'{_ANSWER}{_FAILED}","of":{place}}}':
            told = [Tells.EXCHANGE]
        elif _CHILD in answer or not answer.startswith(_LAUNCHED, len(_ANSWER)):
            return 0
        spots = [entry_of(place, at) for at, each in enumerate(told) if each is not Tells.REFUSED]
        if not spots:
            return 0
        node.launched += spots
        node.account = after
        node.counted(place)
        self._gathered.add(where, place, told, names)
        return len(told)

    def _started(self, asked: Event, answered: Event, where: Where, names: Names) -> int:
        """Skim the launch of a child, whose mechanism and claim are decoded."""
        node, first, last = where.compositor, json.loads(asked.body), json.loads(answered.body)
        if node is None or type(node.mechanism) is ExPost or "still" in last or "retired" in last:
            return 0
        receipts = first.get("charges", [])
        after = account_after(receipts, 1)
        launch, answer = self._codec.decode(first["query"]), self._codec.decode(last["answer"])
        if not after or type(launch) is not Launch or type(answer) is not Launched:
            return 0
        mechanism, identity = launch.mechanism, node.next_child
        if launch.d_out is not None or answer.child != identity:
            return 0
        if isinstance(mechanism, Measurement) or mechanism.retires_others:
            return 0
        claim = _claimed(node.mechanism, launch)
        if claim != Claim(mechanism, self._codec.decode(receipts[0]["charged"])):
            return 0
        place = node.counted(asked.seq)
        coins = self._coins.resumed(bytes.fromhex(first["history"]), first["n"])
        recall = Recall(answer, same_by(self._codec))

        def toss() -> SealedCoins:
            return coins_at(coins, where.path, place).spawn(identity, 0)

        data = node.own.data
        if recall.holds(mechanism):
            moved = Run(mechanism, data, toss(), standing=recall)()
        else:
            moved = recall.started(mechanism, data if mechanism.converses else data.rows, toss)
        assert moved is not None
        node.launched.append(asked.seq)
        node.account = after
        self._gathered.start(where, node, claim, answer, moved.state)
        self._gathered.add(where, asked.seq, [Tells.EXCHANGE], names)
        return 1

    def _asked(self, asked: Event, answered: Event, history: int) -> int:
        """Skim a question to a unit; the history starts there."""
        body, answer, place = asked.body, answered.body, asked.seq
        query = body.find(_QUERY)
        numbers, _, path = body[history + _HEX : query].partition(_PATH)
        if not self._numbered(body, numbers) or _NAMES in numbers or _STARTED in answer:
            return 0
        query += len(_QUERY)
        told: Sequence[Tells] = [self._told(answer)]
        if body.startswith((*_FOLDED, _LAUNCHES), query):
            return 0
        if body.startswith(_ASKS, query):
            told = self._several(body, query, answer)
        where = self._gathered.at(path)
        if where.unit is None or not told:
            return 0
        where.unit.asked.append(where.unit.counted(place))
        self._gathered.add(where, place, told)
        return len(told)

    def _several(self, body: str, query: int, answer: str) -> Sequence[Tells]:
        """What each of several launches or questions tells; () if they are to be folded."""
        asked, _ = _READ(body, query - 1)
        told, _ = _READ(answer, len(_ANSWER) - 1)
        if body.startswith(_LAUNCHES, query):
            return outcomes(asked, told, self._is_measurement)
        return [self._told_by(tag) for tag in questions(asked, told)]

    def _told(self, body: str) -> Tells:
        """What a question tells whose answer is at the start of a body."""
        start = len(_ANSWER)
        if body.find(_MORE) >= 0:
            return Tells.EXCHANGE
        if not body.startswith(_TAG, start):
            return self._told_by(OTHER)
        start += len(_TAG)
        return self._told_by(body[start : body.find('\\"', start)])

    def _told_by(self, tag: str) -> Tells:
        """What a question tells by the tag of its answer."""
        told = self._tells.get(tag)
        if told is None:
            classes = self._codec.classes_of(tag)
            quiet = tag == OTHER or (classes and not any(map(tells, classes)))
            told = self._tells[tag] = Tells.NOTHING if quiet else Tells.EXCHANGE
        return told

    def _numbered(self, body: str, numbers: str) -> bool:
        """Whether these are a message's number, and its time and request key if it has them."""
        _, _, since = numbers.rpartition(_ON)
        self._since = int(since) if since.isdecimal() else None
        if numbers.startswith(_N):
            return True
        if not numbers.startswith(_KEY):
            return False
        key, _, rest = numbers[len(_KEY) :].partition(_N)
        start = body.find(_BODY) + len(_BODY)
        self._request = Request(key, body[start : start + _HEX])
        return bool(rest)

    def _is_alone(self, text: str) -> bool:
        """Whether a receipt is the only one, and that of the launched mechanism itself."""
        if text not in self._alone and _ONE.fullmatch(text):
            self._alone.add(text)
        return text in self._alone

    def _measures(self, body: str, start: int) -> bool:
        """Whether the query that starts here launches a measurement."""
        if body.startswith(_LAUNCH, start):
            start += len(_LAUNCH)
        elif found := _WITH_D_OUT.match(body, start):
            start = found.end()
        else:
            return False
        return self._is_measurement(body[start : body.find('\\"', start)])

    def _is_measurement(self, tag: str) -> bool:
        """Whether a tag is that of measurements."""
        known = self._measurements.get(tag)
        if known is None:
            classes = self._codec.classes_of(tag)
            known = bool(classes) and all(map(_is_plain, classes))
            self._measurements[tag] = known
        return known


def _claimed(compositor: AdaptiveComposition, launch: Launch) -> Claim | None:
    """The claim of a launch, computed and proven again; None if that is not possible any more."""
    try:
        claim = claim_of(launch, compositor.proof.measure, compositor.d_in)
        compositor.proof.cover(claim.mechanism, compositor.d_in, coined=claim.coined)
    except QueryError:
        return None
    return claim


def _is_plain(kind: type) -> bool:
    """Whether a launch of this class answers at once, and leaves all other children alive."""
    return issubclass(kind, Measurement) and kind.retires_others is False


def _names_of(numbers: str) -> Names:
    """The names in the fields before the path; () if there are none."""
    start = numbers.find(_NAMES)
    if start < 0:
        return ()
    names, _ = _READ(numbers, start + len(_NAMES))
    return tuple(names)
