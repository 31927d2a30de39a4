"""A limit of questions an hour counts questions, of each analyst, and nothing else."""

from typing import Any

import pytest

from composition import FiltCon, Parallel, Partition
from curator.service.answering.hourly import HOUR, HourlyLimit
from mechanisms import Best, Count, Laplace, Poisson, Scripted
from queryable import CanAfford, Launch, PrivacyLossQuery, PureDP
from queryable.errors import QueryError
from queryable.messages import AskMany, LaunchMany, RemainingQuery

QUESTION = Launch(Laplace(Count(), epsilon=1))


def test_questions_are_counted_for_an_hour() -> None:
    at = [0.0]
    limit = HourlyLimit(3, lambda: at[0])
    for _ in range(3):
        limit.require((0,), QUESTION)
        at[0] += 60
    with pytest.raises(QueryError, match="Try again in 58 minutes"):
        limit.require((0,), QUESTION)
    limit.require((1,), QUESTION)  # another analyst
    at[0] = HOUR
    limit.require((0,), QUESTION)  # the first one was an hour ago
    with pytest.raises(QueryError):
        limit.require((0,), QUESTION)


def test_several_in_one_message_are_several_and_none_if_one_is_too_many() -> None:
    limit = HourlyLimit(3, lambda: 0.0)
    limit.require((0,), LaunchMany([QUESTION] * 2))
    with pytest.raises(QueryError):
        limit.require((0,), AskMany([1, 2]))
    limit.require((0,), AskMany([1]))


def analysis(*queries: Any) -> Scripted:
    return Scripted(FiltCon(PureDP(90)), queries)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (Launch(analysis(*[QUESTION] * 5)), 5),
        (Launch(analysis()), 1),
        (Launch(analysis(QUESTION, Launch(analysis(*[QUESTION] * 3)))), 4),
        (Launch(analysis(LaunchMany([QUESTION] * 4))), 4),
        (Launch(analysis(AskMany([QUESTION, Launch(analysis(QUESTION, QUESTION))]))), 3),
        (LaunchMany([QUESTION, Launch(analysis(*[QUESTION] * 5))]), 6),
        (Launch(Best([analysis(*[QUESTION] * 7)], "largest", Poisson(2))), 7),
        (Launch(Best([QUESTION.mechanism] * 3, "largest", Poisson(2))), 1),
        (Launch(Parallel(Partition("age", [1]), {1: analysis(QUESTION, QUESTION)})), 2),
    ],
)
def test_the_queries_of_an_analysis_are_questions(query: Any, count: int) -> None:
    with pytest.raises(QueryError, match="questions an hour, and 0 were asked"):
        HourlyLimit(count - 1, lambda: 0.0).require((0,), query)
    limit = HourlyLimit(count, lambda: 0.0)
    limit.require((0,), query)
    with pytest.raises(QueryError, match=f"and {count} were asked"):
        limit.require((0,), QUESTION)


def test_an_analysis_that_was_answered_before_is_no_question() -> None:
    limit = HourlyLimit(1, lambda: 0.0)
    many = Launch(analysis(*[QUESTION] * 5))
    limit.require((0,), many, repeated={0})
    limit.require((0,), LaunchMany([many, QUESTION]), repeated={0})
    with pytest.raises(QueryError, match="and 1 were asked"):
        limit.require((0,), QUESTION)


def test_the_owner_and_polls_are_not_counted() -> None:
    limit = HourlyLimit(1, lambda: 0.0)
    for _ in range(5):
        limit.require((), QUESTION)
        for poll in (PrivacyLossQuery(), RemainingQuery(), CanAfford(QUESTION)):
            limit.require((0,), poll)
        HourlyLimit(None).require((0,), QUESTION)
    limit.require((0,), Launch(FiltCon(PureDP(1))))
    with pytest.raises(QueryError):
        limit.require((0,), QUESTION)


def test_what_was_answered_before_is_no_question() -> None:
    limit = HourlyLimit(2, lambda: 0.0)
    limit.require((0,), LaunchMany([QUESTION] * 3), repeated={0})
    limit.require((0,), QUESTION, repeated={0})
    with pytest.raises(QueryError, match="2 questions an hour, and 2 were asked"):
        limit.require((0,), LaunchMany([QUESTION] * 3), repeated={0, 2})
