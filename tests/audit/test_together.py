"""Several launches or queries at once have exactly the law of one after the other.

Laws are enumerated, so equality is `==`. Each check is shown a false variant that it must find.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import attrs
import pytest

from composition import FiltCon, FiltSeq, OdomCon
from mechanisms import SparseVector
from queryable import Ask, Coins, Failed, Launch, PureDP, Statistic
from queryable.audit import view_law
from queryable.messages import AskMany, LaunchMany, entries_of
from tests.attacks.test_sparse_vectors import Choice, lumped
from tests.audit.toys import F, PadReveal, Response, TwoRounds, excess, nats, script, worst_cases

LAUNCHES = (
    Launch(Response(3)),
    Launch(PadReveal(2)),
    Launch(Response(9)),
    Launch(Response(2)),
    Launch(TwoRounds()),
)
ASKS = (Ask(1, "key"), Ask(1, "sum"))


def one_by_one(law: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """The law with the answers to several entries as answers of their own."""
    flat: dict[Hashable, Any] = {}
    for answers, chance in law.items():
        assert isinstance(answers, tuple)
        key = tuple(
            inner for each in answers for inner in (each if isinstance(each, tuple) else (each,))
        )
        flat[key] = flat.get(key, 0) + chance
    return flat


@pytest.mark.parametrize("bit", [False, True])
@pytest.mark.parametrize("build", [FiltCon, FiltSeq, OdomCon])
def test_several_launches_have_the_law_of_single_ones(build: Any, bit: bool) -> None:
    """Randomized responses and interactive children, with a refusal, asked afterwards."""
    mechanism = OdomCon(PureDP) if build is OdomCon else build(PureDP(nats(3) + nats(40)))
    asks = () if build is FiltSeq else ASKS
    single = view_law(mechanism, bit, script(*LAUNCHES, *asks))
    for parts in ((5,), (2, 3), (1, 4), (3, 1, 1)):
        queries, left = [], list(LAUNCHES)
        for part in parts:
            queries.append(LaunchMany(left[:part]))
            left = left[part:]
        assert one_by_one(view_law(mechanism, bit, script(*queries, *asks))) == single


def test_a_budget_is_kept_exactly() -> None:
    """No adversary that launches several at once exceeds it; at a smaller epsilon one does."""
    queries = (
        LaunchMany([Launch(Response(3)), Launch(Response(2))]),
        LaunchMany([Launch(Response(2))] * 4),
        LaunchMany([Launch(PadReveal(3)), Launch(Response(3))]),
        Launch(Response(2)),
        Ask(0, "key"),
        Ask(0, "sum"),
    )
    leaves = [excess(6), excess(F(599, 100))]
    exactly, below = worst_cases(FiltCon(PureDP(nats(3) + nats(2))), 0, 1, queries, 2, leaves)
    assert exactly == 0
    assert below > 0


def test_a_budget_that_charges_one_of_several_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all had been admitted by the account before."""
    real = FiltCon._charged

    def charged(self: Any, state: Any, order: Any) -> Any:
        moved, due = real(self, state, order)
        return attrs.evolve(moved, account=state.account), due

    query = LaunchMany([Launch(Response(3)), Launch(Response(3))])
    mechanism = FiltCon(PureDP(nats(3)))
    assert worst_cases(mechanism, 0, 1, (query,), 1, [excess(3)]) == (0,)
    monkeypatch.setattr(FiltCon, "_charged", charged)
    assert worst_cases(mechanism, 0, 1, (query,), 1, [excess(3)])[0] > 0


def test_one_run_for_equal_launches_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal launches have independent answers."""
    real = FiltCon._launch

    def launch(self: Any, own: Any, ordered: Any) -> Any:
        moved = yield from real(self, own, ordered._replace(orders=ordered.orders[:1]))
        return moved._replace(answer=moved.answer * len(ordered.orders))

    twice = [Launch(Response(3))] * 2
    single = view_law(FiltCon(PureDP(9)), True, script(*twice))
    assert one_by_one(view_law(FiltCon(PureDP(9)), True, script(LaunchMany(twice)))) == single
    monkeypatch.setattr(FiltCon, "_launch", launch)
    assert one_by_one(view_law(FiltCon(PureDP(9)), True, script(LaunchMany(twice)))) != single


@attrs.frozen
class Finite(SparseVector):
    """A sparse vector with noise of finite support; its tails are lumped at the ends."""

    def _threshold_noise(self) -> Choice:  # type: ignore[override]
        return lumped(F(1, 2), -1, 1)

    def _query_noise(self, moves: Any = None) -> Choice:  # type: ignore[override]
        return lumped(F(1, 3), -1, 1)


def value(index: int) -> Statistic:
    return Statistic(lambda dataset: dataset[index], l1=1, l2=1)


VALUES = tuple(map(value, range(3)))


def flattened(mechanism: Any, data: Any, *queries: Any) -> dict[Hashable, Any]:
    return one_by_one(view_law(mechanism, data, script(*queries)))


@pytest.mark.parametrize("cutoff", [1, 2, 9])
@pytest.mark.parametrize("data", [(0, 0, 0), (1, -1, 1)])
def test_a_sparse_vector_asked_several_has_the_law_of_one_by_one(cutoff: int, data: Any) -> None:
    """However the queries are grouped, also beyond the cutoff."""
    mechanism = Finite(0, 1, cutoff=cutoff)
    single = view_law(mechanism, data, script(*VALUES))
    assert flattened(mechanism, data, AskMany(VALUES)) == single
    assert flattened(mechanism, data, AskMany(VALUES[:1]), AskMany(VALUES[1:])) == single
    assert flattened(mechanism, data, AskMany(VALUES[:2]), VALUES[2]) == single


@attrs.frozen
class OneNoise(Finite):
    """Adds the same noise to all statistics that are asked together."""

    def step(self, state: Any, query: Any, coins: Any = None) -> Any:
        if not isinstance(query, AskMany):
            return super().step(state, query, coins)
        noise, answers = coins.draw(self._query_noise()), []
        for each in entries_of(query):
            state, answer = self._compared(state, each, Fixed(noise, coins))  # type: ignore[arg-type]
            answers.append(answer)
        return state, tuple(answers)


class Fixed:
    """Coins whose draw of the noise on a query is given."""

    def __init__(self, noise: Any, coins: Coins) -> None:
        self.noise, self.coins = noise, coins

    def draw(self, law: Any) -> Any:
        return self.noise if law == lumped(F(1, 3), -1, 1) else self.coins.draw(law)


@attrs.frozen
class NoCutoff(Finite):
    """Looks at the cutoff before several statistics only."""

    def _compared(self, state: Any, statistic: Any, coins: Any) -> Any:
        left = state.left
        if left > 0:
            state, answer = super()._compared(attrs.evolve(state, left=9), statistic, coins)
            return attrs.evolve(state, left=max(left, 1)), answer
        return super()._compared(state, statistic, coins)


@pytest.mark.parametrize("false", [OneNoise, NoCutoff])
def test_a_false_variant_has_another_law(false: Any) -> None:
    """One noise for all, or a cutoff that is not obeyed."""
    mechanism, data = false(0, 1), (0, 0, 0)
    true = view_law(Finite(0, 1), data, script(*VALUES))
    assert flattened(mechanism, data, AskMany(VALUES)) != true


def test_a_failure_among_several_is_that_of_one() -> None:
    """What was answered before it is kept; what comes after is not read."""
    mechanism = Finite(0, 1, cutoff=9)
    law = view_law(mechanism, (-9, -9), script(AskMany(VALUES)))
    assert law == {(None, (False, False, Failed())): 1}
