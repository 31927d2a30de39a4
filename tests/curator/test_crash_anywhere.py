"""Power loss anywhere in the life of `curator.open`, simulated: nothing is lost, all goes on.

After each crash: every answer that a client had is in the log, unchanged; the account, computed
again, is that of the handle; no statistic has read data before its message was durable; and the
analysis goes on with the very answers, refusals, errors and losses of the undisturbed one.
"""

from collections import Counter
from random import Random
from typing import Any

import pytest

pytest.importorskip("apsw", reason="apsw is not installed (extra `test`)")

import mechanisms as m
from composition import FiltCon, OdomCon
from curator.ledgers import SQLiteLedger
from curator.logs.journal import LedgerJournal
from queryable import ZCDP, Launch, PrivacyLossQuery, PureDP
from queryable.conversation.recalling import Unplayed
from queryable.messages import AskMany, LaunchMany
from tests.curator import lives
from tests.curator.analyses import FAULTY_AT_LAUNCH, SMALL, Message, Watched, parts, roots
from tests.curator.lives import EACH, Life
from tests.disks import Disk
from tests.strategies import RandomBits

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def crashes(
    seed: int, count: int, messages: int = 12, looks: int = 1, more: tuple[int, int] = (1, 3)
) -> list[Life]:
    """The lives of a random analysis with so many crashes, and in some cases more in a row.

    Args:
        more: in how many of how many cases.
    """
    chance = Random(seed)
    first = Life(Disk(), chance, looks=looks)
    number = chance.choice((1, 1, 2, 3))
    first.run({root: (roots(chance), messages // number) for root in range(1, number + 1)})
    found = [first]
    for _ in range(count):
        life = first
        while life is first or (life.moments() and chance.randrange(more[1]) < more[0]):
            moment = min(chance.choices(life.moments(), k=1 if life is first else 2))
            life = life.next(moment, killed=chance.randrange(5) == 0)
            found.append(life)
    return found


@pytest.mark.parametrize(
    "seeds", [range(40, 52), pytest.param(range(100), marks=pytest.mark.slow)], ids=["12", "100"]
)
def test_random_crashes(seeds: range) -> None:
    """So many random analyses: their messages reach everything that the simulation is about.

    The quick ones are 12 in a row with some messages that are given up, which is rare.
    """
    count = len(seeds)
    found = [life for seed in seeds for life in crashes(seed, 2, looks=4, more=(2, 3))]
    assert sum(life.again for life in found) > count // 5
    assert sum(life.given_up for life in found) > count // 50
    told = Counter(
        kind
        for life in found
        for analysis in life.analyses.values()
        for step in analysis.steps
        for kind in (type(step.message.query).__name__, step.outcome.split(":")[0])
    )
    assert (
        min(told[kind] for kind in ("Launch", "LaunchMany", "AskMany", "Open", "Refine"))
        > count // 5
    )
    assert min(told[kind] for kind in ("UnknownQueryError", "RetiredChildError")) > count // 20


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_2000_random_crashes(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        crashes(1000 + seed, 8, messages=18)


def watched(number: int, *, fails: bool = False) -> Watched:
    return Watched(EACH + number, fails)


SCRIPT = tuple(
    Message(path, query, names)
    for path, query, *names in (
        ((), Launch(m.Gaussian(watched(1), rho="1/200")), "noisy"),
        ((), Launch(m.SparseVector(20, epsilon="1/10", cutoff=2))),  # 1
        ((1,), watched(2)),
        ((), Launch(FiltCon(ZCDP("1/30")))),  # 2
        ((2,), Launch(m.LaplaceNoiseReduction(watched(3), scales=[900, 300, 100]))),
        ((2, 0), m.Refine()),
        ((), Launch(OdomCon(PureDP), PureDP("1/20"))),  # 3
        ((3,), LaunchMany([Launch(RandomBits(SMALL)), Launch(FAULTY_AT_LAUNCH)])),
        ((3, 0), "bits"),
        ((), Launch(m.BrownianNoiseReduction() @ FiltCon(ZCDP("1/40")))),  # 4
        ((4,), m.Open(watched(5), (900, 300))),
        ((4, "estimate 0"), m.Refine()),
        ((), Launch(parts())),  # 5
        ((5, "a"), AskMany([watched(6), watched(7)])),
        ((5, "b"), Launch(m.Laplace(watched(8, fails=True), epsilon="1/50"))),
        ((1,), watched(9, fails=True)),
        ((1,), watched(10)),
        ((), Launch(m.Laplace(watched(11), epsilon=9))),
        ((), PrivacyLossQuery()),
        ((), "nonsense"),
        ((2, 0), m.Refine()),
        ((), Launch(m.Gaussian(watched(1), rho="1/200")), "noisy"),
    )
)


def scripted() -> Life:
    life = Life(Disk(), Random(1), looks=10**9)
    life.run({1: (FiltCon(ZCDP(1)), SCRIPT)})
    return life


@pytest.mark.parametrize(
    ("start", "every"),
    [(0, 25), *(pytest.param(start, 5, marks=pytest.mark.slow) for start in range(5))],
)
def test_a_crash_at_every_write_and_flush_of_a_script(start: int, every: int) -> None:
    """Every 25th moment; the slow starts have all of them."""
    life = scripted()
    outcomes = [step.outcome for step in life.analyses[1].steps]
    assert [each.split(":")[0] for each in outcomes if each.split(":")[0].endswith("Error")] == [
        "RetiredChildError",
        "UnknownQueryError",
    ]
    assert sum("failed/1" in each for each in outcomes) == 3
    assert sum("refused/1" in each for each in outcomes) == 1
    assert outcomes[0] == outcomes[-1]
    assert len(life.moments()) > 100
    for moment in life.moments()[start::every]:
        life.next(moment)


def _no_intent(journal: LedgerJournal, message: Any, told: Any) -> None:
    """Says that a message is durable before it is."""
    journal._charges = None


def _untold(append: Any) -> Any:
    """Does not say that a message runs again."""
    return lambda journal, kind, body: None if kind == "again" else append(journal, kind, body)


def _only_begun(state: Unplayed) -> Any:
    """Makes a child again without its messages."""
    return state._mechanism.init(state._dataset, state._coins())[0]


def _without_flushes(ledger_of: Any) -> Any:
    def careless(*arguments: Any) -> SQLiteLedger:
        ledger: SQLiteLedger = ledger_of(*arguments)
        ledger._rows("PRAGMA synchronous = OFF")
        return ledger

    return careless


@pytest.mark.parametrize(
    ("target", "name", "wrong"),
    [
        (LedgerJournal, "intend", _no_intent),
        (LedgerJournal, "append", _untold(LedgerJournal.append)),
        (Unplayed, "played", _only_begun),
        (lives, "_ledger", _without_flushes(lives._ledger)),
    ],
)
def test_the_simulation_finds_a_careless_curator(
    monkeypatch: pytest.MonkeyPatch, target: Any, name: str, wrong: Any
) -> None:
    monkeypatch.setattr(target, name, wrong)
    with pytest.raises(AssertionError):
        [crashes(seed, 2) for seed in range(50)]
