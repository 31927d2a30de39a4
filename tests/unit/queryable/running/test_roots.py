"""A handle knows of its root only what the protocol says."""

from collections.abc import Iterator, Mapping
from typing import Any

from composition import FiltCon
from mechanisms import Count, Gaussian, SparseVector
from queryable import SYSTEM, ZCDP, Ask, Queryable
from queryable.checks.protection import RECORD, Protected
from queryable.running.handles import Handles, Path
from queryable.running.log import Record
from queryable.running.root import MemoryRoot
from queryable.running.roots import Root
from queryable.view import Exchange


class Distant:
    """A root that forwards each call, and has nothing else."""

    def __init__(self, root: MemoryRoot) -> None:
        self.mechanism, self.opening = root.mechanism, root.opening
        self.protects: Protected = root.protects
        self.handles: Handles[Any] = Handles()
        self._tell, self._exchanges, self._record = root.tell, root.exchanges, root.record
        self.told: list[Path] = []

    def tell(self, path: Path, query: Any, names: tuple[str | None, ...] = ()) -> Any:
        self.told.append(path)
        return self._tell(path, query, names)

    def exchanges(self) -> Iterator[Exchange]:
        return self._exchanges()

    def record(self) -> tuple[Record, Mapping[int, str]]:
        return self._record()


def test_a_handle_works_over_any_root() -> None:
    distant = Distant(MemoryRoot(FiltCon(ZCDP(1)), [1, 2, 3], SYSTEM, None, RECORD))
    root: Root = distant
    table = Queryable._over(root)
    noisy = table.launch(Gaussian(Count(), scale=3), name="how many")
    assert table.launch(Gaussian(Count(), scale=3), name="how many") == noisy
    search = table(SparseVector(2, epsilon="1/10"))
    search(Count())
    assert table.children[1] is search
    assert len(table.launch_many([Gaussian(Count(), scale=3)] * 2)) == 2
    assert [exchange.path for exchange in table.view] == [(), (), (1,), (), ()]
    assert distant.told == [(), (), (), (1,), ()]
    assert "how many" in str(table.ledger())
    assert "how many" in table.tree()


def test_a_child_in_an_ask_is_a_part_of_the_path() -> None:
    """Or a journal, which notes how deep the child was that failed, would miss one."""
    root = MemoryRoot(FiltCon(ZCDP(1)), [1, 2, 3], SYSTEM, None, RECORD)
    table = Queryable._over(root)
    table.launch(FiltCon(ZCDP("1/2"))).launch(SparseVector(2, epsilon="1/10"))
    root.tell((), Ask(0, Ask(0, Count())))
    root.tell((0,), Ask(0, Count()))
    assert [exchange.path for exchange in root.exchanges()] == [(), (0,), (0, 0), (0, 0)]
