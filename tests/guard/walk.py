"""The walk: cases of every tag, decoded as an analyst's, and everything that the codec accepts.

`python -m tests.guard --cases 300000` walks for long. A case is a changed example of one tag. What
the codec accepts is put into other examples until it is a statistic, a mechanism or a message, and
then checked: `moves`, `contributions`, `claims`, `conversations`, `spending`.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random
from time import perf_counter
from typing import Any

import attrs

import composition as c
import queryable as q
from mechanisms import DiscoveredKeys
from queryable.errors import CodecError
from queryable.losses import Loss
from queryable.messages import AskMany, LaunchMany, is_owners
from queryable.statistics import IntegerStatistic
from tests.guard import claims, contributions, conversations, moves, spending
from tests.guard.findings import Fault, Finding, short
from tests.guard.hostile_fields import Case, Mutator, filled
from tests.guard.wire import Tree, Wire, text_of, tree_of
from tests.guard.worlds import ARRAYS, IN_MEMORY, OF_ROWS, OF_UNITS, Star

STATISTICS = (IntegerStatistic, DiscoveredKeys)
COMPOSITORS = (c.FiltCon, c.OdomCon, c.ExPost, c.Universal, c.ConComp, c.Parallel, c.Blocks)
COMPOSITORS += (c.Individual, q.Postprocessed)
MESSAGES = (q.Launch, LaunchMany, q.LaunchOver, q.CanAfford, q.Ask, AskMany)
_D_OUT = ("zcdp/1", "approx-dp/1", "pure-dp/1", "rdp/1", "renyi-curve/1", "approx-zcdp/1", "gdp/1")
_MOST_STEPS, _MOST_TRIES = 4, 50


Key = tuple[str, str]


@attrs.frozen
class Effort:
    """How much a case may take.

    Attributes:
        engines: the engines that tables are on; each is chosen as often as the others.
        on_engines: the share of statistics that are evaluated on an engine, beside those of units,
            which only tables have.
        neighbours: how many are compared in memory, and on an engine.
    """

    engines: tuple[str, ...] = ()
    on_engines: float = 0.1
    neighbours: tuple[int, int] = (8, 3)


@attrs.define
class Walk:
    """What was walked so far.

    Attributes:
        cases: how many, by tag; `read` those that the codec accepted.
        checked: how many comparisons, by check.
        found: the first finding of each rule and tag.
        counts: how many there are.
        slowest: the longest time of reading one case, by tag; seconds.
    """

    wire: Wire
    effort: Effort
    cases: Counter[str] = attrs.Factory(Counter)
    read: Counter[str] = attrs.Factory(Counter)
    checked: Counter[str] = attrs.Factory(Counter)
    found: dict[Key, Finding] = attrs.Factory(dict)
    counts: Counter[Key] = attrs.Factory(Counter)
    slowest: dict[str, float] = attrs.Factory(dict)

    def run(self, seed: int, rounds: int, tags: Sequence[str] = ()) -> None:
        """So many cases of each tag. Each has a seed of its own, so it can be walked alone."""
        for number in range(rounds):
            for tag in tags or self.wire.by_tag:
                self.one(tag, f"{seed} {number}")

    def one(self, tag: str, seed: str) -> None:
        """One case."""
        random = Random(f"{seed} {tag}")
        mutator = Mutator(self.wire, random)
        case = mutator.case(tag)
        start = perf_counter()
        value = self.wire.read(case.tree)
        self.slowest[tag] = max(self.slowest.get(tag, 0.0), perf_counter() - start)
        self.cases[tag] += 1
        if value is None:
            return
        self.read[tag] += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._check(case, value, mutator)

    def _check(self, case: Case, value: Any, mutator: Mutator) -> None:
        random = mutator.random
        tree, value = climbed(self.wire, case.tree, value, mutator)
        checks = list(checks_of(value, self.effort, mutator))
        random.shuffle(checks)
        checks.sort(key=lambda check: check.name != "spending")
        for check in checks[:2]:
            try:
                for each in check.run():
                    if isinstance(each, Fault):
                        self._keep(each, case, tree, check)
                    else:
                        self.checked[check.name] += each
            except Exception as error:
                told = f"{type(error).__name__}: {short(str(error))}"
                self._keep(Fault("raises", told, check.name), case, tree, check)

    def _keep(self, fault: Fault, case: Case, tree: Tree, check: "Check") -> None:
        key = fault.rule, case.tag
        self.counts[key] += 1
        if key not in self.found:
            sent = "\n    ".join(map(text_or_repr, check.sent)) or text_of(tree)
            changed = " and ".join(sorted({field for _, field in case.changed}))
            self.found[key] = Finding(*key, changed, fault.told, fault.where, sent)

    @property
    def findings(self) -> list[Finding]:
        """The first of each rule and tag."""
        return [self.found[key] for key in sorted(self.found)]

    def __str__(self) -> str:
        lines = [
            f"{self.cases.total():,} cases of {len(self.cases)} tags, {self.read.total():,} read; "
            + ", ".join(f"{name} {count:,}" for name, count in sorted(self.checked.items()))
        ]
        lines += [f"{self.counts[each.key]:,} times {each}" for each in self.findings]
        return "\n".join(lines)


@attrs.frozen
class Check:
    """One check of a value.

    Attributes:
        name: its name, under which comparisons are counted.
        run: yields what is wrong, and how much was compared.
        sent: what is sent, where that is not the value.
    """

    name: str
    run: Callable[[], Iterator[Fault | int]]
    sent: tuple[Any, ...] = ()


def text_or_repr(value: Any) -> str:
    """The text of a value, if it has one."""
    try:
        return text_of(tree_of(value))
    except CodecError:
        return short(value, 1000)


def climbed(wire: Wire, tree: Tree, value: Any, mutator: Mutator) -> tuple[Tree, Any]:
    """The value in an example that can be checked: put into fields that take it, step by step."""
    random = mutator.random
    for _ in range(_MOST_STEPS):
        checkable = isinstance(value, (*STATISTICS, q.InteractiveMechanism, *MESSAGES))
        if isinstance(value, MESSAGES) or (checkable and random.random() < 0.75):
            break
        outer = next(_around(wire, tree, value, mutator), None)
        if outer is None:
            break
        tree, value = outer
    return tree, value


def _around(wire: Wire, tree: Tree, value: Any, mutator: Mutator) -> Iterator[tuple[Tree, Any]]:
    """Examples with the value in one of their fields, that the codec reads."""
    carriers = [*wire.carriers(value)]
    mutator.random.shuffle(carriers)
    outer = (each for carrier in carriers for each in filled(wire, mutator, carrier, tree))
    for each in islice(outer, _MOST_TRIES):
        found = wire.read(each)
        if found is not None:
            yield each, found


def per_of(value: Any) -> Any:
    """The privacy unit of a statistic or of what holds one; None if it is about rows."""
    for _ in range(5):
        per = getattr(value, "per", None)
        if per is not None:
            return per
        names = ("statistic", "keys", "scores", "counts", "counted", "mechanism", "top")
        fields = {each.name for each in attrs.fields(type(value))} if attrs.has(type(value)) else ()
        inner = next((getattr(value, name) for name in names if name in fields), None)
        if inner is None:
            return None
        value = inner
    return None


def place_of(value: Any, effort: Effort, random: Random) -> tuple[str, Star] | None:
    """Where a value is tried: in memory or on an engine, by rows or by units."""
    if per_of(value) is not None:
        if not effort.engines:
            return None
        return random.choice(effort.engines), random.choice(OF_UNITS)
    if effort.engines and random.random() < effort.on_engines:
        return random.choice(effort.engines), random.choice(OF_ROWS)
    form = ARRAYS if random.random() < 0.7 else random.choice(IN_MEMORY)
    return form, random.choice(OF_ROWS)


def checks_of(value: Any, effort: Effort, mutator: Mutator) -> Iterator[Check]:
    """What is checked about a value."""
    random = mutator.random
    where = place_of(value, effort, random)
    if where is None:
        return
    form, star = where
    count = effort.neighbours[form not in IN_MEMORY]

    def talk(*sent: Any, name: str = "messages") -> Check:
        def run() -> Iterator[Fault | int]:
            return conversations.faults_of(sent[0], sent[1:], form, star, random)

        return Check(name, run, sent)

    if isinstance(value, STATISTICS):
        yield Check("moves", lambda: moves.faults_of(value, form, star, random, count))
        yield Check("contributions", lambda: contributions.faults_of(value, form, star, random))
    if isinstance(value, claims.CHECKED):
        yield Check("claims", lambda: claims.faults_of(value, form, star, random, count))
    if isinstance(value, q.InteractiveMechanism):
        yield talk(q.Launch(value), *conversations.questions_of(value), name="launches")
    if isinstance(value, COMPOSITORS):
        d_out = None
        if isinstance(value, c.OdomCon) and random.random() < 0.7:
            some = [mutator.wire.read(mutator.example(tag)) for tag in random.choices(_D_OUT, k=9)]
            own = [each for each in some if getattr(each, "measure", None) == value.proof.measure]
            d_out = random.choice(own or some)
        if d_out is None or isinstance(d_out, Loss):
            sent = q.Launch(value, d_out)
            yield Check("spending", lambda: spending.faults_of(value, random, d_out), (sent,))
    if not is_owners(value):
        message = random.choice(conversations.wrapped(value))
        if isinstance(message, MESSAGES) and not isinstance(message, AskMany):
            yield talk(message)
        yield talk(q.Launch(random.choice(conversations.HOSTS)), message)
