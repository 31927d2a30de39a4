"""Vectors of whole analyses: a mechanism, data, a seed, queries, answers, receipts and draws."""

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

import composition as c
import mechanisms as m
from curator.codec import decode, encode
from mechanisms.first_good import FirstGood, Try
from mechanisms.refinement.refine_queries import Latest
from mechanisms.sampling.laws import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Ask,
    InteractiveMechanism,
    Launch,
    LaunchOver,
    PrivacyLossQuery,
    PureDP,
    SeededCoins,
    Update,
    interact,
)
from queryable.errors import AccuracyWarning
from queryable.messages import CloseBlock, Failed, Halted, Launched, Refused, without_receipts
from queryable.randomness.laws import Bernoulli, Law, UniformBelow
from queryable.view import Exchange, View
from tests.vectors.losses import written

DATA = {
    "age": [31, 47, 62, 18, 25, 80, 55, 39, 41, 29, 67, 33],
    "clinic": ["a", "b", "a", "c", "b", "a", "a", "c", "b", "a", "b", "a"],
    "cost": [10, 250, 30, 0, 75, 500, 120, 60, 90, 45, 300, 20],
}
MORE = {name: values[:5] for name, values in DATA.items()}
BUDGET = ApproxDP(1, "1/1000000")
PARTS = ("1/10", "1/6", "1/4", "1/3")
"""A parameter of each kind of analysis, which is made with each of them."""

COUNT = m.Count()
OLD = m.Count(where=m.column("age") >= 40)
CLINICS = m.Histogram("clinic", ["a", "b", "c"])
COST = m.Sum("cost", 0, 200)
LOSS = PrivacyLossQuery()
GEOMETRIC = m.TruncatedNegativeBinomial(1, "1/4")

Analysis = tuple[InteractiveMechanism[Any], list[Any]]


def laplace(statistic: Any, epsilon: str) -> Launch:
    return Launch(m.Laplace(statistic, epsilon=epsilon))


def gaussian(statistic: Any, rho: str) -> Launch:
    return Launch(m.Gaussian(statistic, rho=rho))


def responses(part: str) -> list[Any]:
    """Laplace noise on several statistics, until nothing is left."""
    each = [laplace(COUNT, part), laplace(CLINICS, part), laplace(COST, "1/20"), LOSS]
    return [*each, *[laplace(OLD, part)] * 6, LOSS, laplace(COUNT, "1/1000")]


def normals(part: str) -> list[Any]:
    """Gaussian noise likewise, of half a standard loss."""
    each = [gaussian(COUNT, "1/50"), gaussian(CLINICS, part), gaussian(COST, "1/100")]
    return [*each, *[gaussian(OLD, part)] * 6, gaussian(COUNT, "1/1000")]


def nested(part: str) -> list[Any]:
    """A filter and a sparse vector in a filter, interleaved."""
    vector = m.SparseVector(6, epsilon=part, cutoff=2)
    inner = c.FiltCon(PureDP("1/4"))
    return [
        *(Launch(inner), Launch(vector), Ask(0, laplace(COUNT, "1/12")), Ask(1, OLD)),
        *(Ask(0, Launch(c.FiltSeq(PureDP("1/30")))), Ask(0, Ask(1, laplace(COUNT, "1/40")))),
        *(Ask(1, COUNT), Ask(0, Ask(1, LOSS)), Ask(0, Ask(1, laplace(OLD, "1/40")))),
        *(Ask(0, laplace(COUNT, "1")), Ask(1, COUNT), Ask(0, LOSS), laplace(COST, "1/3"), LOSS),
    ]


def slack(rule: type[Any]) -> Callable[[str], Analysis]:
    """A filter with a rule that has a slack."""
    return lambda part: (c.FiltCon(BUDGET, rule(slack="1/2000000")), silent(responses(part)))


def silent(script: list[Any]) -> list[Any]:
    """The script without questions for the loss, whose answer floats have a part in."""
    return [each for each in script if each is not LOSS]


RENYI = {"orders": [4, 16, 40], "weights": ["1/4", "1/2", "1/4"]}
KINDS: dict[str, Callable[[str], Analysis]] = {
    "sums of epsilon": lambda part: (c.FiltCon(PureDP(1)), responses(part)),
    "sums of epsilon and delta": lambda part: (c.FiltCon(BUDGET), responses(part)),
    "sums of rho": lambda part: (c.FiltCon(ZCDP("1/2")), [*normals(part), LOSS]),
    "sums of mu squared": lambda part: (c.FiltCon(GDP(1)), [*silent(responses(part))]),
    "a Renyi order": lambda part: (c.FiltCon(RDP(8, 1)), [*normals(part), *responses(part)]),
    "Whitehouse2023": slack(c.Whitehouse2023),
    "ViaZCDP": slack(c.ViaZCDP),
    "Rogers2016": lambda part: (c.FiltCon(BUDGET, c.Rogers2016()), silent(responses(part))),
    "ViaGDP": lambda part: (c.FiltCon(BUDGET, c.ViaGDP()), silent(responses(part))),
    "ViaRenyi": lambda part: (c.FiltCon(BUDGET, c.ViaRenyi(**RENYI)), silent(responses(part))),
    "Menu": lambda part: (
        c.FiltCon(ApproxDP(2, "1/1000000"), c.Menu("1/12", [1, 2, 4], slack="1/1000000")),
        silent(responses(part)),
    ),
    "halting": lambda part: (c.FiltCon(PureDP("1/2"), on_exceed="halt"), responses(part)),
    "nested and interleaved": lambda part: (c.FiltCon(PureDP("3/4")), nested(part)),
    "sequential": lambda part: (
        c.FiltSeq(PureDP(1)),
        [
            *(Launch(c.FiltCon(PureDP(part))), Ask(0, laplace(COUNT, "1/20")), LOSS),
            *(Launch(m.SparseVector(6, epsilon=part, cutoff=2)), Ask(1, OLD), Ask(1, COUNT)),
            *responses(part),
        ],
    ),
    "an odometer": lambda part: (c.OdomCon(PureDP), [*nested(part), *responses(part)]),
    "time-uniform": lambda part: (
        c.OdomCon(ZCDP, rule=c.MixtureOdometer("1/1000000", part)),
        [gaussian(COUNT, part), LOSS, *responses(part)],
    ),
    "fixed": lambda part: (
        c.ConComp([m.SparseVector(5, epsilon=part, cutoff=1), c.FiltCon(PureDP(part))]),
        [Ask(0, OLD), Ask(1, laplace(COUNT, "1/20")), Ask(0, COUNT), Ask(1, LOSS), LOSS],
    ),
    "parallel": lambda part: (
        c.Parallel(c.Partition("clinic", ["a", "b"]), dict.fromkeys("ab", c.FiltCon(PureDP(part)))),
        [Ask("a", laplace(COUNT, "1/20")), Ask("b", laplace(OLD, "1/7")), Ask("a", LOSS), LOSS],
    ),
    "ex post": lambda part: (
        c.ExPost(PureDP(1)),
        [
            Launch(m.LaplaceNoiseReduction(COUNT, scales=[40, 20, 8, 4])),
            *(Ask(0, m.Refine()), Ask(0, m.Refine()), laplace(OLD, part), Ask(0, m.Refine(4))),
            *(Launch(FirstGood(part, m.TruncatedNegativeBinomial(0, "1/4"), 3)), LOSS),
            Ask(2, Try(m.Laplace(COUNT, scale=12), "largest", 5)),
            *(Ask(2, LOSS), Ask(0, Latest()), LOSS),
        ],
    ),
    "an account for each record": lambda part: (
        c.Individual("1/4"),
        [gaussian(OLD, "1/8"), gaussian(COUNT, "1/10"), laplace(COST, part), gaussian(OLD, "1/8")],
    ),
    "blocks": lambda part: (
        c.Blocks(c.FiltCon(ZCDP("1/4"))),
        [
            *(Update(MORE, "monday"), CloseBlock("monday"), Update(DATA, "tuesday")),
            LaunchOver(m.Gaussian(COUNT, rho="1/20"), ["monday"]),
            *(CloseBlock("tuesday"), LaunchOver(m.Gaussian(OLD, rho=part), ["monday", "tuesday"])),
            *(LaunchOver(m.Gaussian(OLD, rho="1/8"), ["tuesday"]), LOSS),
        ],
    ),
    "a counter": lambda part: (
        c.FiltCon(PureDP(1)),
        [
            *(Launch(m.TreeCounter(COUNT, epsilon=part, horizon=4, past=1)), Update(MORE)),
            *(Ask(0, m.Total()), Update(DATA), Ask(0, m.Total()), Ask(0, m.Window(last=1)), LOSS),
        ],
    ),
    "choices": lambda part: (
        c.FiltCon(PureDP(2)),
        [
            Launch(m.ExponentialMechanism(CLINICS, part)),
            Launch(m.PermuteAndFlip(CLINICS, part)),
            *(Launch(m.TopK(CLINICS, part, k=2)), LOSS),
            Launch(m.Best(m.Laplace(COUNT, scale=9), "largest", GEOMETRIC)),
        ],
    ),
    "Brownian noise reduction": lambda part: (
        m.BrownianNoiseReduction() @ c.FiltCon(ZCDP("1/2")),
        [
            *(m.Open(COUNT, [36, 9, 4]), gaussian(OLD, "1/40"), Ask("estimate 0", m.Refine())),
            *(Ask("estimate 0", m.Refine()), gaussian(OLD, part), Ask("estimate 0", Latest())),
        ],
    ),
    "keys and measurements": lambda part: (
        c.FiltCon(ApproxDP(3, "1/10")),
        [
            Launch(m.PrivateKeys(m.DiscoveredKeys("clinic"), epsilon=1, delta="1/20")),
            *(laplace(m.GroupBy({"clinic": ["a", "b"]}, COUNT), part), laplace(CLINICS, part)),
            *(Launch(m.Laplace(COUNT, scale="365/7")), Launch(m.Laplace(COUNT, scale="1/3")), LOSS),
        ],
    ),
}  # fmt: skip
"""Kinds of analyses, four of each."""


# What was drawn.

_NAMED: dict[type[Law[Any]], str] = {
    Bernoulli: "bernoulli",
    BernoulliExp: "bernoulli exp",
    TruthfulAnswer: "truthful answer",
    UniformBelow: "uniform below",
    DiscreteLaplace: "discrete laplace",
    DiscreteGaussian: "discrete gaussian",
}
Draws = list[dict[str, Any]]


class NotedCoins(SeededCoins):
    """Seeded coins that note what is drawn from them, and whether bits were taken otherwise."""

    def noting(self, draws: Draws, place: list[list[Any]]) -> "NotedCoins":
        self._draws, self._place, self._within = draws, place, 0
        return self

    def spawn(self, child: int | str, message: int) -> "NotedCoins":
        spawned = NotedCoins.__new__(NotedCoins)
        spawned._start(self._seed, (*self._path, child), message)
        return spawned.noting(self._draws, [*self._place, [child, message]])

    def draw(self, law: Any, size: Any = None) -> Any:
        self._within += 1
        value = super().draw(law) if size is None else super().draw(law, size)
        self._within -= 1
        if self._within == 0:
            self._draws.append({"at": self._place, **noted(law, size, value)})
        return value

    def bits(self, count: int) -> int:
        self._raw()
        return super().bits(count)

    def bytes(self, count: int) -> bytes:
        self._raw()
        return super().bytes(count)

    def _raw(self) -> None:
        if self._within == 0:
            self._draws.append({"at": self._place, "law": None})


def noted(law: Any, size: Any, value: Any) -> dict[str, Any]:
    """A draw of a law that streams.py draws from, or that there was another."""
    if type(law) not in _NAMED:
        return {"law": None}
    given = {field.name: str(getattr(law, field.name)) for field in attrs.fields(type(law))}
    values = value.ravel().tolist() if isinstance(value, np.ndarray) else [value]
    return {"law": _NAMED[type(law)], "given": given, "drawn": values}


# What is written of an analysis.


def plain(value: Any) -> Any:
    """A value as JSON, as the protocol writes it."""
    match value:
        case Update():
            block = {} if value.block is None else {"block": value.block}
            return {"@": "update", "records": plain(value.records), **block}
        case CloseBlock():
            return {"@": "close-block", "block": value.block}
    return json.loads(encode(value))


def read(text: Any) -> Any:
    """The value of what `plain` wrote."""
    match text:
        case {"@": "update", "records": records}:
            return Update(read(records), *([text["block"]] if "block" in text else []))
        case {"@": "close-block", "block": block}:
            return CloseBlock(block)
    return decode(json.dumps(text, sort_keys=True, separators=(",", ":")).encode())


def answered(answer: Any) -> Any:
    """An answer as JSON, without receipts, which are written apart, and without words."""
    return plain(wordless(without_receipts(answer)))


def wordless(answer: Any) -> Any:
    """An answer without the words of refusals, and without what is left, which floats may find."""
    match answer:
        case tuple():
            return tuple(map(wordless, answer))
        case Launched():
            return attrs.evolve(answer, answer=wordless(answer.answer))
        case Refused():
            return Refused("")
        case Halted():
            return Halted("")
    return answer


def receipts(answer: Any, path: list[Any]) -> Iterator[dict[str, Any]]:
    """The receipts of launches in an answer."""
    if isinstance(answer, tuple):
        for each in answer:
            yield from receipts(each, path)
    if isinstance(answer, Launched | Refused | Halted | Failed) and answer.receipt is not None:
        receipt = answer.receipt
        if receipt.charged is not None:
            admitted = not isinstance(answer, Refused | Halted)
            yield {"at": path, "charged": written(receipt.charged), "admitted": admitted}


def filters(mechanism: Any, path: list[Any]) -> Iterator[dict[str, Any]]:
    """The rule and the budget of a filter, or of each that is there from the start."""
    if type(mechanism) in (c.FiltCon, c.FiltSeq):
        yield {"at": path, "rule": described(mechanism.rule), "budget": written(mechanism.budget)}
    children = enumerate(mechanism.mechanisms) if isinstance(mechanism, c.ConComp) else ()
    for child, each in (
        mechanism.mechanisms.items() if isinstance(mechanism, c.Parallel) else children
    ):
        yield from filters(each, [*path, child])


def described(rule: Any) -> dict[str, Any]:
    """A rule as vectors of filters write it."""
    fields: dict[str, Any] = {"rule": type(rule).__name__}
    for name in ("unit", "slack"):
        if (value := getattr(rule, name, None)) is not None:
            fields[name] = str(value)
    for name in ("orders", "weights"):
        if values := getattr(rule, name, None):
            fields[name] = [str(each) for each in values]
    if priced := getattr(rule, "priced", None):
        fields["menu"], fields["costs"] = (list(each) for each in zip(*priced, strict=True))
    return fields


def played(
    mechanism: InteractiveMechanism[Any], data: Any, seed: int, script: list[Any]
) -> dict[str, Any]:
    """What an analysis answers, charges and draws; it ends early if the mechanism halts."""
    draws: Draws = []

    def analyst(view: View) -> Any:
        return script[len(view)] if len(view) < len(script) else None

    coins = NotedCoins(seed).noting(draws, [])
    view = interact(mechanism, data, analyst, coins)
    compositors = list(filters(mechanism, []))
    for exchange in view:
        query, answer = exchange.query, exchange.answer
        if isinstance(query, Launch) and isinstance(answer, Launched) and answer.child is not None:
            compositors += filters(query.mechanism, [*exchange.path, answer.child])
    return {
        "opening": answered(view.opening),
        "steps": [
            {"query": plain(query), **told(exchange)}
            for query, exchange in zip(script, view, strict=False)
        ],
        "filters": compositors,
        "draws": draws,
    }


def told(exchange: Exchange) -> dict[str, Any]:
    """What came of a query: the answer, and the receipts."""
    found = list(receipts(exchange.answer, list(exchange.path)))
    realised = [
        {"child": each.child, "realised": plain(each.realised)} for each in exchange.receipts
    ]
    return {
        "answer": answered(exchange.answer),
        **({"receipts": found} if found else {}),
        **({"realised": realised} if realised else {}),
    }


def vectors() -> Iterator[dict[str, Any]]:
    """The vectors of all analyses."""
    for name, kind in KINDS.items():
        for number, part in enumerate(PARTS, 1):
            with warnings.catch_warnings():  # sparse vectors of few records say little
                warnings.simplefilter("ignore", AccuracyWarning)
                mechanism, script = kind(part)
            seed = 1000 * number + len(script)
            yield {
                "id": f"{name} {number}",
                "mechanism": plain(mechanism),
                "seed": seed,
                **played(mechanism, DATA, seed, script),
            }
