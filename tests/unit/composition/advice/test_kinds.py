"""Counting by kinds gives what launching one by one gives."""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from composition import (
    Basic,
    GDPResidue,
    Menu,
    Rogers2016,
    Rogers2023,
    Rule,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    recommend,
)
from composition.advice.admission import before_refusal, whole_plans
from composition.advice.kinds import Kinds, merged
from composition.advice.planning import _crossing
from composition.advice.residues import MuLeft, mixed
from composition.rules import SlackAccount
from composition.rules.base import Account
from queryable import ApproxDP, Loss, PureDP
from queryable.losses import GDP, Dominated

BUDGET = ApproxDP(1, "1e-6")
HALF = "5e-7"
RULES: tuple[Rule, ...] = (
    Basic(),
    GDPResidue(HALF),
    Menu("1/100", [1, 2, 5, 10], slack=HALF),
    Rogers2016(),
    Rogers2023(HALF),
    ViaGDP(),
    ViaRenyi([4, 16, 40], ["1/4", "1/2", "1/4"], HALF),
    ViaZCDP(HALF),
    Whitehouse2023(HALF),
)
PURE = (PureDP("1/10"), PureDP("1/30"), PureDP("1/100"), PureDP(0))
WITH_DELTAS = (*PURE, ApproxDP("1/20", "1e-8"), ApproxDP("0", "3e-8"))
TAKES_NO_DELTAS = (Rogers2016, ViaGDP, ViaRenyi)
RESPONSES = [Dominated(f"1/{n}", 0, 0) for n in (10, 20, 40, 100)]
ANY = [*RESPONSES, GDP("1/30").to(Dominated), Dominated("1/50", "1/60", "1e-9")]


def random_plan(chance: Random, losses: Any, most: int = 60) -> list[tuple[Loss, int]]:
    """Runs of a few launches each."""
    some = chance.sample(losses, chance.randint(1, min(3, len(losses))))
    return [(chance.choice(some), chance.randint(1, 3)) for _ in range(chance.randint(1, most))]


def in_turn(account: Account, plan: list[tuple[Loss, int]]) -> Iterator[Account]:
    """The accounts after one launch more each time, to the first refusal."""
    for loss, count in plan:
        for _ in range(count):
            account = account.add(loss)
            if not account.within:
                return
            yield account


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_as_many_fit_as_one_by_one(rule: Rule) -> None:
    """Launches before the first refusal, and whole plans, for random plans."""
    chance = Random(34)
    losses = PURE if isinstance(rule, TAKES_NO_DELTAS) else WITH_DELTAS
    account, measure = rule.open(BUDGET), rule.child_measure(BUDGET)
    for _ in range(12):
        plan = [(loss.to(measure), count) for loss, count in random_plan(chance, losses)]
        launches = sum(count for _, count in plan)
        assert before_refusal(account, plan) == sum(1 for _ in in_turn(account, plan))
        if len({loss for loss, _ in plan}) > 1:  # others may cost nothing
            fit = sum(1 for _ in in_turn(account, plan * 40))
            assert fit == 40 * launches or whole_plans(account, plan) == fit // launches


def test_launches_of_kinds_that_alternate_fit_as_often_as_one_by_one() -> None:
    """The floats of `GDPResidue`, many launches at once, against the account itself."""
    chance, account = Random(35), GDPResidue(HALF).open(BUDGET)
    seen = 0
    for _ in range(25):
        plan = random_plan(chance, ANY)
        kinds = Kinds.of(plan)
        fit = sum(1 for _ in in_turn(account, plan * 60))
        seen += fit < 60 * kinds.launches
        assert mixed(MuLeft.of(account), kinds, 60 * kinds.launches) == fit
    assert seen >= 15  # not all of them fit


def test_few_and_many_launches_of_few_kinds_are_counted_alike() -> None:
    plan = RESPONSES * 30
    account = GDPResidue(HALF).open(BUDGET)
    listed: list[tuple[Loss, int]] = [(loss, 1) for loss in plan]
    assert before_refusal(account, listed) == sum(1 for _ in in_turn(account, listed))
    small: list[tuple[Loss, int]] = [(Dominated(f"1/{n}", 0, 0), 1) for n in (900, 500, 700)]
    whole = whole_plans(account, small)
    assert whole_plans(account, small * 40) == whole // 40
    assert before_refusal(account, small * 60_000) // 3 == whole


def test_the_launches_of_each_kind_are_counted() -> None:
    chance = Random(36)
    for _ in range(50):
        plan = random_plan(chance, PURE)
        flat = [loss for loss, count in plan for _ in range(count)] * 3
        kinds = Kinds.of(plan)
        first, last = sorted((chance.randrange(len(flat)), chance.randrange(len(flat) + 1)))
        assert dict(kinds.between(first, last)) == Counter(flat[first:last])
        assert kinds.at(first) == flat[first]
        assert merged(plan) == list(Counter(flat[: kinds.launches]).items())


def test_a_crossing_is_found_as_by_trying_all() -> None:
    chance = Random(37)
    for _ in range(300):
        most = chance.randint(1, 400)
        limit, power = chance.uniform(-1, 500), chance.choice((0.5, 1, 3))
        looks: list[int] = []

        def excess(
            count: int, limit: float = limit, power: float = power, looks: list[int] = looks
        ) -> tuple[bool, float]:
            looks.append(count)
            return count <= limit, float(count) ** power - max(limit, 0) ** power

        expected = max((n for n in range(1, most + 1) if n <= limit), default=0)
        assert _crossing(excess, most, chance.randint(0, 2 * most)) == expected
        assert len(looks) <= 30


def test_launches_that_alternate_are_added_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one by one: 3,000 launches of three kinds are few additions."""
    calls: list[int] = []
    true = SlackAccount.add_many

    def counted(self: SlackAccount, loss: Any, count: int) -> SlackAccount:
        calls.append(count)
        return true(self, loss, count)

    monkeypatch.setattr(SlackAccount, "add_many", counted)
    found = recommend(BUDGET, [PureDP("1/1000"), PureDP("1/500"), PureDP("1/700")] * 1000)
    assert found.planned == 3000
    assert 0 < len(calls) < 1500
