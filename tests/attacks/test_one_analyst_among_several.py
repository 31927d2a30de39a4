"""Attack: an analyst learns more than she was granted, from what others were answered.

A grant is a filter of her own in a filter for all. Its budget bounds what she learns if neither her
questions nor what the owner feeds depends on answers to others (arXiv 2506.05290v2). Otherwise her
own part of the tree shows these answers too: which question she was told to ask, or how many
records arrived. The filter for all bounds what all learn together, whatever depends on what.

All laws are exact. Ben is granted odds 3, and Ann is granted `GRANTED`, which is less than 9.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import Ask, Coins, Launch, Loss, Measurement, PureDP, Update
from queryable.audit import view_law
from queryable.data.growing import snapshot
from queryable.randomness.laws import Bernoulli
from queryable.view import View
from tests.audit.toys import nats

F = Fraction
BEN, ANN, OWNER = 0, 1, 2
GRANTED = F(15, 4)
"""The odds of Ann's grant: a response at odds 3, and a noisy count at odds 5/4."""
SICK, FILLER = "sick", "filler"
WITH, WITHOUT = (SICK,), ()
ALL = FiltCon(PureDP(nats(3) + nats(GRANTED)))


@attrs.frozen
class IsSick(Measurement[bool]):
    """Whether somebody is sick, by randomized response at `odds`. `named` is a public label."""

    odds: Fraction
    named: str = ""

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * nats(self.odds))

    def release(self, dataset: Any, coins: Coins) -> bool:
        sick = SICK in snapshot(dataset)
        right = coins.draw(Bernoulli(self.odds / (1 + self.odds)))
        return sick == bool(right)


@attrs.frozen
class IsMany(Measurement[bool]):
    """Whether a count with integer Laplace noise of ratio 1/odds is 50 or more."""

    odds: Fraction

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * nats(self.odds))

    def release(self, dataset: Any, coins: Coins) -> bool:
        ratio, missing = 1 / self.odds, 50 - len(snapshot(dataset))
        tail = ratio ** abs(missing) / (1 + ratio)  # of noise at `missing`, or above
        if missing <= 0:
            tail = 1 - ratio ** (1 - missing) / (1 + ratio)
        return bool(coins.draw(Bernoulli(tail)))


Said = tuple[int, Any] | None
"""Who sends a message, and what: a mechanism to launch in the own grant, or a batch."""
Plan = Callable[[list[Any]], Said]
"""What is sent after these answers; a batch has the answer None."""


def law_of(plan: Plan, records: tuple[str, ...], who: int | None = None) -> dict[Any, Fraction]:
    """The law of what one analyst sees, her questions and answers; or of what all see."""
    grants = [Launch(FiltCon(PureDP(nats(odds)))) for odds in (F(3), GRANTED)]

    def message(view: View) -> Any:
        if len(view) < len(grants):
            return grants[len(view)]
        said = plan([each and each.answer for each in view.answers[len(grants) :]])
        if said is None or said[0] == OWNER:
            return said and said[1]
        return Ask(said[0], Launch(said[1]))

    law: dict[Any, Fraction] = {}
    for opening_and_answers, chance in view_law(ALL, records, message, side=0).items():
        assert isinstance(chance, Fraction)
        answers = [each and each.answer for each in opening_and_answers[1 + len(grants) :]]
        said = [plan(answers[:place]) for place in range(len(answers))]
        seen = tuple(
            (each[1], answer)
            for each, answer in zip(said, answers, strict=True)
            if each is not None and who in (None, each[0])
        )
        law[seen] = law.get(seen, F(0)) + chance
    return law


def odds_of(plan: Plan, who: int | None = None) -> Fraction:
    """The largest ratio of the probabilities of a view, with and without the sick record."""
    one, other = law_of(plan, WITH, who), law_of(plan, WITHOUT, who)
    assert one.keys() == other.keys()
    assert sum(one.values()) == sum(other.values()) == 1
    return max(max(one[seen] / other[seen], other[seen] / one[seen]) for seen in one)


def in_turn(*said: Callable[[list[Any]], Said]) -> Plan:
    return lambda answers: said[len(answers)](answers) if len(answers) < len(said) else None


def ben(answers: list[Any]) -> Said:
    return BEN, IsSick(F(3))


def ann(answers: list[Any]) -> Said:
    return ANN, IsSick(F(3))


def ann_as_told(answers: list[Any]) -> Said:
    return ANN, IsSick(F(3), f"Ben was told {answers[0]}")


def ann_counts(answers: list[Any]) -> Said:
    return ANN, IsMany(F(5, 4))


def owner(place: int) -> Callable[[list[Any]], Said]:
    """The owner feeds 100 records after one answer, and none after another one."""
    return lambda answers: (OWNER, Update((FILLER,) * 100 if answers[place] else ()))


TOLD = in_turn(ben, ann_as_told)
FED = in_turn(ben, owner(0), ann_counts, ann)


@pytest.mark.parametrize("plan", [TOLD, FED], ids=["questions", "stream"])
def test_her_view_loses_more_than_her_grants(plan: Plan) -> None:
    """Her questions, or what the owner feeds, depends on what Ben was answered."""
    found = odds_of(plan, ANN)
    assert found > F(89, 10) > 2 * GRANTED
    assert odds_of(plan) <= 3 * GRANTED  # all together: the filter for all


@pytest.mark.parametrize(
    "plan",
    [
        in_turn(ben, ann_counts, ann),
        in_turn(ann, ben, ann_counts),
        in_turn(ben, ann, owner(1), ann_counts),  # it depends on her own answer
        in_turn(ben, lambda _: (OWNER, Update((FILLER,) * 100)), ann, ann_counts),
    ],
    ids=["after", "before", "own stream", "fixed stream"],
)
def test_her_view_is_within_her_grants_if_nothing_depends_on_others(plan: Plan) -> None:
    assert 1 < odds_of(plan, ANN) <= GRANTED
    assert odds_of(plan) <= 3 * GRANTED


def test_what_others_ask_may_depend_on_her_answers() -> None:
    """It adds nothing to her view."""
    plan = in_turn(ann, lambda answers: (BEN, IsSick(F(3), str(answers[0]))), ann_counts)
    assert odds_of(plan, ANN) <= GRANTED
    assert odds_of(plan, BEN) > 3
