"""Concurrent composition, exactly: it commutes with persons, and interleaving gains nothing."""

from itertools import product
from typing import Any

import attrs
import pytest

from composition import ConComp, FiltCon
from queryable import (
    Ask,
    FromAnalyst,
    FromMechanism,
    Launch,
    Launched,
    PersonInTheMiddle,
    PureDP,
    ToAnalyst,
)
from queryable.audit import view_law
from tests.audit.toys import (
    F,
    PadReveal,
    Reader,
    Response,
    TwoRounds,
    excess,
    nats,
    optimal_delta,
    reader,
    script,
    worst_cases,
)

FACTORS = (1, F(5, 4), F(3, 2), 2, 3, 4, 6, 9)
LEAVES = [excess(factor) for factor in FACTORS]


@attrs.frozen
class Readers(PersonInTheMiddle[Any]):
    """One person over a composition that acts as a reader for each mechanism."""

    def init(self) -> Any:
        return ()

    def step(self, state: Any, message: Any, coins: Any) -> tuple[Any, Any]:
        match message:
            case FromMechanism(openings):
                hidden = tuple(opening.answer for opening in openings)
                return hidden, ToAnalyst(tuple(Launched(i, None) for i in range(len(hidden))))
            case FromAnalyst(Ask(child, query)):
                return state, Reader().step(state[child], FromAnalyst(query), coins)[1]
        raise AssertionError(message)


@pytest.mark.parametrize("bit", [0, 1])
def test_persons_in_a_composition_are_one_person_over_it(bit: int) -> None:
    """ConComp of readers over responses has the view of one person over ConComp of responses."""
    responses = (Response(3), Response(2), Response(F(5, 4), delta=F(1, 9)))
    together = Readers() @ ConComp(responses)
    apart = ConComp([Reader() @ response for response in responses])
    asks = [Ask(child, "read") for child in range(3)]
    for seed in range(8):

        def adversary(view: Any, seed: int = seed) -> Any:
            adaptive = sum(answer is True for answer in view.answers)
            return asks[(seed + adaptive * len(view)) % 3] if len(view) < 4 else None

        law = view_law(apart, bit, adversary)
        assert law == view_law(together, bit, adversary)
        assert sum(law.values()) == 1


# each mechanism, its queries, and its claim (odds, delta)
CASES: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, Any]]] = {
    "pad": (PadReveal(3), ("key", "sum"), (3, 0)),
    "pad at odds 2": (PadReveal(2), ("key", "sum"), (2, 0)),
    "two rounds": (TwoRounds(), ("next",), (3, 0)),
    "reader": (reader(3), ("read",), (3, 0)),
    "leaky reader": (reader(2, delta=F(1, 10)), ("read",), (2, F(1, 10))),
}


def composed(*names: str) -> tuple[Any, list[Any], list[Any]]:
    mechanism = ConComp([CASES[name][0] for name in names])
    queries = [Ask(i, query) for i, name in enumerate(names) for query in CASES[name][1]]
    return mechanism, queries, [CASES[name][2] for name in names]


@pytest.mark.parametrize(("x", "x_prime"), [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("names", "horizon"),
    [
        (("pad", "pad"), 6),
        (("pad", "two rounds"), 6),
        (("two rounds", "two rounds"), 6),
        (("reader", "pad"), 6),
        (("leaky reader", "pad"), 6),
        (("two rounds", "leaky reader"), 6),
        (("pad", "two rounds", "pad at odds 2"), 4),
        pytest.param(("pad", "two rounds", "pad at odds 2"), 6, marks=pytest.mark.slow),
    ],
)
def test_interleaving_gains_nothing(
    names: tuple[str, ...], horizon: int, x: int, x_prime: int
) -> None:
    """The worst adversary stays within the optimal composition of the claims (Theorem 1.8)."""
    mechanism, queries, claims = composed(*names)
    found = worst_cases(mechanism, x, x_prime, queries, horizon, LEAVES)
    allowed = [optimal_delta(claims, factor) for factor in FACTORS]
    assert all(gain <= bound for gain, bound in zip(found, allowed, strict=True))


def test_the_optimal_composition_is_reached() -> None:
    """Two answers of a pad are a response, so pads reach the bound at every epsilon."""
    mechanism, queries, claims = composed("pad", "pad at odds 2")
    found = worst_cases(mechanism, 0, 1, queries, 4, LEAVES)
    assert found == tuple(optimal_delta(claims, factor) for factor in FACTORS)


@pytest.mark.parametrize(
    ("liar", "queries"),
    [(PadReveal(3, stated=2), ("key", "sum")), (reader(F(9, 4), stated=2), ("read",))],
)
def test_interleaving_gains_when_a_mechanism_lies(liar: Any, queries: tuple[Any, ...]) -> None:
    """With a mechanism that understates its loss, the search exceeds the bound."""
    mechanism = ConComp([liar, PadReveal(2)])
    asks = [Ask(0, query) for query in queries] + [Ask(1, "key"), Ask(1, "sum")]
    assert mechanism.privacy_map(1) == PureDP(nats(2) + nats(2))
    found = worst_cases(mechanism, 0, 1, asks, 7, LEAVES)
    allowed = [optimal_delta([(2, 0), (2, 0)], factor) for factor in FACTORS]
    assert any(gain > bound for gain, bound in zip(found, allowed, strict=True))


def test_the_order_of_independent_queries_does_not_matter() -> None:
    """Every interleaving of fixed queries gives the same joint law of the answers."""
    mechanism = ConComp([PadReveal(3), TwoRounds()])
    queries = (Ask(0, "key"), Ask(0, "sum"), Ask(1, "next"), Ask(1, "next"))
    laws = []
    for order in product((0, 1), repeat=4):
        if sum(order) == 2:
            left, right = iter((0, 1)), iter((2, 3))
            places = [next(right) if second else next(left) for second in order]
            law = view_law(mechanism, 1, script(*(queries[place] for place in places)))
            laws.append(
                {
                    tuple(a for _, a in sorted(zip(places, seen[1:], strict=True))): chance
                    for seen, chance in law.items()
                }
            )
    assert len(laws) == 6
    assert all(law == laws[0] for law in laws)


def test_filter_of_fixed_launches_is_the_composition() -> None:
    """Launched in a filter one after another, mechanisms answer exactly as in ConComp."""
    filtered = FiltCon(PureDP(9))
    mechanisms = (PadReveal(3), TwoRounds())
    for order in (("key", "next", "sum", "next"), ("next", "next", "sum", "key")):
        queries = [Ask(int(query == "next"), query) for query in order]
        apart = view_law(filtered, 1, script(*map(Launch, mechanisms), *queries))
        fixed = view_law(ConComp(mechanisms), 1, script(*queries))
        assert {seen[3:]: chance for seen, chance in apart.items()} == {
            seen[1:]: chance for seen, chance in fixed.items()
        }
