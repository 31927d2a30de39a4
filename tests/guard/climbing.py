"""A search that makes messages larger as long as they cost more: for every tag of an analyst.

`climbed` begins with the examples of each tag, sent wherever they may be understood. In each round
it changes, for each tag, messages that have cost most so far: a value of the tag in them is made
larger. So what is sent is mostly answered, and grows towards the limits.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np

import composition as c
import mechanisms as m
import queryable as q
from curator.codec import encode
from curator.codec.analysts import ANALYST_TAGS
from mechanisms import column
from mechanisms.first_good import Try
from mechanisms.multiplicative_weights import SyntheticHistogram
from mechanisms.refinement.refine_queries import Latest
from queryable.losses import Dominated, RenyiCurve
from queryable.messages import AskMany, LaunchMany, RemainingQuery
from queryable.streams.blocks import BlockLossQuery, BlocksQuery
from queryable.streams.levels import EventLevel
from tests.encoded import ODOMETERS, RULES
from tests.guard.conversations import wrapped
from tests.guard.costs import AGE, CITY, HOSTS, ROOTS, Cost, Sent, costs_of
from tests.guard.efforts import known
from tests.guard.examples import ROWS, UNIT
from tests.guard.hostile_fields import Mutator
from tests.guard.large import Inflater, root_of
from tests.guard.walk import MESSAGES
from tests.guard.walk import climbed as put_around
from tests.guard.wire import Node, Tree, Wire, options_of, put, tag_of, text_of

_TAG = re.compile(r'"@":"([^"]+)"')
_KEYS = ("seconds", "megabytes", "growth")
_REDUCTIONS = ("laplace reduction", "long laplace reduction")
_ESTIMATES = ("brownian", "wide brownian", "doubling")
_COUNTERS = ("tree", "users", "matrix")
_BLOCKS = ("blocks", "blocks of a menu", "a day")
_FITTED = ("synthetic", "new synthetic", "wide synthetic")
_FILTERS = ("filter", "renyi", "odometer", "menu", "universal")
VALUES = frozenset(
    f"{name}/1"
    for name in (
        *("column", "decimal", "dict", "discrete-gaussian", "fdp", "keys", "neighbours", "numpy"),
        *("bytes", "datetime", "timedelta", "int", "range", "approx-zcdp", "dominated"),
    )
)
"""Tags of values that no example of these has in a message that is answered."""
PLACES: dict[type, tuple[str, ...]] = {
    m.Estimate: ("frugal", "busy frugal"),
    m.Open: _ESTIMATES,
    m.Refine: _REDUCTIONS,
    m.Until: _REDUCTIONS,
    Latest: _REDUCTIONS,
    m.Total: _COUNTERS,
    m.Window: _COUNTERS,
    m.Fit: _FITTED,
    m.FromModel: _FITTED,
    m.SampleRows: _FITTED,
    m.Measurements: _FITTED,
    m.LinearQuery: ("weights", "wide weights"),
    SyntheticHistogram: ("weights", "wide weights"),
    q.LaunchOver: _BLOCKS,
    BlockLossQuery: _BLOCKS,
    BlocksQuery: _BLOCKS,
    AskMany: ("sparse vector",),
    Try: ("search",),
    q.Ask: (*_ESTIMATES, "parallel", "together"),
    RemainingQuery: ("filter", "renyi", "menu", *_BLOCKS),
    q.PrivacyLossQuery: (*_FILTERS, *_BLOCKS, *_ESTIMATES),
}
"""Where a query is understood, by its class; a launch is wherever something may be launched."""


_COUNT = m.Count(AGE >= 30)
_NOISY = (q.Launch(m.Gaussian(_COUNT, variance=10**6)), q.Launch(m.Laplace(_COUNT, scale=10**6)))
_LOSSES = (
    q.PureDP(9),
    q.ZCDP(9),
    q.ApproxDP(9, "1/1000"),
    q.ApproxZCDP(9, "1/1000"),
    q.GDP(9),
    Dominated(9, 9, "1/1000"),
    q.RDP(8, 9),
    RenyiCurve([2, 8], [9, 9]),
)


_ROOTS = {q.PureDP: "pure", q.ApproxDP: "approximate", q.RDP: "rdp", q.GDP: "gdp"}


def _compositors() -> Iterator[tuple[Any, Any]]:
    """Compositors with every rule and every odometer, and what an odometer may report."""
    for loss in _LOSSES:
        for rule in (None, *RULES):
            with suppress(Exception):
                yield c.FiltCon(loss, rule=rule), None
    for kind in (c.FiltSeq, c.Filt):
        yield kind(q.ZCDP(9)), None
    for measure, accumulator in ODOMETERS:
        for loss in _LOSSES:
            with suppress(Exception):
                odometer = c.OdomCon(measure, accumulator)
                odometer.as_filter(loss, 1)
                yield odometer, loss
    for kind in (c.OdomSeq, c.Odom):
        yield kind(q.ZCDP), q.ZCDP(9)


def _scripted(random: Random) -> Iterator[tuple[Any, str]]:
    """Launches of compositors, alone and with a list of launches."""
    for compositor, d_out in _compositors():
        launch = q.Launch(compositor, d_out=d_out)
        place = root_of(launch, random) if d_out is None else _ROOTS.get(type(d_out), "zCDP")
        yield launch, place
        for noisy in _NOISY:
            queries = [noisy, q.PrivacyLossQuery()]
            if d_out is None:
                yield q.Launch(m.Scripted(compositor, queries)), place
            else:
                outer = c.FiltCon(d_out)
                inner = [launch, *(q.Ask(0, query) for query in queries)]
                yield q.Launch(m.Scripted(outer, inner)), place


def _others() -> Iterator[tuple[Any, str]]:
    """Questions to what runs, with numbers and keys that are there."""
    yield from ((RemainingQuery(), place) for place in ("filter", "renyi", "menu"))
    yield from ((m.Window(2), place) for place in _COUNTERS)
    for place in _BLOCKS:
        yield BlockLossQuery(3), place
        yield RemainingQuery([1, 2]), place
        for noisy in _NOISY:
            yield q.LaunchOver(noisy.mechanism, q.Last(2)), place
            yield q.LaunchOver(noisy.mechanism, [1, 2]), place
            yield q.LaunchOver(c.FiltCon(q.ZCDP("1/9")), range(5)), place
    for place in _FITTED:
        yield m.Fit("1/10", rounds=1), place
        yield m.Fit(q.ZCDP("1/10"), rounds=1), place
        yield m.FromModel(m.GroupBy({"age": range(9)}, m.Sum("b", 0, 1))), place
    for query in (m.Until(m.RelativeError("1/2")), m.Until(m.AbsoluteError(9)), m.Refine(50)):
        for place in _ESTIMATES:
            yield q.Ask("estimate 0", query), place
            yield q.Ask("estimate 0", q.CanAfford(query)), place
        for place in _REDUCTIONS:
            yield query, place
    yield m.LinearQuery(np.full(40, 0.3)), "weights"
    yield m.LinearQuery.where(AGE >= 3), "weights"
    yield m.LinearQuery.where(AGE.is_in([1, 2])), "wide weights"
    for child in ("a", "other"):
        yield q.Ask(child, _NOISY[0]), "parallel"
    for child in (0, 1):
        yield q.Ask(child, LaunchMany([*_NOISY[:1]] * 2)), "together"
    yield AskMany([_COUNT, m.Count(CITY == "a")]), "sparse vector"
    for per in (None, UNIT):
        place = "zCDP" if per is None else "units"
        columns = (AGE * 2 - 1, column("b") / AGE, column("city").cast("number"))
        statistics = (
            m.GroupBy(m.Keys.of(ROWS, "city", "a"), m.Count(per=per)),
            m.GroupBy(m.Keys.months("day", "2024-01", "2024-04"), m.Count(per=per)),
            m.Count(column("price") > 1, per=per),
            m.Count(column("price").is_null(), per=per),
            m.Sum(m.when(AGE > 3).then(2).otherwise(1), 0, 9, per=per),
            m.Sum(column("age"), 0, 9, per=per),
            *(m.Sum(each, -3, 5, per=per) for each in columns),
            m.Count((AGE >= 3) & column("day").month().is_in([1, 2]), per=per),
        )
        for statistic in statistics:
            yield q.Launch(m.Gaussian(statistic, variance=10**6)), place
    yield q.Launch(m.Gaussian(m.CountUnits(per=UNIT), variance=10**6)), "units"
    keys = m.PrivateKeys(m.DiscoveredKeys("city", 2, per=UNIT), epsilon=1, delta="1/1000")
    yield q.Launch(keys), "units, approximate"
    for level in (None, q.UserLevel("who", 2), EventLevel()):
        with suppress(Exception):
            counter = m.TreeCounter(m.Count(), rho="1/10", horizon=8, neighbours=level)
            yield q.Launch(counter), "zCDP"


def seeds(random: Random) -> Iterator[Sent]:
    """Messages that are answered, with compositors, rules and questions to what runs."""
    for query, place in (*_scripted(random), *_others()):
        yield Sent("", str(encode(query), "ascii"), place)
    yield from known()


def places_of(query: Any, random: Random) -> list[str]:
    """Where a query is sent at first."""
    launch = isinstance(query, q.Launch | LaunchMany | q.CanAfford)
    if launch:
        inner = query.launches[0] if isinstance(query, LaunchMany) and query.launches else query
        around = "units" if "privacy-unit/1" in str(encode(query)) else random.choice([*ROOTS])
        return [root_of(inner, random), around, random.choice(_FILTERS)]
    for kind, places in PLACES.items():
        if isinstance(query, kind):
            return [random.choice(places)]
    return ["sparse vector" if hasattr(query, "l1") else random.choice([*HOSTS])]


def examples(wire: Wire, tags: Iterable[str], count: int, random: Random) -> Iterator[Sent]:
    """Some messages with an example of each tag, as they are."""
    mutator = Mutator(wire, random)
    for tag in tags:
        trees = wire.by_tag[tag]
        for tree in random.sample(trees, min(count, len(trees))) * (1 + count // len(trees)):
            value = wire.read(tree)
            _, value = put_around(wire, tree, value, mutator)
            launches = (q.Launch(value),) if isinstance(value, q.InteractiveMechanism) else ()
            queries = [value] if isinstance(value, MESSAGES) else [*launches, *wrapped(value)]
            for query in queries:
                try:
                    text = str(encode(query), "ascii")
                except Exception:  # a list of queries that are not queries, for one
                    continue
                for place in dict.fromkeys(places_of(query, random)):
                    yield Sent(tag, text, place)


class Climber:
    """Keeps what has cost most, by tag, and makes it larger.

    Attributes:
        answered: how many messages with each tag were answered.
    """

    def __init__(self, wire: Wire, random: Random) -> None:
        self.wire, self.random = wire, random
        self.inflater = Inflater(wire, random)
        self.answered: dict[str, int] = dict.fromkeys(ANALYST_TAGS, 0)
        self._best: dict[tuple[str, str], list[tuple[float, str, str]]] = {}
        self._seen = set[tuple[str, str]]()

    def keep(self, costs: Iterable[Cost]) -> Iterator[Cost]:
        """Note what messages have cost."""
        for cost in costs:
            for tag in dict.fromkeys(_TAG.findall(cost.text)):
                if tag not in self.answered:
                    continue
                self.answered[tag] += cost.kind == "answer"
                for key in _KEYS:
                    self._note(tag, key, cost)
                if cost.kind == "answer":
                    self._note(tag, "last", cost, self.random.random())
            yield cost

    def _note(self, tag: str, key: str, cost: Cost, value: float | None = None) -> None:
        value = getattr(cost, key) if value is None else value
        best = self._best.setdefault((tag, key), [])
        best.append((value, cost.place, cost.text))
        best.sort(reverse=True)
        del best[3:]

    def larger(self, tags: Iterable[str], count: int) -> Iterator[Sent]:
        """Messages with larger values of each tag, made from those that cost most."""
        for tag in tags:
            for _ in range(count):
                key = self.random.choice([*_KEYS, "last", "last"])
                best = self._best.get((tag, key))
                if not best:
                    continue
                _, place, text = self.random.choice(best)
                if self.random.random() < 0.05:
                    place = self.random.choice([*HOSTS, *ROOTS])
                found = self._grown(json.loads(text), tag)
                if found is not None and (place, found) not in self._seen:
                    self._seen.add((place, found))
                    yield Sent(tag, found, place)

    def _grown(self, tree: Tree, tag: str) -> str | None:
        """The text with one to three values made larger, one of them within a value of the tag."""
        random, text = self.random, None
        for turn in range(random.choice([1, 1, 2, 3])):
            nodes = [*self.wire.nodes(tree)][:3000]
            inside = [each for each in nodes if _is_within(tree, each.place, tag)]
            for _ in range(6):
                pool = inside if inside and (turn == 0 or random.random() < 0.5) else nodes
                if not pool:
                    break
                node = random.choice(pool)
                new = put(tree, node.place, self._value(node))
                written = text_of(new)
                # some of what is not read is sent too: to refuse it has to be cheap
                is_read = self.wire.read(new) is not None  # an array has no truth value
                if len(written) < 120_000 and (is_read or random.random() < 0.03):
                    tree, text = new, written
                    break
        return text

    def _value(self, node: Node) -> Tree:
        value = node.value
        if isinstance(value, list) and value and self.random.random() < 0.8:
            return self.inflater.longer(value)
        if isinstance(value, str) and str in options_of(node.annotation):
            return self.random.choice(["age", "b", "city", "x" * 3000])
        return self.inflater.value(node)


def _is_within(tree: Tree, place: tuple[Any, ...], tag: str) -> bool:
    """Whether a place is within a value of the tag."""
    for step in place:
        if tag_of(tree) == tag:
            return True
        tree = tree.get(step) if isinstance(tree, dict) else tree[step]
    return tag_of(tree) == tag


def climbed(wire: Wire, seed: int, rounds: int, each: int = 2) -> tuple[list[Cost], Climber]:
    """What messages cost that were made larger in so many rounds.

    Args:
        each: messages of each tag in a round.
    """
    random = Random(seed)
    climber = Climber(wire, random)
    tags = sorted(each for each in ANALYST_TAGS if each in wire.by_tag)
    first = dict.fromkeys([*seeds(random), *examples(wire, tags, 2, random)])
    found = [*climber.keep(costs_of([*first]))]
    for _ in range(5):  # what was sent to a wrong place by chance
        left = [tag for tag in tags if not climber.answered[tag] and tag not in VALUES]
        found += climber.keep(costs_of([*examples(wire, left, 3, random)]))
    for _ in range(rounds):
        found += climber.keep(costs_of([*climber.larger(tags, each)]))
    return found, climber
