"""What messages of analysts cost a served curator: `python -m tests.guard.efforts` searches.

Every tag that an analyst may send is put into a message, with its sizes at the limits: statistics
of up to 10^6 cells, numbers of up to 300 digits, and as many choices and repetitions as its class
takes. What is admitted may take 2 s of processor time and 100 times its bytes.
"""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import attrs

import composition as c
import curator
import mechanisms as m
import queryable as q
from curator.codec import CODEC, QUERIES, encode
from curator.codec.analysts import ANALYST_TAGS
from curator.service import LocalService
from curator.service.lengths import Allowed, expected, require_short
from curator.wire import Told
from queryable.errors import CodecError, QueryError
from tests.curator.fuzzing import message
from tests.encoded import values
from tests.stored import KEY, MemoryLedger

DATA = {"age": [*range(40)], "b": [0, 1] * 20, "city": ["a", "b"] * 20, "a": [1.5] * 40}
BUDGETS = (
    c.FiltCon(q.ZCDP(10**300)),
    c.FiltCon(q.PureDP(10**300)),
    c.FiltCon(q.ApproxDP(10**6, "1/10")),
)
LAW = m.TruncatedNegativeBinomial(1, "1/1000")
SECONDS = 20


def grouped(cells: int, of: Any = None) -> Any:
    """Counts of so many groups, of two columns."""
    side = round(cells**0.5)
    return m.GroupBy([{"age": range(side)}, {"b": range(side)}], of or m.Count())


SIZES = (1, 900, 10_000, 160_000, 1_000_000)
NUMBERS = [Fraction(each) for each in ("1/7", 100, 10**9, 10**15, 10**30, 10**60, 10**150, 10**300)]
NUMBERS += [1 / each for each in NUMBERS[2:]] + [Fraction(10**200, 7**150)]


def launches() -> Iterator[Any]:
    """Measurements with sizes at the limits."""
    for cells in SIZES:
        for statistic in (
            grouped(cells),
            m.Histogram("age", range(min(cells, 900))),
            m.GroupBy({"age": range(900)}, m.Mean("b", 0, 10**9)),
        ):
            for number in NUMBERS:
                yield lambda s=statistic, n=number: m.Gaussian(s, variance=n)
                yield lambda s=statistic, n=number: m.Laplace(s, scale=n)
                yield lambda s=statistic, n=number: m.ExponentialMechanism(s, n)
                yield lambda s=statistic, n=number: m.PermuteAndFlip(s, n)
                for k in (3, 100, 900):
                    yield lambda s=statistic, n=number, k=k: m.TopK(s, n, k=k)
    for cells in SIZES:
        for rho in (1, Fraction(1, 10**60)):
            for statistic in (grouped(cells), grouped(cells, m.Mean("b", 0, 9))):
                yield lambda s=statistic, r=rho: s.measurement(q.ZCDP, 1, loss=q.ZCDP(r))
    for number in NUMBERS:
        for keys in (10, 900):
            yield lambda n=number, k=keys: m.Quantiles("age", ["1/2"] * 1, range(k)).measurement(
                q.PureDP, 1, loss=q.PureDP(n)
            )
            yield lambda n=number, k=keys: m.Top("age", k, range(k)).measurement(
                q.PureDP, 1, loss=q.PureDP(n)
            )
        yield lambda n=number: m.SparseVector(3, epsilon=n, cutoff=10**6)
        yield (
            lambda n=number: (
                m.RandomizedResponse("b", 2, n) if hasattr(m, "RandomizedResponse") else None
            )
        )
    for each in values():
        if isinstance(each, q.InteractiveMechanism) and CODEC.tag_of(type(each)) in ANALYST_TAGS:
            yield lambda e=each: e


def messages() -> Iterator[tuple[str, Any]]:
    """Messages, each with the name of what it launches; also the best of many runs of each."""
    for make in launches():
        with suppress(Exception):
            each = make()
            name = type(each).__name__
            yield name, q.Launch(each)
            if isinstance(each, q.Measurement) and not isinstance(each, m.Best):
                with suppress(Exception):
                    of = 0 if isinstance(each, m.TopK | m.Laplace) and each.has_number(0) else None
                    yield f"Best of {name}", q.Launch(m.Best([each], "largest", LAW, of=of))


@attrs.frozen
class Cost:
    """What an admitted message has cost."""

    name: str
    bytes: int
    seconds: float
    growth: float
    text: str


class TooLongError(BaseException):
    """A message took too long to be waited for."""


def _stop(*_: Any) -> None:
    raise TooLongError


def cost_of(name: str, query: Any, budget: Any = BUDGETS[0]) -> Cost | str:
    """What a message costs; why it was refused."""
    try:
        text = encode(query)
        QUERIES.decode(text)
    except Exception as error:
        return str(error)
    ledger = MemoryLedger()
    root = curator.open(ledger, budget, DATA, name="a", key=KEY)
    root.launch(budget)
    served = LocalService(root)
    body = message(str(text, "ascii"), Random(1)).encode()
    before = sum(len(each.body) for each in ledger.events["a"])
    signal.signal(signal.SIGALRM, _stop)
    start = time.process_time()
    signal.alarm(SECONDS)
    kind = "answer"
    try:
        outcome = Told.read(served.tell((0,), body).body).outcome
        kind = str(outcome.kind)
        if kind == "query error":
            return str(outcome.text)
    except TooLongError:
        kind = "too long"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    taken = time.process_time() - start
    added = sum(len(each.body) for each in ledger.events["a"]) - before
    return Cost(name, len(text), taken, added / len(body), str(text[:300]))


def admitted() -> tuple[list[tuple[Fraction, Fraction, str, Any]], int]:
    """The messages that are not refused for their effort, with shares of both limits."""
    found, refused, allowed = list[tuple[Fraction, Fraction, str, Any]](), 0, Allowed()
    for name, query in messages():
        try:
            text = str(encode(query), "ascii")
            require_short(text, query, allowed)
        except (CodecError, QueryError):
            refused += 1
            continue
        takes = expected(query)
        growth = Fraction(takes.characters, allowed.growth * len(text))
        found.append((takes.steps / allowed.steps, growth, name, query))
    return found, refused


def worst(count: int, seed: int = 1) -> tuple[list[Cost], int]:
    """The costs of messages that are nearest to a limit, and of as many others.

    Args:
        count: how many are measured for each limit, and of the others.
    """
    found, refused = admitted()
    chosen = dict[int, tuple[Fraction, Fraction, str, Any]]()
    for limit in (0, 1):
        for each in sorted(found, key=lambda one: -one[limit])[:count]:
            chosen[id(each)] = each
    for each in Random(seed).sample(found, min(count, len(found))):
        chosen[id(each)] = each
    costs = list[Cost]()
    for _, _, name, query in chosen.values():
        for budget in BUDGETS:
            told = cost_of(name, query, budget)
            if isinstance(told, Cost):
                costs.append(told)
                break
    return costs, refused


def main() -> None:
    """Print the worst."""
    found, refused = worst(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    lines = [f"{len(found)} measured, {refused} refused"]
    for key in ("seconds", "growth"):
        lines.append(f"by {key}")
        for each in sorted(found, key=lambda one: -getattr(one, key))[:12]:
            about = (
                f"{each.name:30} {each.bytes:7} bytes {each.seconds:7.3f} s {each.growth:7.1f} x"
            )
            lines.append(f"{about}  {each.text[:150]}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
