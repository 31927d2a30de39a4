"""Dry runs: what is wrong about a list of queries, found before anything is charged or read.

Responsible for one check, `require_script`. Compositors do in a dry run what they do for a message
that is made again from a log: everything but run children. They parse launches, check claims, ask
their rules and charge accounts, on states that are thrown away. So a list of queries is judged by
the code that answers it. A mechanism that reads data is not started; its `understood` judges what
it is asked. A person in the middle sees no data, and runs until it is given an answer that only
data give. What follows is not known then, and only what no state understands is wrong.
"""

import operator
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, TypeGuard

import attrs

from queryable.effort import (
    STEPS,
    is_out,
    is_quick,
    left_to_write,
    quickly,
    require_short_receipts,
    take,
    write,
)
from queryable.errors import QueryError, UnknownQueryError
from queryable.ex_post import ExPostMechanism
from queryable.faults import running_nothing
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Answer,
    Ask,
    Halted,
    Launch,
    Launched,
    Query,
    Refused,
    entry,
    is_owners,
    not_the_owner,
    plain,
)
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    Postprocessed,
    ToAnalyst,
    ToMechanism,
)
from queryable.recalling import Moved, Recall

_OUT = (
    "this list takes too long for a curator that others ask too: {}. Ask less in it, repeat it "
    "less often, or send the queries in messages of their own"
)


def require_script(
    mechanism: InteractiveMechanism[Any],
    queries: Sequence[Query],
    dataset: Any,
    times: Fraction = Fraction(1),
) -> None:
    """Check queries that a mechanism will be asked, one after the other.

    Nothing is read or charged. A query that answers decide about is not judged, nor is one to a
    mechanism whose class does not say what it understands.

    Where long computations are refused, the steps and the characters of the whole list are counted
    here, also of queries that are not judged, and nothing of it is refused when it runs. It has a
    quarter of a message's steps for one run.

    Args:
        dataset: of which only what is public is used.
        times: how often the list is expected to run.

    Raises:
        QueryError: the mechanism declines to start, or one of them is wrong, whatever the data are;
            or all together take too long, or are answered with too much.
    """
    run = Dry()
    with running_nothing(run), quickly(is_quick(), STEPS // 4, left_to_write()) as left:
        _judge(run, mechanism, queries, dataset)
    if is_quick():
        steps = ceil(times * left.taken)
        if not take(steps):
            raise QueryError(_OUT.format(f"about {steps} steps"))
        write(left.written)


def _judge(
    run: "Dry", mechanism: InteractiveMechanism[Any], queries: Sequence[Query], dataset: Any
) -> None:
    try:
        running, opening = run.started(mechanism, dataset)
        if isinstance(opening, Refused | Halted):
            raise QueryError(f"it declines to start: {opening.reason}")
    except QueryError as error:
        raise _never(error) from None
    except Exception:  # what is no error of a query is for the run with data
        return
    judging = True
    for place, query in enumerate(queries):
        try:
            with entry(place):
                running, answer = run.asked(running, query)
                require_short_receipts(answer)
        except QueryError as error:
            if is_out() or (judging and (run.sure or run.unknown)):
                raise _never(error) from None
            judging = False
            continue
        except Exception:  # as above
            judging = False
            continue
        halted = isinstance(plain(answer), Halted) and not isinstance(query, Ask)
        if halted and run.sure:
            return
        judging = judging and not halted and (run.sure or _admitted(answer))


def _never(error: QueryError) -> QueryError:
    why = "takes too long" if is_out() else "is never answered"
    return QueryError(f"this list {why}: {error}")


@attrs.frozen
class Unseen:
    """An answer that only data give."""


UNSEEN = Unseen()


class UnjudgedError(Exception):
    """What follows depends on coins or answers that a dry run does not have."""


class NoCoins:
    """Coins that cannot be tossed."""

    def draw(self, law: Any, size: Any = None) -> Any:
        """Raise: there is no answer to draw."""
        raise UnjudgedError

    def spawn(self, child: Any, message: int) -> "NoCoins":
        """The same."""
        return self


_COINS: Any = NoCoins()


@attrs.frozen
class Running:
    """A mechanism in a dry run, with its state if it has one."""

    mechanism: InteractiveMechanism[Any]
    state: Any = None


@attrs.frozen
class Between:
    """The state of a person and of its mechanism.

    Attributes:
        lost: whether the person was given an answer that is not known, so that neither is true.
    """

    inner: Running
    person: Any
    lost: bool = False


class Dry(Recall):
    """Starts and asks mechanisms without data.

    Attributes:
        sure: whether all states are true. They no longer are after an answer by which a compositor
            charges.
        unknown: whether the error is that a query is of no type that the mechanism answers, which
            is wrong in every state.
    """

    dry = True

    def __init__(self) -> None:
        super().__init__(None, operator.eq)
        self.sure, self.unknown = True, False

    def started(
        self, mechanism: InteractiveMechanism[Any], dataset: Any, coins: Any = None
    ) -> Moved:
        """The state and the opening answer."""
        if isinstance(mechanism, Measurement):
            return Running(mechanism), UNSEEN
        state, opening = None, None
        if mechanism.runs_dry:
            state, opening = mechanism.init(dataset, _COINS)
        elif _is_postprocessed(mechanism):
            inner, told = self.started(mechanism.mechanism, dataset)
            between = Between(inner, mechanism.person.init())
            state, opening = self._converse(mechanism, between, told)
        return Running(mechanism, state), opening

    def asked(self, state: Any, query: Query, coins: Any = None) -> Moved:
        """The state after a query, and the answer.

        Raises:
            QueryError: the query is wrong.
        """
        if is_owners(query):
            raise not_the_owner(query)
        mechanism, inside = state.mechanism, state.state
        try:
            if mechanism.runs_dry:
                inside, answer = mechanism.step(inside, query, _COINS)
            elif _is_postprocessed(mechanism):
                inside, answer = self._told(mechanism, inside, query)
            else:
                mechanism.understood(query)
                self.sure = self.sure and not isinstance(mechanism, ExPostMechanism)
                answer = UNSEEN
        except UnknownQueryError:
            self.unknown = True
            raise
        return Running(mechanism, inside), answer

    def _told(self, mechanism: Postprocessed[Any], state: Between, query: Query) -> Moved:
        try:
            person, reply = mechanism.person.step(state.person, FromAnalyst(query), _COINS)
            if not state.lost:
                if isinstance(reply, ToAnalyst):
                    return attrs.evolve(state, person=person), reply.answer
                inner, answer = self.asked(state.inner, reply.query)
                answer = _imagined(reply.query, answer)
                return self._converse(mechanism, Between(inner, person), answer)
            passes = isinstance(reply, ToMechanism) and reply.query is query
            inside = state.inner.mechanism
            judged = inside.recallable or isinstance(inside, Measurement)
            if passes and judged and not isinstance(query, Ask):
                self.asked(state.inner, query)
        except UnknownQueryError:
            raise
        except QueryError:
            if not state.lost or is_out():
                raise
        return state, UNSEEN

    def _converse(self, mechanism: Postprocessed[Any], state: Between, answer: Answer) -> Moved:
        """Let the person go on after an answer, as far as it is known."""
        for _ in range(mechanism.max_rounds):
            if not (self.sure and _is_known(answer)):
                return attrs.evolve(state, lost=True), UNSEEN
            try:
                told = FromMechanism(plain(answer))
                person, reply = mechanism.person.step(state.person, told, _COINS)
                state = attrs.evolve(state, person=person)
                if not isinstance(reply, ToMechanism):
                    return state, reply.answer
                inner, answer = self.asked(state.inner, reply.query)
                answer = _imagined(reply.query, answer)
            except QueryError:  # the person fails, which is an answer
                raise UnjudgedError from None
            state = attrs.evolve(state, inner=inner)
        raise UnjudgedError


def _is_postprocessed(mechanism: Any) -> TypeGuard[Postprocessed[Any]]:
    return isinstance(mechanism, Postprocessed) and type(mechanism).step is Postprocessed.step


def _is_known(answer: Answer) -> bool:
    answer = plain(answer)
    if isinstance(answer, tuple):
        return all(map(_is_known, answer))
    return _is_known(answer.answer) if isinstance(answer, Launched) else answer is not UNSEEN


def _imagined(query: Query, answer: Answer) -> Answer:
    """The answer of a launch of which the form alone decides what a person does next."""
    mechanism = query.mechanism if isinstance(query, Launch) else None
    made = getattr(mechanism, "imagined", None)
    told = plain(answer)
    if made is None or not (isinstance(told, Launched) and told.answer is UNSEEN):
        return answer
    return attrs.evolve(told, answer=made())


def _admitted(answer: Answer) -> bool:
    answer = plain(answer)
    several = answer if isinstance(answer, tuple) else (answer,)
    return not any(isinstance(each, Refused) for each in several)
