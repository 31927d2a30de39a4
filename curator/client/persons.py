"""Persons in the middle that run here, over mechanisms that run in the curator.

Responsible for persons whose class has no tag, such as an analyst's own. `person @ mechanism` is
launched as the mechanism. What the handle is then asked goes to the person, and the person's
messages go to the curator. That loses no privacy, because the person sees only what the analyst may
see (Haney et al. 2023, Theorem 2.17). A person ends with this process; its mechanism lives on.

The view has what was sent to the curator: the mechanism's launch, and the person's messages to it.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from immutables import Map

from queryable.conversation import LOST, Data, Moved, Node, Run, Start
from queryable.conversation.standing import Standing
from queryable.errors import CodecError, QueryError, RetiredChildError, UnknownQueryError
from queryable.faults import called
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    AskMany,
    CanAfford,
    Failed,
    Launch,
    Launched,
    LaunchMany,
    Query,
    addressed,
    entries_of,
    unnested,
)
from queryable.postprocessing import Postprocessed
from queryable.randomness.coins import SYSTEM
from queryable.running.handles import Path
from queryable.running.names import KnownNames, Named, Names, firsts, marked, recalled
from queryable.streams.blocks import LaunchOver

Send: TypeAlias = Callable[[Path, Query, tuple[str | None, ...]], Answer]
"""Sends a query to the curator."""

Talk: TypeAlias = Callable[[Query], Answer]
"""Asks what is behind persons."""

Report: TypeAlias = Callable[[BaseException], object]


class _Over(Standing):
    """The persons over one mechanism, whose conversations are held here.

    Attributes:
        opening: what they made of the mechanism's opening answer.
        lost: whether they failed after the mechanism had answered.
    """

    def __init__(self, layers: "Layers", behind: Talk, report: Report) -> None:
        self._layers, self._behind, self._report = layers, behind, report
        self._node: Node | None = None
        self.opening: Answer = None
        self.lost = True

    def begin(self, opening: Answer) -> None:
        """Start all of them; `opening` is the mechanism's."""
        self.opening = opening
        self.opening = self.tell(Data.of(None))

    def tell(self, message: Any) -> Answer:
        """Let them answer a query of the analyst. What a lost connection raised is raised.

        Raises:
            QueryError: the query is wrong; nothing has changed.
        """
        run = Run(self._layers[0], message, SYSTEM, self._node, standing=self)
        try:
            moved = run()
        except QueryError:
            if not run.faults:
                raise
            moved = LOST
        for fault in run.faults:
            if type(fault).__module__ == "curator.wire.errors":
                raise fault
        for fault in run.faults:
            self._report(fault)
        if moved is not LOST:
            self._node, self.lost = moved.state, False
            return moved.answer
        if self.lost:
            return Failed()
        raise QueryError(
            f"the person in the middle raised {called(type(run.faults[-1]))}; nothing was sent, "
            "and nothing has changed"
        )

    # What stands in, see `queryable.conversation.standing`.

    def holds(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether it is a person here, and not what is in the curator."""
        return mechanism is not self._layers[-1].mechanism

    def came(self, step: Any, mechanism: Any, held: Any, coins: Any) -> Moved:
        """What the curator answers."""
        if type(step) is Start:
            return Moved(None, self.opening)
        answer = self._behind(step.query)
        self.lost = True  # until the message is through
        return Moved(None, answer)


class Persons:
    """Sends messages through the persons that run here.

    Args:
        send: sends a message to the curator.
        writable: whether a value has a text.
        on_fault: called with exceptions that persons raise; None for nobody.
    """

    def __init__(
        self,
        send: Send,
        writable: Callable[[Any], bool],
        on_fault: Report | None,
    ) -> None:
        self._send, self._writable, self._on_fault = send, writable, on_fault
        self._over: dict[Path, _Over] = {}
        self._named: KnownNames = Map()
        self._count = 0

    def tell(self, path: Path, query: Query, names: tuple[str | None, ...] = ()) -> Answer:
        """Send a query to the person at `path`, or else to the curator."""
        return self._routed(path, query, names, 0)

    def _routed(
        self, path: Path, query: Query, names: tuple[str | None, ...], depth: int
    ) -> Answer:
        """Send a query that has passed the persons at paths of up to `depth` ids."""
        if self._over:
            for length in range(depth + 1, len(path) + 1):
                if path[:length] in self._over:
                    return self._to_person(path, length, query, names)
            self._require_apart(path, query)
        try:
            return self._send(path, query, names)
        except CodecError:
            if self._writable(query):
                raise
            sent, layers = _peeled(query, self._writable)
            if not any(layers):
                raise
        return self._launched(path, query, sent, layers, names)

    def _require_apart(self, path: Path, query: Query) -> None:
        """Refuse several queries in one message if one of them is for a person here."""
        if isinstance(query, AskMany):
            for each in entries_of(query):
                asked, _ = unnested(each)
                if any(
                    (*path, *asked[:length]) in self._over for length in range(1, len(asked) + 1)
                ):
                    raise UnknownQueryError("ask one by one: a person in the middle is among them")

    def _to_person(
        self, path: Path, length: int, query: Query, names: tuple[str | None, ...]
    ) -> Answer:
        where, inner = path[:length], addressed(path[length:], query)
        if not names:
            return self._asked(where, inner)
        taken = marked(query, names)
        answers, new = recalled(self._named, path, taken)
        launches = query.launches if isinstance(query, LaunchMany) else (query,)
        if new:
            left = [launches[place] for place in new]
            sent = LaunchMany(tuple(left)) if isinstance(query, LaunchMany) else left[0]
            told = self._asked(where, addressed(path[length:], sent))
            given = told if isinstance(query, LaunchMany) else (told,)
            if type(given) is not tuple or len(given) != len(new):
                given = (told,) * len(new)
            answers |= zip(new, given, strict=True)
            for place in new:
                each = taken[place]
                if each is not None and isinstance(answers[place], Launched | Failed):
                    self._named = self._named.set((path, each[0]), Named(each[1], answers[place]))
        found = tuple(answers[first] for first in firsts(taken))
        return found if isinstance(query, LaunchMany) else found[0]

    def _asked(self, where: Path, query: Query) -> Answer:
        if self._over[where].lost:
            raise RetiredChildError("the person in the middle failed, and answers no more queries")
        return self._over[where].tell(query)

    def _report(self, fault: BaseException) -> None:
        if self._on_fault is not None:
            self._on_fault(fault)

    def _launched(
        self,
        path: Path,
        query: Query,
        sent: Query,
        layers: "tuple[Layers, ...]",
        names: tuple[str | None, ...],
    ) -> Answer:
        """Launch what persons run over, and start them."""
        taken: Names = marked(query, names) if names else ()
        if taken:
            recalled(self._named, path, taken)
        answer = self._send(path, sent, names)
        many = isinstance(query, LaunchMany)
        given = answer if many else (answer,)
        started = []
        for place, (each, persons) in enumerate(zip(given, layers, strict=True)):
            told = self._started(path, persons, each) if persons else each
            started.append(told)
            if taken and (mark := taken[place]) is not None and isinstance(told, Launched):
                self._named = self._named.set((path, mark[0]), Named(mark[1], told))
        return tuple(started) if many else started[0]

    def _started(self, path: Path, layers: "Layers", answer: Answer) -> Answer:
        if not isinstance(answer, Launched):
            return answer
        child = answer.child
        if child is None:  # a measurement has no id; its person has one of its own
            child, self._count = f"person {self._count}", self._count + 1
        where = (*path, child)
        over = self._over.get(where)
        if over is None or over.lost:
            over = _Over(layers, lambda query: self._behind(where, query), self._report)
            self._over[where] = over
            over.begin(answer.answer)
            if over.lost:
                return Failed(receipt=answer.receipt)
        return Launched(child, over.opening, receipt=answer.receipt)

    def _behind(self, where: Path, query: Query) -> Answer:
        asked, inner = unnested(query)
        return self._routed((*where, *asked), inner, (), len(where))


Layers: TypeAlias = tuple[Postprocessed[Any], ...]
"""The persons to run here, outermost first; () if all is written."""


def _peeled(query: Query, writable: Callable[[Any], bool]) -> tuple[Query, tuple[Layers, ...]]:
    """A query without the persons that have no text, and those of each launch."""
    if isinstance(query, LaunchMany):
        pairs = [_peeled(each, writable) for each in entries_of(query)]
        return LaunchMany(tuple(pair[0] for pair in pairs)), tuple(pair[1][0] for pair in pairs)
    if isinstance(query, CanAfford):
        inner, layers = _peeled(query.launch, writable)
        return CanAfford(inner), ((),) if not any(layers) else layers
    if not isinstance(query, Launch | LaunchOver):
        return query, ((),)
    mechanism, persons = query.mechanism, list[Postprocessed[Any]]()
    while type(mechanism) is Postprocessed and not writable(mechanism):
        persons.append(mechanism)
        mechanism = mechanism.mechanism
    if isinstance(query, LaunchOver):
        return LaunchOver(mechanism, query.blocks, query.d_out), (tuple(persons),)
    return Launch(mechanism, query.d_out), (tuple(persons),)
