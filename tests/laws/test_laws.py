"""Laws of every mechanism and compositor."""

import inspect
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import composition
import mechanisms
from composition import ConComp, ExPost, FiltCon, OdomCon
from composition.compositors.universal import Universal
from queryable import (
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    Loss,
    PrivacyClaimError,
    PureDP,
    QueryError,
    SeededCoins,
)
from queryable.audit.laws import LAWS, Law
from queryable.audit.views.scripts import Script
from tests.laws.subjects import COMPOSITORS, DATA, MECHANISMS, SUBJECTS, Subject
from tests.strategies import ILLEGAL, ILLEGAL_LAUNCHES, WORD, Courier, Masker, RandomBits


def play(mechanism: InteractiveMechanism[Any], queries: Sequence[Any], coins: Coins) -> list[Any]:
    """The opening and the answers of a run; queries to retired children are skipped."""
    return [answer for *_, answer in Script(mechanism, DATA, tuple(queries)).run(coins)]


def script_of(subject: Subject) -> Script:
    """The script of a subject, with illegal queries and launches."""
    wrong = (*ILLEGAL, *ILLEGAL_LAUNCHES)
    return Script(subject.mechanism, DATA, subject.script, wrong, subject.random)


@pytest.mark.parametrize("law", LAWS.values(), ids=lambda law: law.__name__)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_every_law_holds(subject: Subject, law: Law) -> None:
    assert list(law(script_of(subject))) == []


def children_of(parent: InteractiveMechanism[Any]) -> list[tuple[int, ...]]:
    """Paths of the children that `grow` launches below a parent."""
    if isinstance(parent, ConComp):
        return [(0,), (2, 0), (2, 1, 0)]
    return [(0,), (1, 0), (1, 1, 0), (2,)]


def addressed(path: tuple[int, ...], query: Any) -> Any:
    """The query, wrapped for the child at the path."""
    for child in reversed(path):
        query = Ask(child, query)
    return query


BITS = RandomBits(PureDP("0.01"))
INNER = FiltCon(PureDP("0.2"))
TREES = {
    "FiltCon": FiltCon(PureDP(1)),
    "ExPost": ExPost(PureDP(1)),
    "OdomCon": OdomCon(PureDP),
    "person over FiltCon": Courier() @ FiltCon(PureDP(1)),
    "noise reduction over FiltCon": mechanisms.BrownianNoiseReduction() @ FiltCon(PureDP(1)),
    "ConComp": ConComp([BITS, BITS, FiltCon(PureDP(1))]),
}


def grow(parent: InteractiveMechanism[Any]) -> list[Any]:
    """Launches that put random bits one, two and three levels down, also behind persons."""
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
@settings(max_examples=30)
@given(data=st.data())
def test_interleavings_commute(tree: str, data: st.DataObject) -> None:
    """A child's answers depend only on how often it was asked, at any depth."""
    parent = TREES[tree]
    paths = children_of(parent)
    schedule = [path for path in paths for _ in range(3)]
    shuffled = data.draw(st.permutations(schedule))
    orders = []
    for order in (schedule, shuffled):
        queries = [*grow(parent), *[addressed(path, "bits") for path in order]]
        answers = play(parent, queries, SeededCoins(21))
        recorded: dict[Any, list[Any]] = {path: [] for path in paths}
        for path, answer in zip(order, answers[1 + len(grow(parent)) :], strict=True):
            recorded[path].append(answer)
        orders.append(recorded)
    assert orders[0] == orders[1]
    words = [word for answers in orders[0].values() for word in answers]
    assert len(set(words)) == len(words)


@settings(max_examples=30)
@given(data=st.data())
def test_launches_commute_with_asks(data: st.DataObject) -> None:
    """A launch, a refused launch or a wrong query between two asks changes no answer."""
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


def concrete(package: Any) -> set[str]:
    """The concrete mechanisms that a package exports."""
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


def test_every_exported_mechanism_is_a_subject() -> None:
    tested = {type(subject.mechanism).__name__ for subject in SUBJECTS} | ELSEWHERE
    missing = (concrete(composition) | concrete(mechanisms)) - tested
    assert not missing, f"add an instance of {sorted(missing)} to tests/instances"


@pytest.mark.parametrize("subject", [*COMPOSITORS, *MECHANISMS], ids=str)
def test_only_odometers_have_no_map(subject: Subject) -> None:
    """The laws accept a missing privacy map; only odometers may lack one."""
    if "Odom" in subject.name:
        with pytest.raises(PrivacyClaimError):
            subject.mechanism.privacy_map(1)
    else:
        assert isinstance(subject.mechanism.privacy_map(1), Loss)
