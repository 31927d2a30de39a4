"""The laws of state machines hold for a root whose state is its log and nothing else."""

from typing import Any
from unittest.mock import patch

import attrs
import pytest

import curator
from curator.ledgers import Event
from curator.logs.journal import LedgerJournal
from queryable import SYSTEM, Coins, InteractiveMechanism, Loss, Update
from queryable.audit.laws import LAWS, Law
from queryable.audit.views.scripts import Script
from queryable.messages import is_owners
from queryable.streams.levels import Growth
from tests.laws.subjects import DATA, SUBJECTS, Subject
from tests.on_ledger import LENIENT
from tests.stored import ledger_of
from tests.strategies import ILLEGAL, ILLEGAL_LAUNCHES

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
QUICK = {"FiltCon", "SparseVector"}


class AtMidnight(LedgerJournal):
    """Notes one time with all messages, so that equal messages make equal logs."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named, now=lambda: 0.0)


@attrs.frozen
class Log:
    """A state: the events so far, and what a process is started with."""

    events: tuple[Event, ...]
    key: bytes = attrs.field(repr=False)
    dataset: Any = attrs.field(repr=False)
    batches: tuple[Any, ...] = attrs.field(default=(), repr=False)


@attrs.frozen
class Logged(InteractiveMechanism[Log]):
    """A mechanism on a ledger. Each message is sent by a process of its own, also the owner's.

    The coins of `init` give the key. Those of a step are not used: they come from key and log.
    """

    mechanism: InteractiveMechanism[Any]

    @property
    def reports_loss(self) -> bool:  # type: ignore[override]
        return self.mechanism.reports_loss

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        return self.mechanism.growth

    def privacy_map(self, d_in: int, measure: Any = None) -> Loss:
        return self.mechanism.privacy_map(d_in, measure)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Log, Any]:
        return self._sent(Log((), coins.bytes(32), dataset))

    def step(self, state: Log, query: Any, coins: Coins = SYSTEM) -> tuple[Log, Any]:
        return self._sent(state, query)

    def _sent(self, state: Log, *query: Any) -> tuple[Log, Any]:
        ledger, batches = ledger_of(state.events), state.batches
        with (
            patch("curator.root.random_bytes", bytes),  # the salt
            patch("curator.root.LedgerJournal", AtMidnight),
        ):
            handle = curator.open(
                ledger,
                self.mechanism,
                state.dataset,
                name="a",
                updates=batches,
                key=state.key,
                codec=LENIENT,
            )
        try:
            answer = None
            if not query:
                answer = handle._root.opening
            elif not is_owners(*query):
                answer = handle._root.tell((), *query)
            else:
                handle._root.feed(*query)
                batches += tuple(each.records for each in query if isinstance(each, Update))
        finally:
            curator.release(handle)
        return attrs.evolve(state, events=tuple(ledger.events["a"]), batches=batches), answer


@pytest.mark.parametrize("law", LAWS.values(), ids=lambda law: law.__name__)
@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(each, marks=() if each.name in QUICK else pytest.mark.slow, id=each.name)
        for each in SUBJECTS
    ],
)
def test_every_law_holds_on_a_ledger(subject: Subject, law: Law) -> None:
    wrong = (*ILLEGAL[::4], *ILLEGAL_LAUNCHES[::4])
    data = {"who": DATA} if subject.name == "TreeCounter of users" else DATA  # it needs the column
    script = Script(Logged(subject.mechanism), data, subject.script, wrong, subject.random)
    assert list(law(script)) == []
