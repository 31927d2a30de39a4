"""Every compositor under every rule, against its exact worst adversary."""

import inspect
from typing import Any

import pytest

import composition
from composition import ConComp, FiltCon, FiltSeq, Rule
from queryable import Ask, InteractiveMechanism, Launch, Loss, PureDP
from queryable.audit import HockeyStick, worst_case
from tests.audit.cases import BITS, CASES, Doors

ELSEWHERE = {"ExPost": "tests/audit/test_ex_post.py"}


@pytest.mark.parametrize("name", CASES)
def test_the_claim_is_kept_and_about_as_much_is_lost(name: str) -> None:
    """Proved; and the adversary is strong enough to see a fault."""
    case = CASES[name]
    verdict = case.keeps()
    if isinstance(case.reached, Loss):
        assert case.audited(case.reached).refuted
    else:
        assert max(finding.below for finding in verdict.findings) >= case.reached


def parts(value: Any) -> set[str]:
    """The names of the classes that a description is made of."""
    names = {type(value).__name__}
    for field in getattr(type(value), "__attrs_attrs__", ()):
        inner = getattr(value, field.name)
        for each in inner if isinstance(inner, tuple) else [inner]:
            names |= parts(each)
    return names


def test_nothing_escapes_the_audits() -> None:
    """Whatever `composition` exports, compositor or rule, is in a case here."""
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


# Interleaving: within the theorem always, more than taking turns sometimes.


def worst(mechanism: Any, queries: Any, horizon: int, epsilon: Any = "5/4") -> Any:
    return worst_case(mechanism, *BITS[0], queries, horizon, HockeyStick(epsilon)).value


def test_interleaving_under_a_filter_gains_on_taking_turns() -> None:
    """Back to the first child after hearing the second: a sequential filter has retired it."""
    asks = tuple(Ask(child, door) for child in (0, 1) for door in ("next", "bold"))
    queries = (Launch(Doors()), *asks)
    budget = Doors().privacy_map(1).epsilon * 2  # type: ignore[attr-defined]
    interleaved = worst(FiltCon(PureDP(budget)), queries, 6)
    in_turn = worst(FiltSeq(PureDP(budget)), queries, 6)
    assert in_turn + 1 / 100 < interleaved
    assert worst(FiltCon(PureDP(budget)), queries, 6, budget) == 0


def test_a_filter_gains_nothing_on_what_is_fixed() -> None:
    """Launched one by one and chosen on the way, equal mechanisms lose what they lose together."""
    asks = tuple(Ask(child, door) for child in (0, 1) for door in ("next", "bold"))
    budget = Doors().privacy_map(1).epsilon * 2  # type: ignore[attr-defined]
    adaptive = worst(FiltCon(PureDP(budget)), (Launch(Doors()), *asks), 6)
    assert adaptive == worst(ConComp([Doors(), Doors()]), asks, 4)
