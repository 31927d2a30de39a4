"""Ex-post selection, exactly: every view, and every order of cheap and dear candidates.

The candidates are responses to a bit, so every probability of one run is rational. The law of a
search is enumerated, and is that of the proof, which is then evaluated where few runs are likely
to be the last, as enumeration cannot.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import log
from random import Random
from typing import Any

import attrs
import mpmath
import pytest

from composition import ExPost
from mechanisms import TruncatedNegativeBinomial
from mechanisms.best import BestRun
from mechanisms.first_good import FirstGood, SelectionExpense, Try
from queryable import (
    Ask,
    Coins,
    Launch,
    Loss,
    Measurement,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
)
from queryable.audit import hockey_stick, view_law
from queryable.audit.views.view_laws import CUT
from queryable.ex_post import Opening
from queryable.randomness.laws import Bernoulli
from tests.audit.toys import F, Response, nats, yes

NONE = BestRun(None, None)
PRICE, LAUNCH = nats(3), Launch(Response("3/2"))
ETAS = (F(-1, 2), F(0), F(1))


@attrs.frozen
class Rarely(Measurement[int]):
    """A response at some odds, as 1 or 2; but for a small probability 0, whatever the data are."""

    odds: Fraction = attrs.field(converter=F)
    share: Fraction = attrs.field(default=F(1), converter=F)

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(self.odds))

    def release(self, dataset: Any, coins: Coins) -> int:
        if not coins.draw(Bernoulli(self.share)):
            return 0
        return 1 + (coins.draw(yes(self.odds)) == bool(dataset))

    def chances(self, bit: int) -> dict[int, Fraction]:
        """The law of an answer."""
        right, wrong = self.odds / (1 + self.odds), 1 / (1 + self.odds)
        of_two = right if bit else wrong
        return {0: 1 - self.share, 1: self.share * (1 - of_two), 2: self.share * of_two}


def generated(law: TruncatedNegativeBinomial) -> Callable[[Any], Any]:
    """E[t^K]."""
    eta, gamma = (mpmath.mpf(each.numerator) / each.denominator for each in (law.eta, law.gamma))
    if eta == 0:
        return lambda t: mpmath.log(1 - (1 - gamma) * t) / mpmath.log(gamma)
    return lambda t: ((1 - (1 - gamma) * t) ** -eta - 1) / (gamma**-eta - 1)


def of_the_proof(mechanism: FirstGood, tries: Sequence[Try], bit: int) -> dict[Any, Any]:
    """The law of the views of an adversary who makes these tries, until one finds something."""
    f, rest, law, seen = generated(mechanism.repetitions), F(1), {}, ()
    real: Any = lambda x: mpmath.mpf(x.numerator) / x.denominator  # noqa: E731
    for each in tries:
        [candidate] = each.base
        assert isinstance(candidate, Rarely)
        chances = candidate.chances(bit)
        for answer in sorted(chances, key=lambda one: -each.number(one)):
            if each.is_good(each.number(answer)) and chances[answer]:
                lower = rest - chances[answer] / mechanism.tries
                law[*seen, BestRun(0, answer)] = f(real(rest)) - f(real(lower))
                rest = lower
        seen = *seen, NONE
    law[seen] = f(real(rest))
    return {view: chance for view, chance in law.items() if chance}


def making(tries: Sequence[Try]) -> Callable[[Any], Any]:
    """An adversary who makes these tries until one finds something."""

    def adversary(view: Any) -> Any:
        made = len(view)
        ended = made and view[-1].answer != NONE
        return None if ended or made == len(tries) else tries[made]

    return adversary


def cost(mechanism: FirstGood, tries: Sequence[Try], view: Sequence[Any]) -> Fraction:
    """The expense of a view; it never passes what was the worst before a try."""
    spent: Any = mechanism.expense().after(Opening(), None)
    for tried, answer in zip(tries, view, strict=False):
        worst = spent.at_worst(tried, 1)
        spent = spent.after(tried, answer)
        assert spent.epsilon(1) <= worst
    return spent.epsilon(1)


CHEAP, DEAR = Rarely("3/2"), Rarely(3)
KINDS = tuple(
    Try(each, score, tau)
    for each in (CHEAP, DEAR)
    for score, tau in (("largest", 2), ("smallest", 1), ("largest", None))
)
"""Candidates for which a good number is likelier if the bit is 1, or 0, or sure."""


@pytest.mark.parametrize("eta", ETAS)
def test_views_have_the_law_of_the_proof(eta: Fraction) -> None:
    """What is cut off is at most what the enumeration says."""
    mechanism = FirstGood(PRICE, TruncatedNegativeBinomial(eta, "3/4"), 3)
    for places in ((0, 4), (4, 0), (1, 3), (2, 1), (0, 0)):
        tries = tuple(KINDS[place] for place in places)
        expected = of_the_proof(mechanism, tries, 1)
        law = view_law(mechanism, 1, making(tries), tail=F(1, 100))
        found = {view[1:]: chance for view, chance in law.items() if view is not CUT}
        assert {*found} == {*expected}
        for view, chance in found.items():
            low, high = getattr(chance, "low", chance), getattr(chance, "high", chance)
            assert float(low) - 1e-12 <= float(expected[view]) <= float(high) + 1e-2


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("gamma", ["1/2", "1/9000"])
def test_every_view_loses_at_most_its_expense(eta: Fraction, gamma: str) -> None:
    """For all tries in any order, at both data."""
    mechanism = FirstGood(PRICE, TruncatedNegativeBinomial(eta, gamma), 3)
    with mpmath.workdps(40):
        for tries in product(KINDS, repeat=3):
            p, q = (of_the_proof(mechanism, tries, bit) for bit in (0, 1))
            assert {*p} == {*q}
            for view in p:
                lost = abs(mpmath.log(p[view] / q[view]))
                assert lost <= cost(mechanism, tries, view) + mpmath.mpf(10) ** -25


def test_the_price_is_reached() -> None:
    """A rare run that is good, after a try of the other kind: it loses nearly twice its epsilon."""
    mechanism = FirstGood(PRICE, TruncatedNegativeBinomial(0, "1/100000"), 2)
    common = Try(Rarely(3, "1/100"), lambda number: number == 1, 1)
    tries = common, Try(Rarely(3, "1/10000"), "largest", 2)
    with mpmath.workdps(40):
        p, q = (of_the_proof(mechanism, tries, bit) for bit in (1, 0))
        view = NONE, BestRun(0, 2)
        assert cost(mechanism, tries, view) == 2 * PRICE
        assert 1.97 * log(3) < mpmath.log(p[view] / q[view]) < 2 * log(3)


def test_a_cheap_find_pays_for_no_dear_candidate() -> None:
    """The loss of each view is bounded by what was tried, not by what might have been."""
    mechanism = FirstGood(10, TruncatedNegativeBinomial(0, "1/100"), 9)
    cheap, dear = Try(CHEAP, "largest", 2), Try(DEAR, "largest", 2)
    found = BestRun(0, 2)
    assert cost(mechanism, [cheap], [found]) == 2 * nats("3/2")
    assert cost(mechanism, [cheap, dear], [NONE, found]) == 2 * nats(3)
    assert cost(mechanism, [dear, cheap], [NONE, found]) == nats(3) + nats("3/2")
    assert cost(mechanism, [dear, cheap], [NONE, NONE]) == 2 * nats(3)


@attrs.frozen
class Flattering(FirstGood):
    """Falsely claims that only the last candidate is paid for, and once."""

    def expense(self) -> SelectionExpense:
        return Once(self)


class Once(SelectionExpense):
    """The epsilon of the last try."""

    def epsilon(self, d_in: int) -> Fraction:
        return self.tried[-1].epsilon(d_in) if self.tried else F(0)


QUERIES: tuple[Any, ...] = (*(Ask(0, KINDS[place]) for place in (0, 1, 3, 4)), LAUNCH)


def random_adversary(first: Any, seed: int) -> Callable[[Any], Any]:
    """An adversary who launches a search, and then asks by chance, but each view always the same.

    A refused message is answered by another one.
    """

    def adversary(view: Any) -> Any:
        if len(view) < 2:
            return (first, LAUNCH)[len(view)]
        if len(view) == 6:
            return None
        answers = [getattr(each.answer, "answer", each.answer) for each in view]
        return Random(f"{seed} {answers}").choice(QUERIES)

    return adversary


def test_in_an_ex_post_filter_beside_others() -> None:
    """However tries interleave with launches, the budget holds."""
    budget = PureDP(3 * nats(3) + nats("3/2"))
    launch = Launch(FirstGood(PRICE, TruncatedNegativeBinomial(1, "9/10"), 2))
    for seed in range(20):
        adversary = random_adversary(launch, seed)
        p, q = (view_law(ExPost(budget), bit, adversary, tail=F(1, 200)) for bit in (0, 1))
        for one, other in ((p, q), (q, p)):
            cut = one.get(CUT, F(0))
            assert hockey_stick(one, other, budget.epsilon) <= getattr(cut, "high", cut)


def test_an_expense_that_is_too_small_is_caught() -> None:
    mechanism = Flattering(PRICE, TruncatedNegativeBinomial(0, "1/9000"), 2)
    tries = KINDS[3], KINDS[4]
    p, q = (of_the_proof(mechanism, tries, bit) for bit in (0, 1))
    assert any(abs(log(p[view] / q[view])) > cost(mechanism, tries, view) for view in p)


def test_a_filter_refuses_what_may_not_fit() -> None:
    """Nothing is charged then, and a cheaper try still runs."""
    search = FirstGood(PRICE, TruncatedNegativeBinomial(0, "1/2"), 2)
    handle = Queryable(ExPost(PureDP(2 * nats("3/2"))), 1)
    child = handle.launch(search)
    with pytest.raises(QueryRefusedError):
        child(KINDS[4])
    assert handle.privacy_loss().epsilon == 0
    with pytest.raises(QueryError, match="at most"):
        child(Try(Rarely(4), "largest"))
    assert isinstance(child(KINDS[0]), BestRun)
    assert handle.privacy_loss().epsilon == 2 * nats("3/2")
