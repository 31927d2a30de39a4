"""Siblings are a sequence of nodes, most of which are made when they are read."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryable.display.siblings import SiblingRun, Siblings, counted, tallied

PIECES = st.lists(st.one_of(st.none(), st.integers(1, 5)), max_size=8)


class Words:
    """Words for places: those of even ones have queries, and two neighbours are of one kind."""

    def __init__(self) -> None:
        self.nodes: dict[int, str] = {}

    def make(self, place: int) -> str:
        return f"run {place}"

    def takers(self, places: Sequence[int]) -> list[int]:
        return [place for place in places if place % 2 == 0]

    def kinds(self, places: Sequence[int]) -> list[tuple[str, int]]:
        return list(Counter(f"run {place // 2}" for place in places).items())

    def statuses(self, places: Sequence[int]) -> Counter[str]:
        return Counter({"run ": len(places)})


def built(pieces: list[int | None]) -> tuple[Siblings[str], list[str]]:
    """Build siblings from nodes (None) and run lengths, and the equal list."""
    siblings: Siblings[str] = Siblings()
    flat: list[str] = []
    for length in pieces:
        start = len(flat)
        if length is None:
            siblings.append(f"made {start}")
            flat.append(f"made {start}")
        else:
            places = range(start, start + length)
            siblings.append(SiblingRun(places, Words()))
            flat += [f"run {place}" for place in places]
    return siblings, flat


@given(PIECES, st.integers(-20, 20), st.integers(-20, 20))
def test_they_are_a_sequence(pieces: list[int | None], start: int, stop: int) -> None:
    siblings, flat = built(pieces)
    assert list(siblings) == flat
    assert len(siblings) == len(flat)
    assert list(siblings[start:stop]) == flat[start:stop]
    assert [siblings[place] for place in range(-len(flat), len(flat))] == flat * 2
    assert list(siblings.made()) == [each for each in flat if each.startswith("made")]
    takers = [each for each in flat if each.startswith("made") or int(each[4:]) % 2 == 0]
    assert list(siblings.takers()) == takers


def test_a_run_may_grow_and_have_nodes_that_are_made() -> None:
    places, words = [0, 2], Words()
    siblings = Siblings(["made 0", SiblingRun(places, words)])
    words.nodes[2] = "changed"
    assert list(siblings) == ["made 0", "run 0", "changed"]
    places.append(4)
    siblings.grown()
    assert len(siblings) == 4
    assert list(siblings[2:]) == ["changed", "run 4"]
    assert list(siblings.made()) == ["made 0", "changed"]
    assert list(siblings[3:].made()) == []


@given(PIECES)
def test_counts_make_few_nodes(pieces: list[int | None]) -> None:
    siblings, flat = built(pieces)
    assert sum(count for _, count in counted(siblings)) == len(flat)
    counts = tallied(siblings, lambda node: node[:4])
    assert counts == tallied(flat, lambda node: node[:4])


def test_missing_places_and_steps_are_refused() -> None:
    siblings, _ = built([None, 2])
    with pytest.raises(IndexError):
        siblings[3]
    with pytest.raises(ValueError, match="step"):
        siblings[::2]
