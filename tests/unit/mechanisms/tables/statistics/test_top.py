"""The most frequent categories: answers, their cost, and the exact loss."""

from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Histogram, PrivacyUnit, Table, Top, TopK, column
from mechanisms.tables.statistics.top import PrivateTop
from queryable import ZCDP, ApproxDP, PureDP, Queryable, QueryError, SeededCoins
from queryable.audit import audit, broken_laws, every_outcome

CITIES = ["Graz", "Lyon", "Oslo", "Rome"]
DATA = {"city": ["Oslo"] * 900 + ["Graz"] * 600 + ["Rome"] * 300 + ["Ulm"] * 999}


def opened(data: Any = DATA) -> Queryable:
    return Queryable(FiltCon(ZCDP(9)), data, coins=SeededCoins(1), allow_seeded=True)


def test_the_answer_has_the_categories_in_order() -> None:
    """What is no category is never chosen."""
    answer = opened().release(Top("city", 3, CITIES), loss=ZCDP(1))
    assert answer.estimate.tolist() == ["Oslo", "Graz", "Rome"]
    assert list(answer.to_pandas().columns) == ["rank", "estimate"]
    assert (
        str(answer)
        == "Top 3 of city\nrank  estimate\n1         Oslo\n2         Graz\n3         Rome"
    )
    assert "<td>Oslo</td>" in answer._repr_html_()


def test_a_where_and_numbers_and_dates() -> None:
    """Estimates keep the types of the categories."""
    days = [date(2024, 1, day) for day in (1, 2, 3)]
    data = {"day": days * 100 + days[1:] * 300, "n": np.array([7] * 300 + [9] * 600)}
    queryable = opened(data)
    asked = Top("day", 1, days, column("n") == 9)
    assert set(queryable.release(asked, loss=ZCDP(1)).estimate) <= set(days[1:])
    numbers = queryable.release(Top("n", 2, [7, 8, 9]), loss=ZCDP(1)).estimate
    assert numbers.tolist() == [9, 7]
    assert numbers.dtype == np.int64


def test_what_does_not_fit_is_not_charged() -> None:
    answer = opened().release(Top("city", 1, CITIES), loss=ZCDP(1))
    with pytest.raises(TypeError, match="release a Histogram"):
        answer.interval()
    with pytest.raises(QueryError, match="give loss="):
        opened().release(Top("city", 1, CITIES), within=3)
    # A column that is not there, and another unit than the table's.
    table = Table({"who": [1, 2], "city": ["Oslo", "Rome"]}, privacy_unit="who", max_rows=1)
    queryable = opened(table)
    for wrong in (Top("town", 1, CITIES, per=table.unit), Top("city", 1, CITIES)):
        with pytest.raises(QueryError, match="nothing is charged"):
            queryable.release(wrong, loss=ZCDP(1))
    assert queryable.privacy_loss() == ZCDP(0)

    # A subclass could choose by other scores.
    class Other(Top):
        pass

    with pytest.raises(TypeError, match="top is"):
        PrivateTop(Other("city", 1, CITIES), 1)


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/10"), ApproxDP(1, "1e-6")], ids=str)
def test_the_cost_is_that_of_choosing_by_counts(loss: Any) -> None:
    """Of scores that a row moves up only, so k choices at epsilon have half the noise."""
    top = Top("city", 2, CITIES)
    chosen = top.measurement(ZCDP, 1, loss=loss)
    stated = ZCDP.within(loss) if isinstance(loss, ApproxDP) else loss
    assert chosen.privacy_map(1, stated.measure) <= stated
    by_hand = TopK(Histogram("city", CITIES), chosen.epsilon, k=2, monotone=True)
    assert chosen.choice == by_hand
    assert chosen.privacy_map(3, ZCDP) == by_hand.privacy_map(3, ZCDP)


def test_a_person_counts_as_often_as_the_bounds_say() -> None:
    """The rate accounts for a person's rows in one category."""
    per = PrivacyUnit("who", max_rows=4, max_rows_per_group=2)
    assert PrivateTop(Top("city", 1, CITIES, per=per), 1).choice.sensitivity == 2
    data = {"who": np.arange(900) % 300, "city": np.array(["Oslo", "Rome", "Oslo"] * 300)}
    table = Table(data, privacy_unit="who", max_rows=3)
    answer = opened(table).release(Top("city", 1, CITIES, per=table.unit), loss=ZCDP(1))
    assert answer.estimate.tolist() == ["Oslo"]
    assert answer.title == "Top 1 of city, at most 3 rows per who"


def test_the_claim_holds_of_exact_laws() -> None:
    """One row more, in every category; four fifths of the claim are refuted."""
    asked = PrivateTop(Top("c", 2, ["a", "b", "c"]), Fraction(1))
    starts = ([], ["a"] * 4, ["a", "a", "b"], ["a", "b", "c", "c"])
    pairs = [({"c": each}, {"c": [*each, more]}) for each in starts for more in "abc"]
    assert audit(asked, pairs).holds
    assert audit(asked, pairs, claim=asked.privacy_map(1, ZCDP)).holds
    assert audit(asked, pairs, claim=PureDP("4/5")).refuted
    # Label by label.
    asked = PrivateTop(Top("c", 2, ["a", "b", "c"]), 1)
    data = {"c": ["a", "b", "b"]}
    ours = every_outcome(lambda coins: tuple(asked.release(data, coins).estimate.tolist()))
    plain = every_outcome(lambda coins: asked.choice.release(data, coins))
    assert ours == [(p, tuple("abc"[place] for place in places)) for p, places in plain]
    data = {"city": CITIES * 2}
    assert not broken_laws(PrivateTop(Top("city", 2, CITIES), 1), data, (), wrong=(None, 1))
