"""Messages and values whose claims are false, because their maker was trusted.

An analyst writes a message by hand. She fills the fields of classes that only the curator's own
persons and commands construct, with values that these never compute. Each value here was accepted
once, and stated a sensitivity, a direction or a loss that it does not have.
"""

import itertools
import json
from typing import Any

import attrs
import numpy as np
import pytest

import curator
from composition import FiltCon, Individual
from curator.codec import CODEC
from curator.service import LocalService
from curator.wire import QUERY_ERROR, MessageReply, Tell
from mechanisms import (
    Count,
    Estimate,
    Fit,
    Frugal,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    LinearQuery,
    PrivateMultiplicativeWeights,
    SparseVector,
    Sum,
    Synthetic,
)
from mechanisms.frugal.frugal_queries import Estimated
from mechanisms.linear_queries import LATTICE, Weighted
from mechanisms.multiplicative_weights import _same
from mechanisms.synthetic.fit_queries import ModelFit
from queryable import ZCDP, Ask, Launch, PrivacyLossQuery, Queryable, QueryError, SeededCoins
from tests.stored import KEY, MemoryLedger

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"city": np.array(["a"] * 70 + ["b"] * 30), "debt": np.arange(-100, 0)}
CITIES = '{"@":"histogram/1","categories":["a","b"],"column":"city"}'
DEBTS = (
    '{"@":"group-by/1","by":[{"@":"categories/1","column":"city","values":["a","b"]}],"statistic":'
    '{"@":"sum/1","column":"debt","lower":"-5","unit":"1","upper":"0"}}'
)
_keys = itertools.count()


class Analyst:
    """Sends texts to a curator from below the root, and reads what comes back."""

    def __init__(self) -> None:
        root = curator.open(MemoryLedger(), FiltCon(ZCDP(10)), DATA, name="visits", key=KEY)
        self.service, self.path = LocalService(root), ()
        self.path = (self.told(CODEC.encode(Launch(FiltCon(ZCDP(1)))).decode()).child,)

    def sent(self, text: str) -> MessageReply:
        """The reply to a message of this text."""
        body = Tell((), text, (), f"{next(_keys):032x}").written()
        status, reply = self.service.tell(self.path, body)
        assert status == 200, reply
        return MessageReply.read(reply)

    def told(self, text: str) -> Any:
        """The answer to a message of this text."""
        answer = self.sent(text).outcome.answer
        assert answer is not None
        return CODEC.decode(answer)

    @property
    def spent(self) -> Any:
        return self.told(CODEC.encode(PrivacyLossQuery()).decode())


def weighted(lattice: list[Any], counted: str = CITIES, dtype: str = "<i8") -> str:
    """The text of a weighted count, as anybody can write it."""
    array = {"@": "array/1", "dtype": dtype, "items": lattice, "shape": [len(lattice)]}
    text = json.dumps(array, separators=(",", ":"))
    return f'{{"@":"weighted/1","counted":{counted},"lattice":{text}}}'


def laplace(statistic: str) -> str:
    return (
        f'{{"@":"launch/1","mechanism":{{"@":"laplace/1","scale":"100","statistic":{statistic}}}}}'
    )


def written(name: str) -> list[str]:
    """The texts of an attack; at once, one after the other, nested in others, and asked."""
    statistic = WRITTEN[name]
    launch = laplace(statistic)
    vector = CODEC.encode(Launch(SparseVector(3, epsilon="1/100", sensitivity=5))).decode()
    return [
        launch,
        f'{{"@":"can-afford/1","launch":{launch}}}',
        f'{{"@":"launch-many/1","launches":[{vector},{launch}]}}',
        f'{{"@":"ask/1","child":0,"query":{statistic}}}',
        f'{{"@":"ask/1","child":0,"query":{{"@":"ask-many/1","queries":[{statistic}]}}}}',
    ]


WRITTEN = {
    "a weight of 2**20 rows": weighted([2**40, 0]),
    "a weight below 0": weighted([-LATTICE, 0]),
    "a weight that overflows": weighted([2**62, 2**62]),
    "fewer weights than groups": weighted([LATTICE]),
    "weights of records": weighted([LATTICE], counted="null").replace('"counted":null,', ""),
    "sums below 0": weighted([LATTICE, LATTICE], DEBTS),
    "sound weights": weighted([LATTICE, 0]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_no_message_has_weighted_counts(name: str) -> None:
    """Only `PrivateMultiplicativeWeights` asks them, and it runs in the curator.

    Noise of scale 100 on a count that each row moves by 2**20 is none: it was charged as if a row
    moved it by 1.
    """
    analyst = Analyst()
    analyst.told(CODEC.encode(Launch(SparseVector(9, epsilon="1/100", sensitivity=5))).decode())
    before = analyst.spent
    for text in written(name):
        outcome = analyst.sent(text).outcome
        assert outcome.kind == QUERY_ERROR
        assert "weighted/1 is what the curator makes" in str(outcome.text)
    assert analyst.spent == before


@pytest.mark.parametrize(
    "lattice",
    [
        [2**40, 0],
        [LATTICE + 1, 0],
        [-1, 0],
        [2**62, 2**62],
        [LATTICE],
        [0, 0, 0],
        [[0, 0]],
        [0.5, 0.5],
        [None, None],
    ],
    ids=str,
)
def test_weights_are_from_0_to_1(lattice: Any) -> None:
    """Whoever constructs it: a person, a site's code, or a log that was written to."""
    with pytest.raises((TypeError, ValueError), match="lattice"):
        Weighted(_same, np.array(lattice), Histogram("city", ["a", "b"]))


def test_weights_cannot_change_later() -> None:
    """An array that its maker keeps would count a row a billion times after the check."""
    lattice = np.full(2, LATTICE)
    count = Weighted(_same, lattice, Histogram("city", ["a", "b"]))
    lattice[:] = 2**40
    assert count(DATA) == 100
    with pytest.raises(ValueError, match="read-only"):
        count.lattice[0] = 2**40


SUMS = GroupBy({"city": ["a", "b"]}, Sum("debt", -5, 0))


def test_weighted_sums_are_no_counts() -> None:
    """A sum below 0 falls with each row, and a sparse vector takes half the noise for "up"."""
    with pytest.raises(TypeError, match="should be a Histogram, a GroupBy of a Count"):
        Weighted(_same, np.full(2, LATTICE), SUMS)  # type: ignore[arg-type]


def test_many_rows_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts times weights are exact above 64 bits: 2**50 rows of weight 1 are 2**70 parts."""
    count = Weighted(_same, np.array([LATTICE, LATTICE // 2]), Histogram("city", ["a", "b"]))
    monkeypatch.setattr(Histogram, "value", lambda *_: np.array([2**50, 2**51]))
    assert count(DATA) == 2**51


def test_a_lost_charge_cannot_be_sent() -> None:
    """It cost what its sender wrote, nothing, and ended all other children of the filter."""
    analyst = Analyst()
    child = analyst.told(CODEC.encode(Launch(SparseVector(9, epsilon="1/100"))).decode()).child
    lost = (
        '{"@":"launch/1","mechanism":{"@":"lost/1","charge":{"@":"zcdp/1","rho":"0"},"d_in":1,'
        '"retires_others":true}}'
    )
    outcome = analyst.sent(lost).outcome
    assert outcome.kind == QUERY_ERROR
    assert "lost/1 is what the curator makes" in str(outcome.text)
    ask = f'{{"@":"ask/1","child":{child},"query":{{"@":"count/1"}}}}'
    assert type(analyst.told(ask)) is bool  # it is alive


PERSONS: dict[str, tuple[Any, Any, type]] = {
    "Frugal": (Frugal(), Estimate(Count(), 20), Estimated),
    "Synthetic": (
        Synthetic([{"city": ["a", "b"]}, Keys.bins("debt", [-100, -50, 0])]),
        Fit(ZCDP("1/2"), rounds=1),
        ModelFit,
    ),
    "PrivateMultiplicativeWeights": (
        PrivateMultiplicativeWeights(
            Histogram("city", ["a", "b"]), records=9, epsilon="1/2", threshold=1, updates=9
        ),
        LinearQuery([1, 0]),
        float,
    ),
}


@pytest.mark.parametrize("name", PERSONS)
def test_persons_launch_in_the_curator_what_no_message_has(name: str) -> None:
    """Their launches and questions come through no codec: they are values of the same process."""
    person, query, answered = PERSONS[name]
    analyst = Analyst()
    child = analyst.told(CODEC.encode(Launch(person @ FiltCon(ZCDP("9/10")))).decode()).child
    assert type(analyst.told(CODEC.encode(Ask(child, query)).decode())) is answered


@attrs.frozen
class Louder(Count):
    """A hundred times the count, which is computed from the same sum."""

    is_sums = True  # what made a built-in class say what each record adds
    largest = (100,)

    def combined(self, totals: Any) -> Any:
        return totals * 100


@pytest.mark.parametrize("statistic", [Louder(), GroupBy({"city": ["a", "b"]}, Louder())])
def test_a_class_that_derives_from_a_sum_is_none(statistic: Any) -> None:
    """Each row was said to add 1, and paid a ten-thousandth of what it lost."""
    assert not statistic.by_record
    assert Gaussian(statistic, variance=50).per_record is None
    table = Queryable(Individual("1/10"), DATA, coins=SeededCoins(1), allow_seeded=True)
    with pytest.raises(QueryError, match="would count nobody"):
        table.launch(Gaussian(statistic, variance=50))


@attrs.frozen
class Insisting(Louder):
    """The same, which says more."""

    by_record = True


@pytest.mark.parametrize("statistic", [Insisting(), GroupBy({"city": ["a", "b"]}, Insisting())])
def test_what_it_inherits_says_nothing_about_its_records(statistic: Any) -> None:
    """It could state `by_record`, and inherit what each row of a count adds."""
    with pytest.raises(TypeError, match="what a record adds"):
        statistic.contributions(DATA)
