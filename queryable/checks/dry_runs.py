"""Dry runs: what is wrong about a list of queries, found before anything is charged or read.

Responsible for one check, `require_script`. In a dry run, conversations are held and no leaf runs:
compositors parse launches, check claims, ask their rules and charge accounts, on states that are
thrown away. So a list of queries is judged by the code that answers it. A mechanism that reads data
is not started; its `understood` judges what it is asked. A person in the middle sees no data, and
runs until it is given an answer that only data give. What follows is not known then, and only what
no state understands is wrong.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

import attrs

from queryable.conversation import Compositor, Data, Moved, Pass, Run, Start
from queryable.conversation.alone import Alone
from queryable.conversation.recalling import making_again
from queryable.conversation.standing import Standing
from queryable.effort import (
    STEPS,
    is_out,
    is_quick,
    left_to_write,
    require_short_receipts,
    take,
    within_effort,
    write,
)
from queryable.errors import QueryError, UnknownQueryError
from queryable.ex_post import ExPostMechanism
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Answer,
    Ask,
    Halted,
    Launched,
    PrivacyLossQuery,
    Query,
    Refused,
    d_in_of,
    entry,
    is_owners,
    not_the_owner,
)
from queryable.postprocessing import FromAnalyst, FromMechanism, ToAnalyst, ToMechanism

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
    run = Dry(mechanism)
    with making_again(), within_effort(is_quick(), STEPS // 4, left_to_write()) as left:
        _judge(run, queries, dataset)
    if is_quick():
        steps = ceil(times * left.taken)
        if not take(steps):
            raise QueryError(_OUT.format(f"about {steps} steps"))
        write(left.written)


def _judge(run: "Dry", queries: Sequence[Query], dataset: Any) -> None:
    try:
        opening = run.opened(dataset)
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
                answer = run.asked(query)
                require_short_receipts(answer)
        except QueryError as error:
            if is_out() or (judging and (run.sure or run.unknown)):
                raise _never(error) from None
            judging = False
            continue
        except Exception:  # as above
            judging = False
            continue
        halted = isinstance(answer, Halted) and not isinstance(query, Ask)
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
class Astray:
    """The state of a person that was given an answer that is not known.

    Attributes:
        before: its state before that.
    """

    before: Any


class Dry(Standing):
    """A mechanism that is asked with nothing run; it stands in for all that reads data.

    Attributes:
        sure: whether what a compositor does is known, even where charges depend on answers.
        unknown: whether a query was not understood by any state of what it was sent to.
    """

    def __init__(self, mechanism: InteractiveMechanism[Any]) -> None:
        self._runs, self._state = Alone(mechanism), None
        self.sure, self.unknown, self._guesses = True, False, False

    def opened(self, dataset: Any) -> Answer:
        """The opening answer."""
        return self._answer_of(Run(self._runs, Data.of(dataset), _COINS, standing=self))

    def asked(self, query: Query) -> Answer:
        """The answer to a query.

        Raises:
            QueryError: the query is wrong.
        """
        if is_owners(query):
            raise not_the_owner(query)
        self._guesses = False
        try:
            return self._answer_of(Run(self._runs, query, _COINS, self._state, standing=self))
        except UnknownQueryError:
            self.unknown = True
            raise
        except QueryError:
            if not self._guesses or is_out():
                raise
        return UNSEEN

    def _answer_of(self, run: Run) -> Answer:
        try:
            moved = run()
        except QueryError:
            if run.faults:  # it is told for an exception that is none of a query
                raise UnjudgedError from None
            raise
        if run.faults or moved is None:
            raise UnjudgedError
        self._state = moved.state
        return moved.answer

    def came(self, step: Any, mechanism: Any, held: Any, coins: Any) -> Moved:
        """An answer that is not seen, unless its form alone decides what a person does next.

        What is no measurement opens without an answer.
        """
        if type(step) is Pass:
            if not isinstance(mechanism, Compositor):
                mechanism.understood(step.query)
            self.sure = self.sure and not isinstance(mechanism, ExPostMechanism)
            return Moved(None, UNSEEN)
        if type(step) is not Start or not isinstance(mechanism, Measurement):
            return Moved(None, None)
        made = getattr(mechanism, "imagined", None)
        return Moved(None, UNSEEN if made is None else made())

    def said(self, person: Any, state: Any, message: Any, coins: Any) -> Moved:
        """What a person says, as far as it is known.

        One that went astray passes on what it would pass on as it was: that no state understands a
        query is wrong all the same.
        """
        astray = type(state) is Astray
        before = state.before if astray else state
        if isinstance(message, FromMechanism):
            if astray or not (self.sure and _is_known(message.answer)):
                return Moved(Astray(before), ToAnalyst(UNSEEN))
        elif astray:
            return Moved(state, self._guessed(person, before, message))
        return Moved(*person.step(before, message, _COINS))

    def _guessed(self, person: Any, before: Any, message: FromAnalyst) -> Any:
        self._guesses = True
        _, reply = person.step(before, message, _COINS)
        if not isinstance(reply, ToMechanism) or reply.query is not message.query:
            return ToAnalyst(UNSEEN)
        if isinstance(reply.query, PrivacyLossQuery):
            self._guesses = False  # this number is wrong in every state
            d_in_of(reply.query.d_in, 1)
            self._guesses = True
        return ToAnalyst(UNSEEN) if isinstance(reply.query, Ask) else reply


def _is_known(answer: Answer) -> bool:
    if isinstance(answer, tuple):
        return all(map(_is_known, answer))
    return _is_known(answer.answer) if isinstance(answer, Launched) else answer is not UNSEEN


def _admitted(answer: Answer) -> bool:
    several = answer if isinstance(answer, tuple) else (answer,)
    return not any(isinstance(each, Refused) for each in several)
