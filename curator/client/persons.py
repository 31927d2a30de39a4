"""Persons in the middle that run here, over mechanisms that run in the curator.

Responsible for persons whose class has no tag, such as an analyst's own. `person @ mechanism` is
launched as the mechanism. What the handle is then asked goes to the person, and the person's
messages go to the curator. That loses no privacy, because the person sees only what the analyst may
see (Haney et al. 2023, Theorem 2.17). A person ends with this process; its mechanism lives on.

The view has what was sent to the curator: the mechanism's launch, and the person's messages to it.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
from immutables import Map

from queryable.errors import (
    CodecError,
    MechanismFault,
    QueryError,
    RetiredChildError,
    UnknownQueryError,
)
from queryable.faults import called, named
from queryable.messages import (
    Answer,
    AskMany,
    CanAfford,
    Failed,
    Launch,
    Launched,
    LaunchMany,
    LaunchOver,
    Query,
    addressed,
    entries_of,
    plain,
    unnested,
)
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    Postprocessed,
    ToAnalyst,
    ToMechanism,
)
from queryable.randomness.coins import SYSTEM
from queryable.running.handles import Path
from queryable.running.names import KnownNames, Named, Names, firsts, marked, recalled

Send: TypeAlias = Callable[[Path, Query, tuple[str | None, ...]], Answer]
"""Sends a query to the curator."""

Talk: TypeAlias = Callable[[Query], Answer]
"""Asks what is behind a person, or the person."""


class _Part:
    """One person, and what is behind it.

    Attributes:
        lost: whether it failed after what is behind it had been asked.
    """

    def __init__(self, mechanism: Postprocessed[Any], behind: Talk) -> None:
        self._person: PersonInTheMiddle[Any] = mechanism.person
        self._rounds, self._behind = mechanism.max_rounds, behind
        self._state: Any = None
        self._told = 0
        self.lost = False

    def begin(self, opening: Answer) -> Answer:
        """Start; the person translates the opening answer of what is behind it."""
        self.lost = True
        self._state = self._person.init()
        answer = self._converse(FromMechanism(opening))
        self.lost = False
        return answer

    def tell(self, query: Query) -> Answer:
        """Let the person answer a query of the analyst.

        Raises:
            QueryError: the query is wrong; nothing has changed. Other exceptions may have changed
                something if the person is then lost.
        """
        state, reply = self._spoken(FromAnalyst(query))
        if isinstance(reply, ToMechanism):
            answer = plain(self._behind(reply.query))
            self.lost = True
            self._state = state
            reply_answer = self._converse(FromMechanism(answer))
            self.lost = False
            return reply_answer
        self._state = state
        return reply.answer

    def _converse(self, message: FromMechanism) -> Answer:
        for _ in range(self._rounds):
            self._state, reply = self._spoken(message)
            if isinstance(reply, ToAnalyst):
                return reply.answer
            message = FromMechanism(plain(self._behind(reply.query)))
        raise MechanismFault

    def _spoken(self, message: FromAnalyst | FromMechanism) -> tuple[Any, ToMechanism | ToAnalyst]:
        coins = SYSTEM.spawn("person", self._told)
        state, reply = self._person.step(self._state, message, coins)
        if not isinstance(reply, ToMechanism | ToAnalyst):
            raise TypeError(f"a person answers ToMechanism or ToAnalyst, not {named(reply)}")
        self._told += 1
        return state, reply


class _Run:
    """The persons over one mechanism, outermost first."""

    def __init__(self, layers: tuple[Postprocessed[Any], ...], behind: Talk) -> None:
        self.parts: list[_Part] = []
        for layer in reversed(layers):
            self.parts.append(_Part(layer, behind))
            behind = self.parts[-1].tell
        self.tell = behind
        self.opening: Answer = None

    def begin(self, opening: Answer) -> None:
        """Start all persons."""
        for part in self.parts:
            opening = part.begin(opening)
        self.opening = opening

    @property
    def lost(self) -> bool:
        """Whether a person failed."""
        return any(part.lost for part in self.parts)


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
        on_fault: Callable[[BaseException], object] | None,
    ) -> None:
        self._send, self._writable, self._on_fault = send, writable, on_fault
        self._runs: dict[Path, _Run] = {}
        self._named: KnownNames = Map()
        self._count = 0

    def tell(self, path: Path, query: Query, names: tuple[str | None, ...] = ()) -> Answer:
        """Send a query to the person at `path`, or else to the curator."""
        return self._routed(path, query, names, 0)

    def _routed(
        self, path: Path, query: Query, names: tuple[str | None, ...], depth: int
    ) -> Answer:
        """Send a query that has passed the persons at paths of up to `depth` ids."""
        if self._runs:
            for length in range(depth + 1, len(path) + 1):
                if path[:length] in self._runs:
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
                    (*path, *asked[:length]) in self._runs for length in range(1, len(asked) + 1)
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
        run = self._runs[where]
        if run.lost:
            raise RetiredChildError("the person in the middle failed, and answers no more queries")
        try:
            return run.tell(query)
        except Exception as fault:
            if any(part.lost for part in run.parts):
                return self._failed(fault)
            if isinstance(fault, QueryError) or _is_ours(fault):
                raise
            self._report(fault)
            raise QueryError(
                f"the person in the middle raised {called(type(fault))}; nothing was sent, and "
                "nothing has changed"
            ) from None

    def _failed(self, fault: Exception) -> Answer:
        """The answer of a person that failed; what a lost connection raised is raised."""
        if _is_ours(fault):
            raise fault
        self._report(fault)
        return Failed()

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
        run = self._runs.get(where)
        if run is None or run.lost:
            measured = answer.child is None
            run = self._runs[where] = _Run(
                layers, lambda query: self._behind(where, query, measured=measured)
            )
            try:
                run.begin(answer.answer)
            except Exception as fault:
                return attrs.evolve(self._failed(fault), receipt=answer.receipt)
        return Launched(child, run.opening, receipt=answer.receipt)

    def _behind(self, where: Path, query: Query, *, measured: bool) -> Answer:
        if measured:
            raise UnknownQueryError("a measurement has answered, and takes no queries")
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


def _is_ours(fault: BaseException) -> bool:
    """Whether the connection, and not a person, raised it."""
    return type(fault).__module__ == "curator.wire.errors"
