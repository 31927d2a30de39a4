"""Refusals: in words that say what to write instead, and that quote no value."""

from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest

import mechanisms as m
from composition import FiltCon, Partition
from curator.codec import CodecError, encode
from curator.codec.refusals import REFUSALS
from mechanisms.tables.expressions.predicates import Predicate
from queryable import Bit, Launch, PureDP, Queryable, Statistic
from tests.strategies import Courier, RandomWord

SIZE = Statistic(len, l1=1, l2=1)


class Hidden:
    """Its `repr` is private."""

    def __repr__(self) -> str:
        return "the patient is 47"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (SIZE, "use Count, Sum, Histogram or another statistic of a table"),
        (Launch(m.Laplace(SIZE, scale=1)), "use Count, Sum.*it is in mechanism.statistic"),
        (Launch(m.RandomizedResponse(Bit(bool), odds=3)), "RandomizedResponse holds a Python"),
        (Bit(bool), "a Bit holds a Python function"),
        (m.Count(lambda data: data), "write a predicate, such as column.*it is in where"),
        (
            m.Best(m.Laplace(m.Count(), scale=1), lambda answer: 1, m.Poisson(1)),
            "of= names a part of the answers.*it is in score",
        ),
        (
            m.Scripted(FiltCon(PureDP(1)), lambda view: None),
            "give a list of queries.*it is in analyst",
        ),
        (m.Until(lambda estimate: True), r"write RelativeError\('1/10'\).*it is in condition"),
        (m.Until(partial(m.RelativeError("1/10"))), "write RelativeError"),
        (Partition(len, ["a"]), "name a column: .*it is in key"),
        (len, "use mechanisms and statistics of the packages: a Python function has no tag"),
        (m.Open(SIZE.__call__), "a Python function has no tag; it is in statistic"),
        (m.Table({"a": [1]}), "leave the data to the curator"),
        (Launch(RandomWord()), "RandomWord has no tag; a site adds a class of its own"),
        (Courier() @ FiltCon(PureDP(1)), "Courier has no tag.*it is in person"),
        ({"a": {1, 2}}, "set has no tag; it is in items.0.1"),
        (np.zeros(1, dtype="U3"), "booleans, integers or floats"),
        (object(), "object has no tag"),
    ],
)
def test_refusals_in_words(value: Any, words: str) -> None:
    """With the place in the query."""
    with pytest.raises(CodecError, match=words):
        encode(value)


def test_a_handle_stays_in_its_process() -> None:
    with pytest.raises(CodecError, match="a Queryable is a handle"):
        encode(Launch(Queryable(FiltCon(PureDP(1)), [1, 2])))


def test_a_subclass_of_ours_is_refused() -> None:
    """It may compute something else."""

    class Mine(m.Count):
        pass

    @attrs.frozen
    class All(Predicate):
        def holds(self, dataset: Any) -> Any:
            return None

    for value in (
        m.Gaussian(Mine(), scale=1),
        m.Count(All()),
        m.Count(~(m.column("a") > 1) | All()),
    ):
        with pytest.raises(CodecError, match=r"(Mine|All) has no tag; a site adds"):
            encode(value)


def test_refusals_quote_no_value() -> None:
    """An answer may be private to who reads an error."""
    for value in (Hidden(), [Hidden()], {"a": Hidden()}, (1, Hidden()), np.array([Hidden()])):
        with pytest.raises(CodecError) as caught:
            encode(value)
        assert "47" not in str(caught.value)


def test_every_reason_says_what_to_do() -> None:
    assert all(len(reason) > 30 for reason in REFUSALS.values())
