"""Laws that every mechanism and compositor obeys, checked on all of them alike."""

import copy
import inspect
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import composition
import mechanisms
from composition import ConComp, FiltCon, OdomCon
from composition.universal import Universal
from queryable import (
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    Loss,
    Measurement,
    PrivacyClaimError,
    PureDP,
    QueryError,
    RetiredChildError,
    SeededCoins,
    interact,
)
from tests.laws.subjects import COMPOSITORS, DATA, MECHANISMS, SUBJECTS, Subject
from tests.strategies import ILLEGAL, ILLEGAL_LAUNCHES, WORD, Courier, Masker, RandomBits

every = pytest.mark.parametrize("subject", SUBJECTS, ids=str)


def play(
    mechanism: InteractiveMechanism[Any], queries: Sequence[Any], coins: Coins
) -> list[tuple[Any, Any]]:
    """The states along a run with the answers that led there; what is retired is not asked."""
    state, answer = mechanism.init(DATA, coins.spawn("root", 0))
    states = [(state, answer)]
    for message, query in enumerate(queries, 1):
        with suppress(RetiredChildError):  # a sequential compositor has dropped the child
            state, answer = mechanism.step(state, query, coins.spawn("root", message))
            states.append((state, answer))
    return states


def answers_of(subject: Subject, seed: int) -> list[Any]:
    """The opening and all answers of the subject's script."""
    return [answer for _, answer in play(subject.mechanism, subject.script, SeededCoins(seed))]


def states_of(subject: Subject) -> list[tuple[Any, Any]]:
    """Each state that the script leads to, with a query that is legal there."""
    state, _ = subject.mechanism.init(DATA, SeededCoins(1).spawn("root", 0))
    pairs = []
    for message, query in enumerate(subject.script, 1):
        with suppress(RetiredChildError):
            after, _ = subject.mechanism.step(state, query, SeededCoins(1).spawn("root", message))
            pairs.append((state, query))
            state = after
    return pairs


def same(left: Any, right: Any) -> bool:
    """Equality by value, into arrays too."""
    return bool(snapshot(left) == snapshot(right))


@every
def test_equal_coins_give_equal_results(subject: Subject) -> None:
    """`init` and `step` are functions of their arguments and coins, and of nothing else."""
    mechanism = subject.mechanism
    assert same(mechanism.init(DATA, SeededCoins(7)), mechanism.init(DATA, SeededCoins(7)))
    for state, query in states_of(subject):
        one = mechanism.step(state, query, SeededCoins(7))
        other = mechanism.step(state, query, SeededCoins(7))
        assert same(one[1], other[1])
        assert same(one[0], other[0])


@every
def test_a_step_does_not_change_its_input(subject: Subject) -> None:
    """The state before a step is, byte for byte, the state after it."""
    for state, query in states_of(subject):
        before = snapshot(state)
        subject.mechanism.step(state, query, SeededCoins(3))
        assert snapshot(state) == before


def snapshot(value: Any) -> Any:
    """A deep picture of a state, by value: attrs fields, maps, arrays, and what else has a repr."""
    if attrs.has(type(value)):
        fields = [(field.name, getattr(value, field.name)) for field in attrs.fields(type(value))]
        return (type(value), [(name, snapshot(each)) for name, each in fields])
    if hasattr(value, "items"):
        return sorted((repr(key), snapshot(each)) for key, each in value.items())
    if isinstance(value, tuple | list):
        return [snapshot(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else repr(value)


@every
def test_illegal_queries_change_nothing(subject: Subject) -> None:
    """Nonsense is a `QueryError` in every state, and the next answer is as if it was never said."""
    for state, query in states_of(subject):
        clean = subject.mechanism.step(state, query, SeededCoins(5))
        for wrong in (*ILLEGAL, *ILLEGAL_LAUNCHES):
            if getattr(state, "halted", None) is not None:
                continue  # Algorithm 3 answers Halt to everything
            with pytest.raises(QueryError):
                subject.mechanism.step(state, wrong, SeededCoins(5))
        assert same(subject.mechanism.step(state, query, SeededCoins(5))[1], clean[1])


@every
def test_a_run_replays_from_its_seed(subject: Subject) -> None:
    """Equal seeds give equal views; random subjects differ between seeds."""
    first = answers_of(subject, 11)
    assert same(answers_of(subject, 11), first)
    if subject.random:
        assert any(not same(answers_of(subject, seed), first) for seed in range(40))


@every
def test_old_states_stay_usable(subject: Subject) -> None:
    """A state answers as it did, after the run has gone on from it."""
    states = states_of(subject)
    then = [subject.mechanism.step(state, query, SeededCoins(9))[1] for state, query in states]
    for (state, query), answer in reversed(list(zip(states, then, strict=True))):
        assert same(subject.mechanism.step(state, query, SeededCoins(9))[1], answer)


@every
def test_data_do_not_show_in_a_state(subject: Subject) -> None:
    """The repr of no state prints the data."""
    for state, _ in states_of(subject):
        assert "array(" not in repr(state)
        assert "[ 0  1  2" not in repr(state)


@every
def test_maps_are_zero_at_zero_and_monotone(subject: Subject) -> None:
    """More records never lose less, and equal data lose nothing; odometers say they have none."""
    try:
        losses = [subject.mechanism.privacy_map(d_in) for d_in in range(5)]
    except PrivacyClaimError:
        assert "Odom" in subject.name
        return
    assert losses[0] == losses[1].zero()
    assert all(low <= high for low, high in pairwise(losses))
    for wrong in (True, -1):
        with pytest.raises(ValueError, match="d_in"):
            subject.mechanism.privacy_map(wrong)


@every
def test_a_description_is_a_value(subject: Subject) -> None:
    """Frozen, equal to its copy, hashable: it can be logged and compared."""
    mechanism = subject.mechanism
    assert copy.copy(mechanism) == mechanism
    assert hash(mechanism) == hash(mechanism)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        mechanism.anything = 1  # type: ignore[attr-defined]


def children_of(parent: InteractiveMechanism[Any]) -> list[tuple[int, ...]]:
    """Paths to the children that the commuting laws set up below a parent."""
    if isinstance(parent, ConComp):
        return [(0,), (2, 0), (2, 1, 0)]
    return [(0,), (1, 0), (1, 1, 0), (2,)]


def addressed(path: tuple[int, ...], query: Any) -> Any:
    """The query as it travels to the child at the path."""
    for child in reversed(path):
        query = Ask(child, query)
    return query


BITS = RandomBits(PureDP("0.01"))
INNER = FiltCon(PureDP("0.2"))
TREES = {
    "FiltCon": FiltCon(PureDP(1)),
    "OdomCon": OdomCon(PureDP),
    "person over FiltCon": Courier() @ FiltCon(PureDP(1)),
    "noise reduction over FiltCon": mechanisms.BrownianNoiseReduction() @ FiltCon(PureDP(1)),
    "ConComp": ConComp([BITS, BITS, FiltCon(PureDP(1))]),
}


def grow(parent: InteractiveMechanism[Any]) -> list[Any]:
    """Launches that put random bits one, two and three levels down, behind persons too."""
    if isinstance(parent, ConComp):
        return [
            Ask(2, Launch(BITS)),
            Ask(2, Launch(Courier() @ INNER)),
            Ask(2, Ask(1, Launch(BITS))),
        ]
    return [
        Launch(BITS),
        Launch(FiltCon(PureDP("0.5"))),
        Ask(1, Launch(Masker() @ BITS)),
        Ask(1, Launch(Courier() @ INNER)),
        Ask(1, Ask(1, Launch(BITS))),
        Launch(Masker() @ (Courier() @ BITS)),
    ]


@pytest.mark.parametrize("tree", TREES)
@given(data=st.data())
def test_interleavings_commute(tree: str, data: st.DataObject) -> None:
    """What a child answers depends on how often *it* was asked, not on when, at any depth."""
    parent = TREES[tree]
    paths = children_of(parent)
    schedule = [path for path in paths for _ in range(3)]
    shuffled = data.draw(st.permutations(schedule))
    orders = []
    for order in (schedule, shuffled):
        queries = [*grow(parent), *[addressed(path, "bits") for path in order]]
        answers = [answer for _, answer in play(parent, queries, SeededCoins(21))]
        told: dict[Any, list[Any]] = {path: [] for path in paths}
        for path, answer in zip(order, answers[1 + len(grow(parent)) :], strict=True):
            told[path].append(answer)
        orders.append(told)
    assert orders[0] == orders[1]
    words = [word for answers in orders[0].values() for word in answers]
    assert len(set(words)) == len(words)


@given(data=st.data())
def test_launches_commute_with_asks(data: st.DataObject) -> None:
    """A launch between two asks changes no answer; a refused one, or a wrong query, neither."""
    between = st.sampled_from(
        [Launch(BITS), Launch(RandomBits(PureDP(50))), "nonsense", Ask(77, "bits"), Ask(0, 3)]
    )
    parent = FiltCon(PureDP(1))
    noise = data.draw(st.lists(st.lists(between, max_size=3), min_size=5, max_size=5))
    state, _ = parent.init(DATA)
    state, _ = parent.step(state, Launch(BITS), SeededCoins(2))
    words = []
    for interruptions in noise:
        for query in interruptions:
            try:
                state, _ = parent.step(state, query, SeededCoins(2))
            except QueryError:
                continue
        state, word = parent.step(state, Ask(0, "bits"), SeededCoins(2))
        words.append(word)
    assert words == [SeededCoins(2).spawn(0, n).draw(WORD) for n in range(1, 6)]


def test_nested_four_levels_interleaved() -> None:
    """A filter in an odometer in a filter, a postprocessed child: all levels in turns, replayed."""
    deep = [
        Launch(OdomCon(PureDP), PureDP("0.8")),
        Ask(0, Launch(FiltCon(PureDP("0.5")))),
        Ask(0, Ask(0, Launch(Masker() @ BITS))),
        Launch(BITS),
        Ask(0, Ask(0, Ask(0, "bits"))),
        Ask(1, "bits"),
        Ask(0, Launch(BITS)),
        Ask(0, Ask(0, Ask(0, "bits"))),
        Ask(0, Ask(1, "bits")),
        Ask(0, Ask(0, Launch(RandomBits(PureDP("0.6"))))),
        Ask(1, "bits"),
    ]
    view = interact(
        FiltCon(PureDP(1)),
        DATA,
        lambda view: deep[len(view)] if len(view) < len(deep) else None,
        SeededCoins(4),
    )
    again = interact(
        FiltCon(PureDP(1)),
        DATA,
        lambda view: deep[len(view)] if len(view) < len(deep) else None,
        SeededCoins(4),
    )
    assert view == again
    answers = view.answers
    assert type(answers[9]).__name__ == "Refused"
    assert answers[9].spent == PureDP("0.01")
    words = [*answers[4], answers[5], *answers[7], answers[8], answers[10]]
    assert len(set(words)) == 7


def concrete(package: Any) -> set[str]:
    """The mechanisms that a package exports."""
    exported = (getattr(package, name) for name in package.__all__)
    return {
        each.__name__
        for each in exported
        if inspect.isclass(each)
        and issubclass(each, InteractiveMechanism)
        and not inspect.isabstract(each)
    }


# Checked by laws of their own, in the tests of their modules: they need parameters of a kind that
# no other mechanism has.
ELSEWHERE = {"Parallel", Universal.__name__, "Postprocessed"}


def test_no_mechanism_escapes_the_laws() -> None:
    """Whatever the packages export is a subject here."""
    tested = {type(subject.mechanism).__name__ for subject in SUBJECTS} | ELSEWHERE
    assert concrete(composition) <= tested
    assert concrete(mechanisms) <= tested


@pytest.mark.parametrize("subject", [*COMPOSITORS, *MECHANISMS], ids=str)
def test_losses_are_losses(subject: Subject) -> None:
    """A map gives a `Loss`, and a measurement has a coin at launch."""
    if "Odom" not in subject.name:
        assert isinstance(subject.mechanism.privacy_map(1), Loss)
    if isinstance(subject.mechanism, Measurement):
        assert subject.mechanism.coin_at_launch
