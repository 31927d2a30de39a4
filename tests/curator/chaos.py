"""Clients of a curator whose processes are killed at random, and what they must have heard.

Each statistic is asked once: it counts the ages above a number of its own, its mark. So a message
that is lost, run twice or answered otherwise than the ledger says shows in a comparison of what the
clients heard with the exchanges that the owner sees.
"""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import attrs

from composition import FiltCon
from curator.codec import CODEC
from curator.owner import orders
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, Queryable, QueryRefusedError
from queryable.errors import InteractiveError, MechanismFault, QueryError
from queryable.messages import AskMany, Failed, Halted, Launched, LaunchMany, Refused
from queryable.running.many import exchanges_of
from tests.curator.serving import Served

FIRST, STEP = 10**6, 10**5
"""Client number n has marks from FIRST + n * STEP."""

_MARK = re.compile(r"(?<![\d.])\d{7,8}(?![\d.])")
_RHO = "1/1000"
Heard = dict[int, str]
"""What was answered about each mark."""


def statistic(mark: int) -> Count:
    """What nobody else asks about."""
    return Count(column("age") >= mark)


def measurement(mark: int) -> Gaussian:
    """A measurement of it."""
    return Gaussian(statistic(mark), rho=_RHO)


def told(value: Any) -> str:
    """An answer as text: what was refused or failed is only that."""
    match value:
        case Launched(child=None, answer=given):
            return told(given)
        case Refused() | Halted():
            return "refused"
        case Failed():
            return "failed"
        case Launched() | Queryable():
            return "a child"
    return str(CODEC.encode(value), "ascii")


@attrs.define(eq=False)
class Client:
    """An analyst's program: sends messages of all kinds, and keeps what it heard.

    Attributes:
        marks: those that are left, in order.
        names: the named launches, with the marks and what they gave.
        longest: how many seconds it waited for one message, at most.
    """

    handle: Queryable
    coins: random.Random
    marks: Iterator[int]
    heard: Heard = attrs.field(factory=dict)
    names: dict[str, str] = attrs.field(factory=dict)
    sent: int = 0
    longest: float = 0.0
    wrong: int = 0
    search: Queryable | None = None
    inner: Queryable | None = None

    def run(self, messages: int) -> None:
        """Send so many messages."""
        kinds: list[tuple[Callable[[], None], int]] = [
            *((self.launch, 30), (self.ask, 20), (self.nested, 12), (self.launch_named, 8)),
            *((self.launch_again, 5), (self.launch_many, 8), (self.ask_many, 5), (self.poll, 5)),
            *((self.be_wrong, 5), (self.ask_too_much, 2)),
        ]
        steps, weights = zip(*kinds, strict=True)
        while self.sent < messages:
            self.sent += 1
            began = time.perf_counter()
            self.coins.choices(steps, weights)[0]()
            self.longest = max(self.longest, time.perf_counter() - began)

    def hear(self, mark: int, ask: Callable[[], Any]) -> Any:
        """Keep what is answered about a mark."""
        value = None
        try:
            value = ask()
            self.heard[mark] = told(value)
        except QueryRefusedError:
            self.heard[mark] = "refused"
        except MechanismFault:
            self.heard[mark] = "failed"
        return value

    def launch(self) -> None:
        mark = next(self.marks)
        self.hear(mark, lambda: self.handle.launch(measurement(mark)))

    def launch_named(self) -> None:
        mark, before = next(self.marks), dict(self.heard)
        name = f"named {mark}"
        self.hear(mark, lambda: self.handle.launch(measurement(mark), name=name))
        assert mark not in before
        if self.heard[mark] not in {"refused", "failed"}:
            self.names[name] = self.heard[mark]

    def launch_again(self) -> None:
        """The same launch under the same name gives what it gave, for nothing."""
        if self.names:
            name = self.coins.choice([*self.names])
            again = self.handle.launch(measurement(int(name.split()[1])), name=name)
            assert told(again) == self.names[name]

    def launch_many(self) -> None:
        marks = [next(self.marks) for _ in range(3)]
        answers = self.handle.launch_many(list(map(measurement, marks)))
        self.heard |= {mark: told(answer) for mark, answer in zip(marks, answers, strict=True)}

    def ask(self) -> None:
        if self.search is None:
            self.search = self.child(SparseVector(10**6, epsilon="1/100", cutoff=9))
        if self.search is not None:
            mark, search = next(self.marks), self.search
            self.hear(mark, lambda: search(statistic(mark)))
            if self.heard[mark] in {"refused", "failed"}:
                self.search = None

    def ask_many(self) -> None:
        if self.search is not None:
            marks = [next(self.marks) for _ in range(4)]
            answers = self.search.ask_many(list(map(statistic, marks)))
            self.heard |= {mark: told(answer) for mark, answer in zip(marks, answers, strict=True)}

    def nested(self) -> None:
        if self.inner is None:
            self.inner = self.child(FiltCon(ZCDP("1/250")))
        if self.inner is not None:
            mark, inner = next(self.marks), self.inner
            self.hear(mark, lambda: inner.launch(measurement(mark)))
            if self.heard[mark] in {"refused", "failed"}:
                self.inner = None

    def child(self, mechanism: Any) -> Queryable | None:
        with suppress(QueryRefusedError, MechanismFault):
            return self.handle.launch(mechanism)
        return None

    def poll(self) -> None:
        assert self.handle.privacy_loss() is not None
        self.handle.can_afford(measurement(FIRST))

    def be_wrong(self) -> None:
        """A wrong query is named, and changes nothing."""
        try:
            self.handle.launch(Gaussian(Count(column("nothing") >= 1), rho=_RHO))
        except QueryError:
            self.wrong += 1
        else:
            raise AssertionError("there is no such column")

    def ask_too_much(self) -> None:
        mark = next(self.marks)
        self.hear(mark, lambda: self.handle.launch(Gaussian(statistic(mark), rho=10**3)))
        assert self.heard[mark] in {"refused", "failed"}


def asked(owner: Queryable) -> dict[int, list[str]]:
    """For each mark, the answers that the owner sees."""
    found: dict[int, list[str]] = {}
    for exchange in owner.view:
        if isinstance(exchange.query, LaunchMany | AskMany):
            parts = exchanges_of(exchange.path, exchange.query, exchange.answer)
        else:
            parts = (exchange,)
        for part in parts:
            text = str(CODEC.encode(part.query), "ascii")
            for mark in set(map(int, _MARK.findall(text))):
                if mark > FIRST:
                    found.setdefault(mark, []).append(told(part.answer))
    return found


@attrs.define
class Chaos:
    """Clients, kills, and what came of it.

    Attributes:
        kills: how often a worker and the front were killed.
    """

    served: Served
    clients: list[Client] = attrs.field(factory=list)
    errors: list[BaseException] = attrs.field(factory=list)
    kills: Counter[str] = attrs.field(factory=Counter)
    seconds: float = 0.0

    def add(self, count: int, messages: int, seed: int) -> None:
        """Add analysts, each with two clients. Their budgets end at about half of the messages."""
        stated = self.served.stated
        for number in range(count):
            if number % 2 == 0:
                name = f"analyst{number}"
                token = orders.add_analyst(stated, name)
                orders.grant(stated, "visits", name, zcdp=f"{max(messages * 2 // 3, 1)}/1000")
            handle = self.served.connect(token)["visits"]
            marks = iter(range(FIRST + number * STEP + 1, FIRST + (number + 1) * STEP))
            self.clients.append(Client(handle, random.Random(f"{seed} {number}"), marks))

    def run(self, messages: int, every: int, seed: int) -> None:
        """Let all clients send their messages, with kills in between.

        Every fourth kill, from the second on, is one of the front. Some kills come right after
        another one, and so meet a process that is starting.

        Args:
            every: how many messages, on average, are sent between two kills.
        """
        coins = random.Random(f"kills {seed}")
        threads = [
            threading.Thread(target=self._run, args=(each, messages)) for each in self.clients
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        due = coins.uniform(0, every)
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.005)
            if sum(client.sent for client in self.clients) >= due:
                self._kill()
                again = coins.random() < 0.2
                due += 0 if again else coins.uniform(0, 2 * every)
                time.sleep(coins.uniform(0, 1) if again else 0)
        self.seconds = time.perf_counter() - began

    def _run(self, client: Client, messages: int) -> None:
        try:
            client.run(messages)
        except BaseException as error:
            self.errors.append(error)

    def _kill(self) -> None:
        if self.kills.total() % 4 == 1:
            self.kills["front"] += 1
            self.served.process.kill()
            self.served.process.wait()
            self.served.start()
        else:
            self.kills["worker"] += 1
            with suppress(
                ProcessLookupError, InteractiveError, OSError, TypeError
            ):  # none is there
                self.served.kill_worker()

    def check(self) -> Counter[str]:
        """Compare what was heard with what the owner sees; how many answers of each kind there are.

        Everything that was answered is there once, as it was answered, and there is no more.
        """
        assert self.errors == [], self.errors[0]
        assert {"front", "worker"} <= self.kills.keys()
        whole = asked(self.served.connect(None)["visits"])
        heard = {mark: text for client in self.clients for mark, text in client.heard.items()}
        assert sum(len(client.heard) for client in self.clients) == len(heard)
        doubled = {mark: answers for mark, answers in whole.items() if len(answers) != 1}
        assert not doubled, doubled
        assert {mark: answers[0] for mark, answers in whole.items()} == heard
        return Counter(
            text if text in {"refused", "failed"} else "answered" for text in heard.values()
        )
