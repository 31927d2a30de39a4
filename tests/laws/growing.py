"""Laws of compositors whose data grow, as checks; each raises an AssertionError if it is broken.

`test_compositors.py` runs them on the real compositors, `tests/audit/test_mutations.py` on broken
ones.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs

from composition import FiltCon
from queryable import SYSTEM, Ask, Coins, Launch, Queryable, QueryError, UnknownQueryError, Update
from queryable.audit.views.scripts import snapshot as snapshot_of
from queryable.data.growing import grown, snapshot
from queryable.messages import CloseBlock, addressed
from queryable.streams.levels import Growth
from tests.laws.compositors import CONCURRENT, LITTLE, Compositor, Run
from tests.strategies import WORD, Toy


@attrs.frozen
class Taking(Toy):
    """Answers the records it has; takes batches if it grows, or is given them by mistake."""

    charged: Any = LITTLE
    grows: bool = False
    stops: list[bool] = attrs.field(factory=list, eq=False, repr=False)

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        return Growth() if self.grows else None

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return dataset, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if isinstance(query, Update):
            if self.stops:
                raise self.stops.pop()
            return grown(state, query.records), None
        if isinstance(query, CloseBlock):
            return state, None
        if query != "bits":
            raise UnknownQueryError("ask for 'bits'")
        return state, tuple(snapshot(state))


def a_child_that_is_not_continual_keeps_its_snapshot(build: Callable[[], Compositor]) -> None:
    """Batches reach continual children, and mechanisms that are launched later."""
    run = Run(build())
    run.all([Launch(Taking()), Launch(Taking(grows=True)), Update([4])])
    answers = run.all([Launch(Taking()), *(Ask(child, "bits") for child in range(3))])
    assert answers[1:] == [(1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4)]


def an_analyst_sends_no_batch(build: Callable[[], Compositor]) -> None:
    """An owner's message in an `Ask` is a `QueryError`, at every depth, and changes nothing."""
    run = Run(build())
    run.all([Launch(Taking(grows=True)), Launch(FiltCon(LITTLE))])
    run(Ask(1, Launch(Taking(grows=True))))
    before = snapshot_of(run.state)
    for path in ((0,), (1,), (1, 0)):
        for message in (Update([4]), CloseBlock("a")):
            assert isinstance(run(addressed(path, message)), QueryError)
    assert snapshot_of(run.state) == before
    assert run(Ask(0, "bits")) == (1, 2, 3)


def a_batch_arrives_whole_or_not_at_all(build: Callable[[], Compositor]) -> None:
    """After an interrupt in one child no child, and no later launch, has the batch."""
    stops: list[Any] = [KeyboardInterrupt()]
    q = Queryable(build(), [1, 2, 3])
    first, *_, last = [q.launch(Taking(grows=True, stops=each)) for each in ([], stops, [])]
    with suppress(KeyboardInterrupt):
        q.feed([4])
    assert first.ask("bits") == last.ask("bits") == (1, 2, 3)
    q.feed([5])
    children = [first, q.children[1], last, q.launch(Taking())]
    assert [child.ask("bits") for child in children] == [(1, 2, 3, 5)] * 4


def batches_cost_nothing_and_are_not_shown(build: Callable[[], Compositor]) -> None:
    """The account and the ids are those without batches, and the answer is None."""
    run, without = Run(build()), Run(build())
    for each in (run, without):
        each(Launch(Taking(grows=True)))
    assert run(Update([4])) is None
    assert run(CloseBlock("a")) is None
    assert run.loss == without.loss
    assert run.state.own.account == without.state.own.account
    assert run(Launch(Taking())).child == without(Launch(Taking())).child


@attrs.frozen
class Drawing(Toy):
    """Draws 64 random bits for each batch; "bits" gives all of them."""

    charged: Any = LITTLE
    grows: bool = True

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        return Growth() if self.grows else None

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return (), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if isinstance(query, Update):
            return (*state, coins.draw(WORD)), None
        return state, state


def batches_draw_from_the_coins_of_each_child(build: Callable[[], Compositor]) -> None:
    """What a child draws for a batch does not depend on its siblings, and nobody else draws it."""
    run, alone = Run(build()), Run(build())
    run.all([Launch(Drawing()), Launch(Drawing()), Update([4]), Update([5])])
    alone.all([Launch(Drawing()), Update([4]), Update([5])])
    first, second = run.all([Ask(0, "bits"), Ask(1, "bits")])
    assert first == alone(Ask(0, "bits"))
    assert len({*first, *second}) == 4


LAWS = (
    batches_draw_from_the_coins_of_each_child,
    a_child_that_is_not_continual_keeps_its_snapshot,
    an_analyst_sends_no_batch,
    a_batch_arrives_whole_or_not_at_all,
    batches_cost_nothing_and_are_not_shown,
)
"""The laws of every compositor in `GROWING`."""

GROWING = {name: build for name, build in CONCURRENT.items() if "halting" not in name}
