"""A root that keeps what a log has to: states, answers, and what came of the leaves."""

from typing import Any

from queryable import SYSTEM, Coins, Failed
from queryable.conversation import LOST, Compositor, Data, Run
from queryable.faults import is_interrupt


class Root:
    """A root that keeps what a log has to: states, answers, and what came of the leaves.

    Attributes:
        intents: what was told to stand before the first leaf of each message.
        told: for each message, what came of its leaves.
    """

    def __init__(self, mechanism: Compositor, data: Any, coins: Coins = SYSTEM) -> None:
        self.mechanism, self.coins, self.messages = mechanism, coins, 0
        self.faults: list[BaseException] = []
        self.intents: list[Any] = []
        self.run = Run(mechanism, Data.of(data), coins.spawn("root", 0))
        self.moved = self.run()
        self.told = [self.run.log()]
        self.interrupted = self.run.stopped

    @property
    def state(self) -> Any:
        """The state; None if the mechanism is lost."""
        return None if self.moved is LOST else self.moved.state

    def begun(self, query: Any, **options: Any) -> Run:
        """The next message."""
        self.messages += 1
        coins = self.coins.spawn("root", self.messages)
        return Run(self.mechanism, query, coins, self.state, **options)

    def tell(self, query: Any) -> Any:
        """Send a query. An interrupt that leaves the run settles what stands, and is raised."""
        if self.moved is LOST:
            return Failed()
        self.run = run = self.begun(query)
        run.announce(self.intents.append)
        old = self.moved
        try:
            self.moved = run()
        except BaseException as error:
            standing = run.standing()
            self.moved = old if standing is None else standing[0]
            if not is_interrupt(error) or standing is None:
                raise
            self.told.append(run.log())
            raise
        finally:
            self.faults += run.faults
        self.interrupted = run.stopped
        self.told.append(run.log())
        return Failed() if self.moved is LOST else self.moved.answer


def replayed(run: Run) -> Any:
    """What the known outcomes come to; what is not known is `LOST`. No leaf runs.

    Raises:
        OtherVersionError: they are about other steps.
    """
    moved = run(live=False)
    run.require_all_known()
    return moved
