"""The tree of a page: made in small steps, it is the tree that is made at once."""

import itertools
import json
import random
from contextlib import suppress

import pytest

import curator
from composition import FiltCon
from curator.service.answering import growing
from curator.service.answering.local import LocalService
from curator.service.pages.content import tree_of
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, Queryable, QueryRefusedError
from tests.stored import KEY, STORED, MemoryLedger

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62]}
OLD = Count(column("age") >= 50)


def asked_at_random(handle: Queryable, chance: random.Random) -> None:
    """Some messages of all kinds."""
    child = handle.launch(FiltCon(ZCDP("1/10")), name=f"child {chance.random()}")
    search = child.launch(SparseVector(9, epsilon="1/100", cutoff=3))
    for _ in range(chance.randrange(30)):
        match chance.randrange(5):
            case 0:
                with suppress(QueryRefusedError):
                    search.ask(OLD)
            case 1:
                handle.privacy_loss()
            case 2:
                with suppress(QueryRefusedError):
                    child.launch(Gaussian(OLD, rho=100))
            case _:
                chance.choice([handle, child]).launch(Gaussian(OLD, rho="1/1000"))


@pytest.mark.parametrize(
    "seed", [1, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2))]
)
@pytest.mark.parametrize("again", [False, True])
def test_small_steps_give_the_whole_tree(
    seed: int, monkeypatch: pytest.MonkeyPatch, *, again: bool
) -> None:
    """Also if messages come between two looks, and after a restart."""
    clock, ledger = itertools.count(), MemoryLedger()
    chance = random.Random(seed)

    def opened() -> Queryable:
        return curator.open(ledger, FiltCon(ZCDP(1)), DATA, name="visits", key=KEY, codec=STORED)

    handle = opened()
    for _ in range(3):
        asked_at_random(handle, chance)
    if again:
        handle = opened()
    service = LocalService(handle, codec=STORED)
    monkeypatch.setattr("queryable.running.log.PIECE", 1)
    monkeypatch.setattr(growing.GrowingTree.look, "__defaults__", (2, lambda: next(clock)))
    before = 0
    for turn in range(10_000):
        told = json.loads(service.page(()).body)
        assert told["read"] >= before
        before = told["read"]
        if turn == 5:
            asked_at_random(handle, chance)
        elif turn > 5 and told["read"] == told["messages"] and service._reader._seen[()].whole:
            break
    assert turn > 10
    root = handle._root
    right = tree_of(service._reader.tree(), root.protects)
    assert {name: told[name] for name in right} == json.loads(json.dumps(right))
    child = handle.children[0]._path
    while not (seen := service._reader._seen.get(child)) or not seen.whole:
        below = json.loads(service.page(child).body)
    assert below["read"] == below["messages"] > 0
