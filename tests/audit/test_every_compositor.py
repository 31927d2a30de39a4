"""Every compositor under every rule, against its exact worst adversary."""

import inspect
from typing import Any

import pytest

import composition
from composition import ConComp, FiltCon, FiltSeq, Rule
from queryable import Ask, InteractiveMechanism, Launch, PureDP
from queryable.audit import HockeyStick, worst_case
from tests.audit.cases import BITS, CASES, LARGER, Doors, holds_and_is_nearly_reached

ELSEWHERE = {"Blocks": "tests/audit/test_blocks.py", "ExPost": "tests/audit/test_ex_post.py"}


@pytest.mark.parametrize("name", CASES)
def test_the_claim_holds_and_is_nearly_reached(name: str) -> None:
    holds_and_is_nearly_reached(CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
def test_the_claim_holds_in_a_larger_search(name: str) -> None:
    holds_and_is_nearly_reached(LARGER[name])


def parts(value: Any) -> set[str]:
    """The names of the classes in a description."""
    names = {type(value).__name__}
    for field in getattr(type(value), "__attrs_attrs__", ()):
        inner = getattr(value, field.name)
        for each in inner if isinstance(inner, tuple) else [inner]:
            names |= parts(each)
    return names


def test_every_exported_compositor_and_rule_is_audited() -> None:
    audited = {name for case in CASES.values() for name in parts(case.build())} | set(ELSEWHERE)
    exported = {
        name
        for name in composition.__all__
        if inspect.isclass(kind := getattr(composition, name))
        and issubclass(kind, InteractiveMechanism | Rule)
        and not inspect.isabstract(kind)
    }
    assert exported <= audited
    assert len(exported) > 15


# Interleaving stays within the theorem, and can lose more than taking turns.


def worst(mechanism: Any, queries: Any, horizon: int, epsilon: Any = "5/4") -> Any:
    return worst_case(mechanism, *BITS[0], queries, horizon, HockeyStick(epsilon)).value


def test_interleaving_under_a_filter_can_be_worse_than_taking_turns() -> None:
    """A sequential filter retires the first child, so the adversary cannot return to it."""
    asks = tuple(Ask(child, door) for child in (0, 1) for door in ("next", "bold"))
    queries = (Launch(Doors()), *asks)
    budget = Doors().privacy_map(1).epsilon * 2  # type: ignore[attr-defined]
    interleaved = worst(FiltCon(PureDP(budget)), queries, 6)
    in_turn = worst(FiltSeq(PureDP(budget)), queries, 6)
    assert in_turn + 1 / 100 < interleaved
    assert worst(FiltCon(PureDP(budget)), queries, 6, budget) == 0


def test_adaptive_launches_lose_as_much_as_fixed_ones() -> None:
    """Equal mechanisms lose as much when launched adaptively as when fixed in advance."""
    asks = tuple(Ask(child, door) for child in (0, 1) for door in ("next", "bold"))
    budget = Doors().privacy_map(1).epsilon * 2  # type: ignore[attr-defined]
    adaptive = worst(FiltCon(PureDP(budget)), (Launch(Doors()), *asks), 6)
    assert adaptive == worst(ConComp([Doors(), Doors()]), asks, 4)
