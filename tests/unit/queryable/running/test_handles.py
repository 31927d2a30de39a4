"""A dropped tree frees its data at once; children have one handle while somebody holds it."""

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from weakref import ref

import numpy as np
import pytest

from composition import ConComp, ExPost, FiltCon
from mechanisms import Count, Laplace, LaplaceNoiseReduction
from mechanisms.refinement.refine_queries import Refine
from queryable import InteractiveError, PureDP, Queryable
from tests.strategies import Faulty, Toy

ROOT = FiltCon(PureDP(10))


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    """Only counted references free anything here."""
    gc.disable()
    yield
    gc.enable()


def refused(q: Queryable) -> Any:
    with suppress(InteractiveError):
        q.launch(Toy(PureDP(100)))


def wrong(q: Queryable) -> Any:
    with suppress(InteractiveError):
        q.launch("no mechanism")  # type: ignore[arg-type]


class Unreadable(Toy):
    """Cannot be given a name."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__":
            raise ValueError("not for you")
        return super().__getattribute__(name)


def wrong_name(q: Queryable) -> Any:
    q.launch(Toy(), name="taken")
    for mechanism in (Toy(PureDP("0.3")), Unreadable()):
        with suppress(InteractiveError):
            q.launch(mechanism, name="taken")


def divide(data: Any) -> float:
    return 1 / 0


def failed(q: Queryable) -> Any:
    with suppress(InteractiveError):
        q.launch(Faulty(divide, at_launch=True))
    child = q.launch(Faulty(divide, good=1))
    with suppress(InteractiveError):
        child.ask("bits")
    with suppress(InteractiveError):
        child.ask("bits")


def refined(q: Queryable) -> Any:
    child = q.launch(ExPost(PureDP("0.2"))).launch(
        LaplaceNoiseReduction(Count(), epsilons=["0.1", "0.2"])
    )
    for _ in range(3):
        with suppress(InteractiveError):
            child.ask(Refine())


def shown(q: Queryable) -> Any:
    q.launch(FiltCon(PureDP(1))).launch(Toy())
    assert all([q.tree(), q.ledger(), q.explain(), q._repr_html_(), q.view, q.node, repr(q)])
    assert q.children[0].children


SESSIONS: dict[str, Callable[[Queryable], Any]] = {
    "a child": lambda q: q.launch(Toy()).ask("bits"),
    "a grandchild": lambda q: q.launch(FiltCon(PureDP(1))).launch(Toy()),
    "children from an opening": lambda q: q.launch(ConComp([Toy(), Toy()])).opening[0].ask("bits"),
    "a measurement": lambda q: q.launch(Laplace(Count(), epsilon=1)),
    "the children": lambda q: dict(q.children),
    "a refusal": refused,
    "a wrong query": wrong,
    "a wrong name": wrong_name,
    "failures": failed,
    "refinements": refined,
    "what is shown": shown,
}


@pytest.mark.parametrize("session", SESSIONS)
def test_dropping_the_last_handle_frees_the_data(session: str) -> None:
    """With the cyclic collector off."""
    data = np.zeros(1000, dtype=np.int64)
    alive = ref(data)
    q = Queryable(ROOT, data)
    del data
    SESSIONS[session](q)
    assert alive() is not None
    del q
    assert alive() is None


def test_a_child_keeps_its_tree() -> None:
    data = np.zeros(1000, dtype=np.int64)
    alive = ref(data)
    child = Queryable(ROOT, data).launch(Toy())
    del data
    assert child.ask("bits") == 0
    assert alive() is not None
    del child
    assert alive() is None


def test_a_dropped_handle_is_made_again() -> None:
    q = Queryable(ROOT, None)
    q.launch(ConComp([Toy(), Toy()]))
    kept = q.children[0].opening[1]
    assert kept.ask("bits") == 0
    again = q.children[0]
    assert again.opening[1] is kept
    assert again is q.children[0]
    assert again.opening[0].ask("bits") == 0
    assert kept.ask("bits") == 1
    q = Queryable(ROOT, None)
    first = q.launch(Toy(), name="first")
    assert q.launch(Toy(), name="first") is first is q.children[0]
    first.ask("bits")
    del first
    assert q.launch(Toy(), name="first").ask("bits") == 1


def test_children_are_a_mapping_that_cannot_be_changed() -> None:
    q = Queryable(ROOT, None)
    children = [q.launch(Toy()) for _ in range(3)]
    assert list(q.children) == [0, 1, 2]
    assert len(q.children) == 3
    assert list(q.children.values()) == children
    assert 3 not in q.children
    assert "<Queryable FiltCon/1>" in repr(q.children)
    with pytest.raises(TypeError):
        q.children[0] = children[1]  # type: ignore[index]
