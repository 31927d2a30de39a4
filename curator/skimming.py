"""`Skim`: makes the state of a root again from its log, and decodes only what changes it.

Most messages of a long analysis are launches of measurements and questions to children that are not
run again until they are next asked. Of such a launch, the state has a place in the log and the
account after it; of such a question, a place in the child's list of messages. Both follow from the
text of the message, which is in canonical form, and need no value to be made. All other messages,
such as launches of children, are folded by `queryable.running.folding`.

The account of a compositor is the logged one after its last launch: what was charged then. The
verifier computes all of them again.
"""

import json
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import attrs

from composition import ExPost, Filt, FiltCon, Odom, OdomCon
from composition.compositors.children import Child
from composition.compositors.logged import with_logged
from composition.compositors.state import CompositionState
from composition.rules import RunningAccount
from curator.codec import Codec
from curator.ledgers import Event
from curator.reading import Reader
from curator.requests import Request, Requests, entries_in
from curator.story import past_of, request_of
from curator.targets import Node, Target, Unit, Where
from queryable.mechanism import Measurement
from queryable.randomness.sealed import SealedCoins
from queryable.recalling import Unplayed
from queryable.running.folding import fold, other_versions
from queryable.running.handles import Path
from queryable.running.log import Stored
from queryable.running.names import StoredName
from queryable.running.root import MemoryRoot

_PLAIN = (Filt, FiltCon, Odom, OdomCon, ExPost)
"""Compositors whose launches of measurements do nothing but charge."""

# Parts of bodies as `journal.written` spells them. A quotation mark within a text has a backslash
# before it, so a part with bare ones can only be where the fields of the body are.
_CHARGED, _FREE = '"charges":[{"account":"', '"history":"'
_CHARGE, _D_IN, _HISTORY = '","charged":"', '","d_in":', '}],"history":"'
_ONE = re.compile(r'","d_in":[0-9]+,"place":0')
_HEX = 64
_BODY, _KEY = '"body":"', '","key":"'
_PATH, _QUERY, _NAMES, _N = ',"path":', ',"query":"', ',"names":["', '","n":'
_ON = ',"on":'
_LAUNCH = r"{\"@\":\"launch/1\",\"mechanism\":{\"@\":\""
_NESTED = tuple(rf"{{\"@\":\"{tag}/" for tag in ("ask", "ask-many", "launch-many"))
_READS = tuple(
    rf"{{\"@\":\"{tag}/" for tag in ("can-afford", "measure-query", "privacy-loss-query")
)
_ANSWER, _MORE, _STILL, _END = '{"answer":"', '","charges":[', '","still":true}', '"}'
_LAUNCHED, _FAILED, _CHILD = r"{\"@\":\"launched/1\"", r"{\"@\":\"failed/1\"}", r"\"child\":"
_STARTED, _REFUSED = r"\"launched/1\"", r"{\"@\":\"refused/1\""


class Skim:
    """Folds messages over a root, in order.

    Args:
        root: with the state after its opening.
        coins: those of the root, at any history.

    Attributes:
        requests: those that have been answered.
    """

    def __init__(self, root: MemoryRoot, reader: Reader, coins: SealedCoins, codec: Codec) -> None:
        self._root, self._reader, self._coins, self._codec = root, reader, coins, codec
        self._where: dict[str, Where] = {}
        self._nodes: dict[Path, Target | None] = {}
        self._measurements: dict[str, bool] = {}
        self._alone: set[str] = set()
        self._request: Request | None = None
        self._since: int | None = None
        self.requests = Requests()
        self._start()

    def _start(self) -> None:
        self._entries: list[Stored] = []
        self._places: list[int] = []
        self._named: dict[int, tuple[Path, str, int]] = {}
        self._last: tuple[Event, Event] | None = None

    def fold(self, messages: Iterable[tuple[Event, Event]]) -> None:
        """Fold messages: the event with the query, and the one with the answer.

        Raises:
            HandleError: a message does not lead to its answer: the code is not the same.
        """
        requests = self.requests
        for asked, answered in messages:
            self._request = self._since = None
            if answered is asked:
                known = self._exchanged(asked)
            elif answered.seq != asked.seq + 1:
                known = False  # it was run again
            else:
                known = self._intended(asked, answered)
            if known:
                self._last = (asked, answered)
                requests.add(self._request, 1, self._since)
            else:
                self._settle()
                first, last = json.loads(asked.body), json.loads(answered.body)
                fold(self._root, [past_of(first, last, self._coins, self._codec)])
                count = entries_in(first, last, self._codec)
                requests.add(request_of(first), count, first.get("on"))
                self._where.clear()
                self._nodes.clear()
        self._settle()

    def _exchanged(self, event: Event) -> bool:
        """Skim an exchange that changed no state, a refused launch, or a question to a unit."""
        body, place = event.body, event.seq
        query = body.find(_QUERY)
        start = body.rfind(_PATH, 0, query)
        if start < 0 or not body.startswith(_ANSWER) or body.find(_NAMES, 0, start) >= 0:
            return False
        if _STARTED in body or body.startswith((*_NESTED, *_READS), query + len(_QUERY)):
            return False
        history = body.rfind(_FREE, 0, start) + len(_FREE)
        if not self._numbered(body, body[history + _HEX : start]):
            return False
        where = self._at(body[start + len(_PATH) : query])
        if not body.endswith(_STILL):
            if not body.endswith(_END):
                return False
            if where.unit is not None and body.find(_MORE, 0, start) < 0:
                where.unit.asked.append(where.unit.counted(place))
            elif where.compositor is not None and body.startswith(_REFUSED, len(_ANSWER)):
                where.compositor.counted(place)
            else:
                return False
        self._entries.append(where.other)
        self._places.append(place)
        return True

    def _intended(self, asked: Event, answered: Event) -> bool:
        """Skim a message that was intended and answered."""
        start = 1
        if asked.body.startswith(_BODY, start):
            start += len(_BODY) + _HEX + 2
        if asked.body.startswith(_CHARGED, start):
            return self._launched(asked, answered, start + len(_CHARGED))
        if asked.body.startswith(_FREE, start):
            return self._asked(asked, answered, start + len(_FREE))
        return False

    def _launched(self, asked: Event, answered: Event, account: int) -> bool:
        """Skim a launch of a measurement; the account starts there."""
        body, answer, place = asked.body, answered.body, asked.seq
        history = body.find(_HISTORY)
        charged = body.find(_CHARGE, 0, history)
        end = body.find(_D_IN, charged, history)
        if charged < 0 or end < 0 or not self._is_alone(body[end:history]):
            return False
        query = body.find(_QUERY, history)
        head = body[history + len(_HISTORY) + _HEX : query]
        numbers, _, path = head.partition(_PATH)
        if not self._numbered(body, numbers) or not self._measures(body, query + len(_QUERY)):
            return False
        tail = f'","of":{place}}}'
        if not answer.endswith(tail) or _CHILD in answer:
            return False
        if answer.startswith(_LAUNCHED, len(_ANSWER)):
            measured = True
        elif answer == f"{_ANSWER}{_FAILED}{tail}":
            measured = False
        else:
            return False
        where = self._at(path)
        node = where.compositor
        if node is None:
            return False
        if _NAMES in numbers:
            name = _name_of(numbers)
            if name is None:
                return False
            self._named[len(self._places)] = (where.path, name, place)
        node.launched.append(place)
        node.account = body[account:charged]
        node.counted(place)
        self._entries.append(where.measured if measured else where.other)
        self._places.append(place)
        return True

    def _asked(self, asked: Event, answered: Event, history: int) -> bool:
        """Skim a question to a unit; the history starts there."""
        body, answer, place = asked.body, answered.body, asked.seq
        query = body.find(_QUERY)
        numbers, _, path = body[history + _HEX : query].partition(_PATH)
        if not self._numbered(body, numbers) or _NAMES in numbers:
            return False
        if body.startswith((*_NESTED, *_READS), query + len(_QUERY)):
            return False
        if not answer.startswith(_ANSWER) or not answer.endswith(f'","of":{place}}}'):
            return False
        if _STARTED in answer:
            return False
        where = self._at(path)
        unit = where.unit
        if unit is None:
            return False
        unit.asked.append(unit.counted(place))
        self._entries.append(where.other)
        self._places.append(place)
        return True

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
        """Whether the query that starts here launches a measurement without a `d_out`."""
        if not body.startswith(_LAUNCH, start):
            return False
        start += len(_LAUNCH)
        tag = body[start : body.find('\\"', start)]
        known = self._measurements.get(tag)
        if known is None:
            classes = self._codec.classes_of(tag)
            known = bool(classes) and all(map(_is_plain, classes))
            self._measurements[tag] = known
        return known

    def _at(self, text: str) -> Where:
        """What a message to the path with this text reaches."""
        where = self._where.get(text)
        if where is None:
            path = tuple(json.loads(text))
            where = self._where[text] = Where(self._reached(path), path, self._reader)
        return where

    def _reached(self, path: Path) -> Target | None:
        """The compositor or unit that a message to a path changes; None if it has to be folded."""
        target = self._nodes.setdefault((), self._made(None, (), *self._root_state()))
        for depth in range(1, len(path) + 1):
            if not isinstance(target, Node):
                break
            below = path[:depth]
            if below not in self._nodes:
                self._nodes[below] = self._below(target, below)
            target = self._nodes[below]
        return target

    def _root_state(self) -> tuple[Any, Any, int]:
        return self._root.mechanism, self._root.settled().state, 0

    def _below(self, parent: Node, path: Path) -> Target | None:
        identity = path[-1]
        child = parent.state.children.get(identity)
        if child is None or type(identity) is not int or not parent.state.claims[identity].fixed:
            return None
        return self._made(parent, path, child.mechanism, child.state, child.messages)

    def _made(
        self, parent: Node | None, path: Path, mechanism: Any, state: Any, messages: int
    ) -> Target | None:
        if type(state) is Unplayed:
            return Unit(parent, path, state, messages)
        if type(mechanism) in _PLAIN and type(state) is CompositionState and state.halted is None:
            return Node(parent, path, state, messages, mechanism)
        return None

    def _settle(self) -> None:
        """Put in place what was skimmed."""
        if self._last is None:
            return
        root, now = self._root, self._root.settled()
        state = now.state
        for path in sorted(self._nodes, key=len, reverse=True):
            target = self._nodes[path]
            if target is None or not target.touched:
                continue
            after = self._after(target)
            if target.parent is None:
                state = after
                continue
            child = target.parent.state.children[path[-1]]
            child = Child(child.mechanism, child.claim, after, target.messages)
            target.parent.children[path[-1]] = child
        self._nodes.clear()
        self._where.clear()
        called, named = now.names.mutate(), now.named.mutate()
        for index, (at, name, place) in self._named.items():
            called[now.exchanges + now.polls + index] = name
            named[at, name] = StoredName(partial(self._reader.exchange, place))
        root.log.add_stored(self._entries, self._places, now.exchanges)
        asked, answered = (json.loads(each.body) for each in self._last)
        coins = self._coins.resumed(bytes.fromhex(asked["history"]), asked["n"])
        root.resume(
            attrs.evolve(
                now,
                state=state,
                coins=coins.answered_with(answered["answer"].encode()),
                exchanges=now.exchanges + len(self._places),
                names=called.finish(),
                named=named.finish(),
            )
        )
        self._start()

    def _after(self, target: Target) -> Any:
        """The state of a compositor or a unit after all that was skimmed."""
        if isinstance(target, Unit):
            return target.state.logged(target.asked, partial(self._reader.asked, target.path))
        assert isinstance(target, Node)
        state: CompositionState = target.state
        account, claims, children = state.account, state.claims, state.children
        if target.launched:
            account = self._account(target)
            claims = with_logged(claims, target.launched, self._reader.claim)
        if target.children:
            children = children.update(target.children)
        return CompositionState(state.dataset, account, claims, children)

    def _account(self, node: Node) -> RunningAccount:
        """The logged account after the last launch.

        Raises:
            HandleError: it is none of this compositor.
        """
        account = self._codec.decode(json.loads(f'"{node.account}"'))
        before = node.state.account
        if type(account) is not type(before) or account.budget != before.budget:
            raise other_versions()
        if isinstance(node.mechanism, FiltCon) and not account.within:
            raise other_versions()
        assert isinstance(account, RunningAccount)
        return account


def _is_plain(kind: type) -> bool:
    """Whether a launch of this class answers at once, and leaves all other children alive."""
    return issubclass(kind, Measurement) and kind.retires_others is False


def _name_of(numbers: str) -> str | None:
    """The name in the fields before the path; None if it is not the only one."""
    names = json.loads(numbers.partition(_NAMES[:-2])[2].partition(_ON)[0])
    return names[0] if len(names) == 1 and isinstance(names[0], str) else None
