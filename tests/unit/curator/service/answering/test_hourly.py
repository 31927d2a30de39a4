"""A limit of questions an hour counts questions, of each analyst, and nothing else."""

import pytest

from composition import FiltCon
from curator.service.answering.hourly import HOUR, HourlyLimit
from mechanisms import Count, Laplace
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
    limit.require((0,), LaunchMany([QUESTION] * 3), repeated=1)
    limit.require((0,), QUESTION, repeated=1)
    with pytest.raises(QueryError, match="2 questions an hour, and 2 were asked"):
        limit.require((0,), LaunchMany([QUESTION] * 3), repeated=2)
