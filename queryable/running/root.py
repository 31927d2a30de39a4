"""The root of a running tree: the only mutable object, behind a lock.

Responsible for sending messages to a mechanism, with an opaque state, and for telling the curator
of faults. What stands between messages is in `moments`. Does no accounting.

Theory of operation: a query at path (0, 2) goes through child 0 to its child 2, so every parent
sees it and may refuse. Once the new moment is in place, faults are reported to the curator and
exceptions are raised. Several launches or queries in one message are an exchange each.

An interrupt may arrive between any two instructions, also inside an exception handler. Therefore
correctness depends on no handler. `folding` makes a root again from a log.
"""

import os
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from queryable.checks.datasets import described
from queryable.checks.protection import Protected
from queryable.checks.told import check_with
from queryable.conversation import LOST, Data, Run
from queryable.conversation.alone import Alone, Same, coins_of, run_as_root
from queryable.conversation.recalling import Recall
from queryable.conversation.stepping import DEAD, ROOT, receipts_of, state_left
from queryable.data.growing import batch_of, form_of
from queryable.errors import HandleError, MechanismFault, QueryError, ReentrantQueryError
from queryable.faults import FAULTS, enter, is_interrupt, raise_interrupt
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    MANY,
    Answer,
    Ask,
    LaunchMany,
    PrivacyLossQuery,
    Query,
    Update,
    addressed,
    unnested,
    without_receipts,
)
from queryable.optional import require_growing
from queryable.randomness.coins import Coins
from queryable.randomness.sealed import SealedCoins
from queryable.running.blocks import after, at_first
from queryable.running.handles import Handles, Path
from queryable.running.journal import Message
from queryable.running.moments import Flight, Moment, Moments, as_read_only
from queryable.running.names import Names, firsts, marked, recalled
from queryable.view import Exchange

_NO_REPORT: Any = (object(), None)


class MemoryRoot(Moments):
    """State, log and lock of one running tree in this process: a `Root`."""

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        coins: Coins,
        on_fault: Callable[[BaseException], object] | None,
        protects: Protected,
        *,
        opening: Recall | None = None,
    ) -> None:
        """Start the mechanism.

        Args:
            opening: the opening answer, if the tree is made again from a journal.

        Raises:
            ValueError: it is nested too deep, or has noise that these coins do not decide.
        """
        self._require = check_with(coins)
        try:
            self._require((), mechanism)
        except QueryError as error:
            raise ValueError(str(error)) from None
        super().__init__()
        self.mechanism = mechanism
        self._runs = run_as_root(mechanism)
        self._is_alone = type(self._runs) is Alone
        self.coins = coins
        self.on_fault = on_fault
        self.protects = protects
        self._form, (self.layout, self.outline) = form_of(dataset), described(dataset)
        self.handles: Handles[Any] = Handles()
        self._messages, self.given = 0, dataset
        self._process = os.getpid()
        tossed = coins_of(self._runs, coins, 0)
        run = Run(self._runs, Data.of(dataset), tossed, standing=opening)
        copy_context().run(self._begin, dataset, run)
        self._tell_curator(run.faults)

    def _begin(self, dataset: Any, run: Run) -> None:
        enter(run.faults)
        coins = self.coins
        state, answer = state_left(run())
        if isinstance(coins, SealedCoins):
            try:
                coins = coins.answered(without_receipts(answer))
            except Exception as fault:  # the answer cannot be written, and data may have been read
                run.faults.append(fault)
                state, answer = state_left(LOST)
                coins = coins.answered(answer)
        self.opening = as_read_only(answer)
        self._now = Moment(state, coins, blocks=at_first(dataset))

    def tell(  # noqa: PLR0912 (the way of every message, in few calls)
        self, path: Path, query: Query, names: tuple[str | None, ...] = ()
    ) -> Answer:
        """Send a query to the mechanism at `path`, commit the new state, and return the answer.

        A launch whose name was used at this path is not sent; the old answer is returned. The
        answer to `LaunchMany` and `AskMany` is a tuple with an answer for each entry.

        Args:
            names: the name of the launch, or of each of several; () if none has a name.
        """
        if isinstance(query, Ask):  # the log, the journal and the coins name the whole path
            asked, query = unnested(query)
            path = (*path, *asked)
        answer: Answer = None
        if type(query) is PrivacyLossQuery and path in self._reports and self.journal is None:
            self._require_mine()
            with self._lock, self._busy:
                now = self.settled()
                state, told = self._reports.get(path, _NO_REPORT)
                known = state is now.state and query.d_in is None
                if known:
                    self._messages += 1  # as the message that is not run again
                    answer = self._polled(now, told)
            if known:  # a block is left before it returns: an interrupt could keep the lock
                return answer
        self._require(path, query)
        taken = marked(query, names) if names else ()
        if os.getpid() != self._process or self._lock._is_owned():  # type: ignore[attr-defined]
            self._require_mine()
        faults: list[BaseException] = []
        raised: BaseException | None = None
        answer = None
        with self._lock, self._busy:
            try:
                if taken:
                    answer = self._recall(path, query, taken, faults)
                else:
                    # In a context of its own, which is left however the call ends.
                    answer = copy_context().run(self._advance, path, query, (), faults)
            except BaseException as error:
                raised = error
            if type(self._now) is not Moment:
                try:
                    self.settled()
                except HandleError as error:  # the journal has to be read again
                    raised = raised or error
        if raised is None and not faults:
            return answer
        if raised is not None and is_interrupt(raised):
            faults.append(raised)
            raised = None
        self._tell_curator(faults)
        if raised is not None:
            raised.__cause__ = raised.__context__ = None
            try:
                raise raised.with_traceback(None)
            finally:
                del raised  # its traceback has this frame, which would keep the data alive
        return answer

    def feed(self, message: Query) -> None:
        """Give the mechanism a message of the data's owner; no entry of the log is made.

        The new state is put in place by one assignment, once the message is through. Before that,
        and after an interrupt, the old state stands.

        Raises:
            QueryError: the message is wrong; nothing has changed.
            MechanismFault: the mechanism at the root has failed.
        """
        self._require_mine()
        faults: list[BaseException] = []
        raised: BaseException | None = None
        with self._lock, self._busy:
            try:
                copy_context().run(self._grow, message, faults)
            except BaseException as error:
                raised = error
        if raised is not None and is_interrupt(raised):
            faults.append(raised)
            raised = None
        self._tell_curator(faults)
        if raised is not None:
            raised.__cause__ = raised.__context__ = None
            try:
                raise raised.with_traceback(None)
            finally:
                del raised  # as in `tell`

    def _grow(self, message: Query, faults: list[BaseException]) -> None:
        before, journal = self.settled(), self.journal
        require_growing(self.mechanism)
        self._messages += 1
        coins, number = before.coins, self._messages
        if journal is not None:  # there is one with sealed coins only
            assert isinstance(coins, SealedCoins)
            journal.require_ready()
            coins, number = coins.asked_with(journal.batch(message)), 1
            blocks = before.blocks  # the journal knows them
        else:
            blocks = after(before.blocks, message)
        fitted = self.fitted(message)
        if before.state is DEAD:
            raise MechanismFault
        run = Run(self._runs, fitted, coins_of(self._runs, coins, number), before.state)
        run.faults = faults
        enter(faults)
        state, _ = state_left(run())
        if any(map(is_interrupt, faults)):
            return
        if journal is not None:
            assert isinstance(coins, SealedCoins)
            journal.grow(coins, dead=state is DEAD)
            coins = coins.answered(None)
        self.grew(before, message, state, coins, blocks)
        if journal is not None:
            journal.grown()
        if state is DEAD:
            raise MechanismFault

    def fitted(self, message: Query) -> Query:
        """A batch in the form of the data, once, so that all mechanisms share it.

        Raises:
            QueryError: it does not fit.
        """
        if not isinstance(message, Update):
            return message
        return Update(batch_of(self._form, message.records), message.block)

    def _require_mine(self) -> None:
        """Check that this process and no call of its own is at the root."""
        if os.getpid() != self._process:
            raise HandleError("this queryable belongs to another process; it does not survive fork")
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise ReentrantQueryError("a queryable cannot be asked while it answers")

    def _recall(
        self, path: Path, query: Query, names: Names, faults: list[BaseException]
    ) -> Answer:
        """Send only what was not answered before under its name; return all answers."""
        answers, new = recalled(self.settled().named, path, names)
        if type(query) is not LaunchMany:
            if not new:
                return answers[0]
            return copy_context().run(self._advance, path, query, names, faults)
        if new:
            left = LaunchMany(tuple(query.launches[place] for place in new))
            taken = tuple(names[place] for place in new)
            told = copy_context().run(self._advance, path, left, taken, faults)
            answers |= zip(new, told, strict=True)
        return tuple(answers[first] for first in firsts(names))

    def _advance(
        self, path: Path, query: Query, names: Names, faults: list[BaseException]
    ) -> Answer:
        before, journal = self._now, self.journal
        if type(before) is not Moment:
            before = self.settled()
        self._messages += 1
        coins, number = before.coins, self._messages
        if type(coins) is SealedCoins:
            coins = coins.asked(path, query)
            number = 1
        if journal is not None:
            journal.require_ready()
        tossed: Any = coins.spawn(ROOT, number)
        if self._is_alone:
            tossed = Same(tossed)
        run = Run(self._runs, query, tossed, before.state, way=path)
        run.faults = faults
        FAULTS.set(faults)
        flight = Flight(before, run, path, query, names, coins)
        if before.state is DEAD:
            return self.commit(flight, LOST)
        if journal is not None:
            run.announce(
                lambda moved: journal.intend(flight.message, flight.exchanges(state_left(moved)[1]))
            )
        self._now = flight
        try:
            moved = run()
        except QueryError:
            if journal is not None:
                journal.void()
            raise
        if moved is LOST or type(coins) is SealedCoins or type(query) in MANY:
            return self.commit(flight, moved)
        receipts = receipts_of(run) if run.receipts else ()
        told = Exchange(path, query, moved.answer, receipts=receipts)
        return self.put(flight, moved.state, (told,), coins)

    def flight(self, message: Message, recall: Recall | None) -> Flight:
        """Begin to make a message again; see `folding`. The recall stands in for the leaves."""
        names = marked(message.query, message.names) if any(message.names) else ()
        before, path, query = self.settled(), message.path, message.query
        told = addressed(path, query) if path else query
        coins = coins_of(self._runs, message.coins, 1)
        run = Run(self._runs, told, coins, before.state, standing=recall)
        return Flight(before, run, path, query, names, message.coins)

    def growth(self, message: Query, coins: Coins, recall: Recall) -> Run:
        """Begin to make a message of the data's owner again; see `folding`."""
        state = self.settled().state
        tossed = coins_of(self._runs, coins, 1)
        return Run(self._runs, self.fitted(message), tossed, state, standing=recall)

    def _tell_curator(self, faults: list[BaseException]) -> None:
        if self.on_fault is not None:
            _report(self.on_fault, faults)
        raise_interrupt(faults)


def _report(on_fault: Callable[[BaseException], object], faults: list[BaseException]) -> None:
    for fault in list(faults):
        try:
            on_fault(fault)
        except BaseException as error:  # its text, too, would be about the data
            faults.append(error)
