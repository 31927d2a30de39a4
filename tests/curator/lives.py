"""The life of a curator's process in a simulation: some roots on a disk that loses power.

Everything that could differ between two runs is injected: the disk (`tests.disks`), the clock, the
salts of new roots, and the schedule of the clients. A life runs to its end. A crash is the disk as
it was at an earlier moment of that life, without some of what was not flushed. The next life begins
there, and everything that its clients are told is compared with the life before it.
"""

import functools
import json
from collections.abc import Sequence
from random import Random
from typing import Any

import attrs
import pytest

import curator
from composition import FiltCon, OdomCon, Postprocessed
from curator.ledgers import Event, SQLiteLedger, chained, sqlite
from curator.ledgers.groups import Wish
from curator.logs.journal import LedgerJournal
from curator.logs.story import Story, story_of
from curator.verify import verify
from queryable import ZCDP, Ask, InteractiveMechanism, MechanismFault, Queryable, QueryError
from queryable.conversation.recalling import Recall
from queryable.messages import Failed, Launched, entries_of, is_many, without_receipts
from queryable.running.telling import is_poll
from tests.curator.analyses import DATA, WATCHED, Author, Message, Watched
from tests.curator.schedules import Schedule
from tests.disks import Disk
from tests.stored import KEY

PATH = "/ledger.db"
TRIES = 2
"""So few that some messages are given up."""
EACH = 10**6
"""Root number n has the statistics from n * EACH on."""


@attrs.frozen
class Step:
    """A message and what came of it.

    Attributes:
        outcome: the answer or the error as text.
        length: how many exchanges the view has after it.
        loss: the loss after it.
        moment: how long the log of the disk was when the client had the outcome.
    """

    message: Message
    outcome: str
    length: int
    loss: str
    moment: int


@attrs.define
class Analysis:
    """One root and its client: what was told, and what came of it.

    Attributes:
        opening: the opening answer as text.
        view: the exchanges as texts, without polls.
        loss: the loss when the root was opened.
        opened: how long the view was when the root was opened.
        given_up: how long the view was before a message that was given up; None if none was.
    """

    root: int
    mechanism: InteractiveMechanism[Any]
    opening: str
    view: list[str]
    loss: str
    steps: list[Step] = attrs.field(factory=list)
    opened: int = 0
    given_up: int | None = None

    def had(self, moment: int) -> int:
        """How many exchanges the client had at a moment."""
        return max((step.length for step in self.steps if step.moment <= moment), default=0)

    def done(self, length: int) -> range:
        """How many steps may be done when the view has this length."""
        lengths = [0, *(step.length for step in self.steps)]
        return range(lengths.index(length), len(lengths) - lengths[::-1].index(length))

    def loss_at(self, length: int) -> str | None:
        """The loss when the view had this length; None if it never had, in this life.

        A message that runs at the opening is in the view at once. It may be lost with its intent.
        """
        if length < self.opened:
            return next((step.loss for step in self.steps if step.length == length), None)
        return next((step.loss for step in self.steps if step.length >= length > 0), self.loss)


class Life:
    """One process with its clients, from its start to its end.

    Args:
        disk: what the process finds.
        mechanisms: those of the roots by their numbers.
        before: the analyses of the life before this one; none for the first.
        needed: how many exchanges of each root the clients have had.
        looks: one of so many reads of data looks at what is durable.
    """

    def __init__(
        self,
        disk: Disk,
        chance: Random,
        before: dict[int, Analysis] | None = None,
        needed: dict[int, int] | None = None,
        looks: int = 1,
    ) -> None:
        self.disk, self.chance, self.looks = disk, chance, looks
        self.before, self.needed = before or {}, needed or {}
        self.analyses: dict[int, Analysis] = {}
        self.start, self.again, self.given_up = len(disk.log), 0, 0
        self._now, self._problems = 1000.0, list[str]()
        self._schedule = Schedule(chance)
        self._recovering: set[int] = set()

    def run(self, scripts: dict[int, Any]) -> None:
        """Run the clients of all roots to their ends.

        Args:
            scripts: for each root its mechanism, and how many messages to write or which to send.
        """
        with self.disk.mounted() as connect, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite, "_CHECKPOINT", self.chance.choice((2, 3, 7, 1000)))
            journal = functools.partial(LedgerJournal, clock=self._clock)
            patch.setattr("curator.root.LedgerJournal", journal)
            patch.setattr("curator.root.random_bytes", bytes)
            patch.setattr("curator.root.KEEPER", _NoKeeper)
            patch.setattr("tests.curator.analyses.SEEN", [self._look])
            self._ledger = _ledger(connect, self._clock)
            works = [functools.partial(self._live, root, *scripts[root]) for root in scripts]
            self._schedule.run(works, self._commit)
            self._ledger.close()
        assert self._problems == []

    def moments(self) -> range:
        """The entries of the disk's log that this life wrote."""
        return range(self.start, len(self.disk.log))

    def next(self, moment: int, *, killed: bool = False) -> "Life":
        """The life after a crash at a moment of this one."""
        disk = self.disk.killed(moment) if killed else self.disk.crashed(moment, self.chance)
        needed = {
            root: max(analysis.had(moment), self.needed.get(root, 0))
            for root, analysis in self.analyses.items()
        }
        life = Life(disk, self.chance, self.analyses, needed, self.looks)
        life.run({root: (each.mechanism, None) for root, each in self.analyses.items()})
        return life

    def _live(self, root: int, mechanism: InteractiveMechanism[Any], script: Any) -> None:
        """The client of one root."""
        story = story_of(chained(self.read(str(root))))
        if story.pending is not None:
            self._recovering.add(root)
        try:
            table = curator.open(
                self, mechanism, DATA, name=str(root), key=KEY, codec=WATCHED, tries=TRIES
            )
        except MechanismFault:
            assert story.opening == FAILED or story.tries >= TRIES
            self.given_up += 1
            self.analyses[root] = Analysis(root, mechanism, FAILED, [], "")
            return
        self._recovering.discard(root)
        view, loss = view_of(table), loss_of(table)
        opening = text(table._root.opening)
        mine = Analysis(root, mechanism, opening, view, loss, opened=len(view))
        self.analyses[root] = mine
        self._verify(table, mine)
        old = self.before.get(root)
        if old is not None:
            self._go_on(table, mine, old, story)
        elif isinstance(script, int):
            author = Author(mechanism, self.chance, EACH * root)
            for _ in range(script):
                message = author.next()
                author.answered(message, self._send(table, mine, message))
        else:
            for message in script:
                self._send(table, mine, message)
        self._verify(table, mine)

    def _go_on(self, table: Queryable, mine: Analysis, old: Analysis, story: Story) -> None:
        """Compare a root with its life before, and send the messages that are left.

        They give what they gave before. But they do not after a message was given up, because it
        had crashed too often: it has failed, and the history is another one.
        """
        for each in table.view:
            if isinstance(each.answer, Launched) and each.answer.child is not None:
                assert each.answer.child in table._root.handles.openings(each.path)
        found, same = len(mine.view), True
        assert found >= self.needed[mine.root], "an answer is lost"
        self.again += story.pending is not None
        if story.pending is not None and story.tries >= TRIES:
            found, same = self._given_up(mine, story.pending)
        elif old.given_up is not None and mine.view[:found] != old.view[:found]:
            found, same = old.given_up, False  # nobody was told, and this time it has run
            assert found >= self.needed[mine.root], "an answer has changed"
        assert mine.view[:found] == old.view[:found], "an answer has changed"
        done = old.done(found)
        place = self.chance.choice(done)
        if same:
            assert mine.opening == old.opening
            assert old.loss_at(found) in (mine.loss, None)
        elif found < len(mine.view):
            asked = json.loads(story.pending.body)["query"]  # type: ignore[union-attr]
            place = next(i for i in done if text(said(old.steps[i].message.query)) == asked) + 1
        moment = len(self.disk.log)
        mine.steps += [attrs.evolve(step, moment=moment) for step in old.steps[:place]]
        if found < len(mine.view):  # a step that was wrong has failed, and is in the view now
            mine.steps[-1] = attrs.evolve(mine.steps[-1], length=len(mine.view), loss=mine.loss)
        for step in old.steps[place:]:
            self._send(table, mine, step.message)
            if same:
                assert attrs.evolve(mine.steps[-1], moment=step.moment) == step, (
                    f"otherwise than before:\n{mine.steps[-1]}\n{step}"
                )
        assert not same or mine.view == old.view

    def _given_up(self, mine: Analysis, pending: Event) -> tuple[int, bool]:
        """The length of the view without a message that is given up; whether none was.

        What may touch no data is not given up.
        """
        if pending.kind == "opened":
            return 0, Recall.holds(mine.mechanism)
        query = WATCHED.decode(json.loads(pending.body)["query"])
        found = len(mine.view) - (len(entries_of(query)) if is_many(query) else 1)
        assert any(FAILED in each for each in mine.view[found:])
        self.given_up += 1
        mine.given_up = found
        return found, False

    def _send(self, table: Queryable, mine: Analysis, message: Message) -> Any:
        """Send a message, and take note of what came of it."""
        answer: Any = None
        try:
            answer = table._root.tell(message.path, message.query, message.names)
            outcome = text(answer)
        except QueryError as error:
            outcome = f"{type(error).__name__}: {error}"
        mine.view += view_of(table, len(mine.view))
        loss = loss_of(table)
        mine.steps.append(Step(message, outcome, len(mine.view), loss, len(self.disk.log)))
        return answer

    def _verify(self, table: Queryable, mine: Analysis) -> None:
        """Compute the account again from the log."""
        found = verify(chained(self.read(str(mine.root))), codec=WATCHED)
        if isinstance(mine.mechanism, FiltCon | OdomCon):
            assert ZCDP(*found.spent.get((), (0,))) == table.privacy_loss()

    def _look(self, statistic: Watched) -> None:
        """Data are about to be read: look whether the message is durable, then let others run."""
        root = statistic.number // EACH
        if self.chance.randrange(self.looks) == 0:
            worst = self.disk.crashed(len(self.disk.log), _Worst())
            with worst.mounted() as connect:
                events = list(_ledger(connect, lambda: 0.0).read(str(root)))
            story, number = story_of(chained(events)), str(statistic.number)
            told = [e for e in events if number in json.loads(e.body).get("query", "")]
            if not told:
                self._problems.append(f"{statistic} ran before its message was durable")
            elif story.pending == told[-1] and story.tries != 1 + (root in self._recovering):
                self._problems.append(f"{statistic} ran for the {story.tries}th time")
        self._schedule.give_way()

    def _clock(self) -> float:
        """Seconds; now and then a lease has to be renewed."""
        self._now += self.chance.choice((0, 0, 0.1, 15))
        return self._now

    def _commit(self, wishes: list[Wish]) -> None:
        self._ledger._commit(wishes)
        if self._ledger._commits >= sqlite._CHECKPOINT:
            self._ledger._checkpoint()

    # The life is the `Ledger` of its roots.

    def append(self, root: str, events: Sequence[Event]) -> None:
        self._schedule.append(root, events)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


class _NoKeeper:
    """In place of the thread that renews leases: here messages do, on the simulated clock."""

    @staticmethod
    def hold(journal: LedgerJournal) -> None:
        """Nothing."""


def _ledger(connect: Any, clock: Any) -> SQLiteLedger:
    return SQLiteLedger(PATH, connect=connect, clock=clock, free=lambda _: 1 << 40)


class _Worst(Random):
    """Nothing survives that was not flushed."""

    def randrange(self, *_: Any) -> int:
        return 0


def text(value: Any) -> str:
    return WATCHED.encode(without_receipts(value)).decode()


def said(query: Any) -> Any:
    """A query without the way to the child that it is for: so it stands in the log."""
    return said(query.query) if isinstance(query, Ask) else query


def view_of(handle: Queryable, after: int = 0) -> list[str]:
    """The exchanges after the first ones, as texts and without polls.

    What a person in the middle is asked is no poll.
    """
    persons = {()} if isinstance(handle._root.mechanism, Postprocessed) else set()
    kept = []
    for each in handle.view:
        if not is_poll(each) or any(each.path[:depth] in persons for depth in range(9)):
            kept.append(each)
        mechanism = getattr(each.query, "mechanism", None)
        if isinstance(mechanism, Postprocessed) and isinstance(each.answer, Launched):
            persons.add((*each.path, each.answer.child))
    return [text((each.path, each.query, each.answer)) for each in kept[after:]]


def loss_of(handle: Queryable) -> str:
    """The loss so far, as text. For other mechanisms the question may be a message."""
    sums = isinstance(handle._root.mechanism, FiltCon | OdomCon)
    return str(handle.privacy_loss()) if sums else ""


FAILED = text(Failed())
