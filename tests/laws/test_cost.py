"""Costs that must not grow: by counts and ratios, never by absolute times.

A time is the lower quartile of the processor times of many batches. Batches of the two compared
operations alternate. A pause of the machine affects neither quartile; a growing cost affects one.
"""

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from types import FrameType
from typing import Any

import numpy as np
import pytest

from composition import Blocks, FiltCon, OdomCon, Whitehouse2023
from mechanisms import Count, Gaussian, RandomizedResponse, column
from mechanisms.sampling import blocks
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Ask,
    Last,
    Launch,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    SeededCoins,
)
from queryable.running.log import POLLS
from tests.strategies import RandomWord, Toy

BATCH = 20
ROOT = Path(__file__).parents[2]
OURS = tuple(f"{ROOT / each}{os.sep}" for each in ("queryable", "composition", "mechanisms"))
SMALL = PureDP("1e-6")
DUST = ApproxDP("1e-6", 0)


def seconds(act: Callable[[int], object], start: int) -> float:
    """Processor seconds of one batch of calls, with garbage collection disabled."""
    gc.disable()
    try:
        began = process_time()
        for index in range(start, start + BATCH):
            act(index)
        return process_time() - began
    finally:
        gc.enable()


def ratio(
    first: Callable[[int], object], second: Callable[[int], object], count: int = 2000
) -> float:
    """The time of a call of `second` over that of `first`, for `count` calls of each."""
    gc.collect()
    times = [(seconds(first, start), seconds(second, start)) for start in range(0, count, BATCH)]
    return float(np.divide(*reversed(np.quantile(times, 0.25, axis=0))))


FILTERS = {
    "FiltCon": (FiltCon(PureDP(1)), SMALL),
    "Whitehouse2023": (FiltCon(ApproxDP(1, "1e-6"), rule=Whitehouse2023()), DUST),
    "OdomCon": (OdomCon(PureDP), SMALL),
}


def assert_launches_do_not_slow_down(name: str, count: int) -> None:
    """A launch and a report after `count` launches take at most twice those of a new queryable."""
    composition, loss = FILTERS[name]
    new, old = (Queryable(composition, None) for _ in range(2))
    measurement = RandomWord(loss)

    def act(q: Queryable) -> None:
        q.launch(measurement)
        q.privacy_loss()

    old.launch_many([measurement] * (count - 400))
    assert ratio(lambda _: act(new), lambda _: act(old), 400) <= 2
    assert old.privacy_loss().parts[0] > 0
    assert len(old.ledger()) == count
    assert len(old.view) <= count + POLLS + 1


@pytest.mark.parametrize("name", ["FiltCon", "Whitehouse2023", "OdomCon"])
def test_launches_and_reports_do_not_slow_down(name: str) -> None:
    """5,000 launches under several rules."""
    assert_launches_do_not_slow_down(name, 5_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FiltCon", "Whitehouse2023", "OdomCon"])
def test_a_hundred_thousand_launches_do_not_slow_down(name: str) -> None:
    assert_launches_do_not_slow_down(name, 100_000)


def test_a_cost_that_grows_is_seen() -> None:
    """The ratio detects an operation that is linear in the history."""
    log: list[int] = list(range(2000))
    assert ratio(lambda i: sum(log[:10]), lambda i: sum(log)) > 2


@pytest.fixture(scope="module")
def crowd() -> tuple[FiltCon, Any, Any]:
    """A filter's state with 20 live children, and one with 20,000."""
    filtered = FiltCon(PureDP(1))
    state, _ = filtered.init(None)
    few = None
    for index in range(20_000):
        if index == 20:
            few = state
        state, _ = filtered.step(state, Launch(Toy(SMALL)))
    return filtered, few, state


@pytest.mark.parametrize(
    "query",
    [Ask(7, "bits"), Ask(7, PrivacyLossQuery()), PrivacyLossQuery(), Launch(Toy(SMALL))],
    ids=["ask", "ask loss", "loss", "launch"],
)
def test_a_step_costs_the_same_among_twenty_thousand_children(
    crowd: tuple[FiltCon, Any, Any], query: Any
) -> None:
    """A query among 20,000 live children takes at most twice as long as among 20."""
    filtered, few, many = crowd
    coins = SeededCoins(1)
    slower = ratio(
        lambda _: filtered.step(few, query, coins),
        lambda _: filtered.step(many, query, coins),
        1000,
    )
    assert slower <= 2


def bytes_per_child(run: Callable[[int], object], few: int, many: int) -> float:
    """The memory of one more child, from the difference of two sizes."""
    used = []
    for count in (few, many):
        gc.collect()
        tracemalloc.start()
        kept = run(count)
        gc.collect()
        used.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        del kept
    return (used[1] - used[0]) / (many - few)


def test_a_child_with_its_handle_takes_at_most_two_kibibytes() -> None:
    """The memory of a handle, its log entry and its child together."""

    def run(count: int) -> Any:
        q = Queryable(FiltCon(PureDP(1)), None)
        for _ in range(count):
            q.launch(Toy(SMALL))
        return q

    run(10)
    assert bytes_per_child(run, 200, 600) <= 2048


def test_children_share_the_data() -> None:
    """A thousand children over 8 MB of data make no copy of it."""
    data = np.zeros(1_000_000)
    states: list[Any] = []

    class Keeps(Toy):
        """A mechanism that keeps the data in its state."""

        def init(self, dataset: Any, coins: Any = None) -> Any:
            states.append(dataset)
            return dataset, None

    gc.collect()
    tracemalloc.start()
    q = Queryable(FiltCon(PureDP(1)), data)
    inner = q.launch(FiltCon(PureDP("0.5")))
    for _ in range(500):
        q.launch(Keeps(SMALL))
        inner.launch(Keeps(SMALL))
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used < data.nbytes / 2
    assert len({id(each) for each in states}) == 1
    assert np.shares_memory(states[0], data)


def calls(act: Callable[[], object]) -> int:
    """Count the calls of Python and C functions; the count is the same on every machine.

    The result is the minimum of three runs, because a block of random words may run out, or garbage
    collection may call back.
    """
    counts = []

    def see(frame: FrameType, event: str, argument: Any) -> None:
        counts[-1] += event in {"call", "c_call"}

    for _ in range(3):
        counts.append(0)
        sys.setprofile(see)
        try:
            act()
        finally:
            sys.setprofile(None)
    return min(counts)


def holding(count: int) -> Queryable:
    q = Queryable(FiltCon(PureDP(10**6)), True)
    for _ in range(count):
        q.launch(Toy(SMALL))
    q.children[0].ask("bits")
    return q


def test_calls_do_not_grow_with_the_children() -> None:
    """Among 4,000 children each operation makes as many calls as among 100."""
    few, many = holding(100), holding(4_000)
    response = RandomizedResponse(bool, odds=3)
    for act, most in (
        (lambda q: q.launch(response), 248),
        (lambda q: q.privacy_loss(), 24),
        (lambda q: q.children[0].ask("bits"), 116),
    ):
        act(few), act(many)
        counted = calls(lambda act=act: act(few)), calls(lambda act=act: act(many))  # type: ignore[misc]
        assert counted[0] == counted[1]
        assert max(counted) <= most


def own_calls(act: Callable[[], object]) -> tuple[int, int]:
    """How many Python functions of ours a warm call runs, and in how many files.

    The result is the minimum of thirty runs, because some noise takes more words than other.
    """
    found: list[list[str]] = []

    def see(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(OURS):
            found[-1].append(name)

    act()
    for _ in range(30):
        found.append([])
        sys.setprofile(see)
        try:
            act()
        finally:
            sys.setprofile(None)
    least = min(found, key=len)
    return len(least), len({*least})


def deep(levels: int) -> Queryable:
    """A mechanism so many filters deep."""
    q = Queryable(FiltCon(PureDP(10**6)), None)
    for level in range(levels - 1):
        q = q.launch(FiltCon(PureDP(1000 - level)))
    child: Queryable = q.launch(Toy(SMALL))
    return child


def test_what_everybody_pays_for_takes_few_calls() -> None:
    """Counted in our own files, once warm: a launch, an ask, a report and a noisy count."""
    q, toy = Queryable(FiltCon(PureDP(10**6)), None), Toy(SMALL)
    child, inner = q.launch(toy), q.launch(FiltCon(PureDP(1)))
    below = deep(10)
    table = Queryable(FiltCon(ZCDP(10**6)), {"age": np.arange(10)})
    noisy = Gaussian(Count(column("age") > 5), rho="1/100")
    for act, most, files in (
        (lambda: q.launch(toy), 60, 21),
        (lambda: inner.launch(toy), 67, 21),
        (lambda: child.ask("bits"), 26, 10),
        (lambda: below.ask("bits"), 80, 10),
        (q.privacy_loss, 14, 6),
        (lambda: table.launch(noisy), 165, 38),
    ):
        calls, among = own_calls(act)
        assert calls <= most
        assert among <= files


def in_days(days: int) -> Queryable:
    """So many blocks, of which the last 20 have lost different amounts."""
    q = Queryable(Blocks(FiltCon(PureDP(10**6))), [])
    for day in range(days):
        q.feed([day], block=day)
        q.feed.close(day)
    for last in range(1, 21):
        q.launch_over(RandomWord(SMALL), Last(last))
    return q


def test_calls_of_a_launch_grow_with_the_blocks_that_it_names_only() -> None:
    """Among 2,000 blocks as many as among 50, and for each further block a few more."""
    few, many = in_days(50), in_days(2000)
    word = RandomWord(SMALL)
    counted = [
        calls(lambda q=q, last=last: q.launch_over(word, Last(last)))  # type: ignore[misc]
        for last in (1, 10, 20)
        for q in (few, many)
    ]
    assert counted[::2] == counted[1::2]
    assert counted[4] - counted[2] <= 9 * 10
    assert counted[0] <= 410


def test_calls_grow_evenly_with_depth() -> None:
    """Each level of nesting adds about as many calls to an ask as the level above."""
    counted = []
    for depth in range(1, 13):
        handle: Any = Queryable(FiltCon(PureDP(10)), None)
        for _ in range(depth - 1):
            handle = handle.launch(FiltCon(PureDP(9)))
        handle = handle.launch(Toy(SMALL))
        counted.append(calls(lambda h=handle: h.ask("bits")))  # type: ignore[misc]
    levels = np.diff(counted)
    assert max(levels) <= 1.6 * min(levels)


def test_an_ask_allocates_a_log_entry_and_no_more() -> None:
    """A thousand asks leave one exchange each, and no second copy of a state."""
    q = holding(100)
    child = q.children[50]
    child.ask("bits")
    before = sys.getallocatedblocks()
    for _ in range(1000):
        child.ask("bits")
    assert sys.getallocatedblocks() - before <= 4 * 1000


def cpu(act: Callable[[], object], rounds: int = 5) -> float:
    """Median processor seconds."""
    times = []
    for _ in range(rounds):
        began = process_time()
        act()
        times.append(process_time() - began)
    return median(times)


@pytest.mark.parametrize("law", [DiscreteLaplace(1000), DiscreteGaussian(10**6)], ids=str)
def test_bulk_noise_keeps_up_with_insecure_floats(law: Any) -> None:
    """100,000 draws within 4x of numpy's generator (measured: faster), and 20x single draws."""
    generator = np.random.default_rng(1)
    insecure = generator.laplace if isinstance(law, DiscreteLaplace) else generator.normal
    SYSTEM.draw(law, 1000)
    bulk = cpu(lambda: SYSTEM.draw(law, 100_000))
    assert bulk <= 4 * cpu(lambda: insecure(size=100_000))
    assert 20 * bulk <= 50 * cpu(lambda: [law.sample(SYSTEM) for _ in range(2000)])


@pytest.mark.parametrize("scale", [1, 100, 128, 255, 1000, 10**6])
def test_few_draws_come_to_a_coin(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200,000 draws fewer than one in a thousand evaluates the curve itself."""
    tossed = 0
    toss = blocks.coin

    def counting(*arguments: Any) -> bool:
        nonlocal tossed
        tossed += 1
        return toss(*arguments)

    monkeypatch.setattr(blocks, "coin", counting)
    for law in (DiscreteLaplace(scale), DiscreteGaussian(scale**2)):
        SeededCoins(1).draw(law, 200_000)  # type: ignore[call-overload]
    assert tossed <= 400
