import gc
import weakref
from typing import Any

from composition import FiltCon
from queryable import InteractiveMechanism, PureDP, Queryable
from queryable.held import held


def test_a_class_of_an_analysts_own_may_end() -> None:
    """Its functions hold the variables of where it was written, and so data."""

    class Passing(InteractiveMechanism[None]):
        def init(self, dataset: Any, coins: Any) -> Any:
            return None, "started"

        def step(self, state: None, query: Any, coins: Any) -> Any:
            return None, query

        def loss(self, d_in: int = 1) -> PureDP:
            return PureDP(0)

    root = Queryable(FiltCon(PureDP(1)), [1])
    assert root.launch(Passing())("hello") == "hello"
    assert held([Passing(), 3]) != []
    gone = weakref.ref(Passing)
    del Passing, root
    gc.collect()
    assert gone() is None
