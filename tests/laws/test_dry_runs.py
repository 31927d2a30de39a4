"""Lists of queries are judged before the charge, by a run without data
(`queryable.checks.dry_runs`).

At 1b177ec nothing in a list of `Scripted` was judged: a list that no data answer was charged, and
then failed. Here random lists are judged and then run. What is refused is never answered; what is
not refused does not fail, where no answer decides about what follows.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

import composition as c
import mechanisms as m
from mechanisms.first_good import FirstGood
from mechanisms.multiplicative_weights import SyntheticHistogram
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.refinement.refine_queries import Latest
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    CanAfford,
    InteractiveMechanism,
    Launch,
    Measurement,
    PersonInTheMiddle,
    Postprocessed,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    Refused,
    SeededCoins,
    Statistic,
    interact,
)
from queryable.checks.dry_runs import require_script
from queryable.effort import take, within_effort
from queryable.messages import AskMany, LaunchMany, MeasureQuery, RemainingQuery, is_owners
from tests.laws.subjects import ASKED, COMPOSITORS, DATA, MECHANISMS, Subject
from tests.laws.test_answerable import concrete

ROWS = {"age": np.array([20, 30, 40, 50]), "city": np.array(["a", "b", "a", "c"])}
READ: list[str] = []
"""Where data were read."""


def _seen(dataset: Any) -> int:
    READ.append("value")
    return len(dataset["age"])


def pieces(key: str) -> Any:
    """A partition by a column, of which a read is noted."""

    def part(row: Any) -> Any:
        READ.append("row")
        return row[key]

    return c.Partition(part, ["a", "b"])


COUNT = Statistic(_seen, l1=1, l2=1, monotone="up")
LAPLACE = m.Laplace(COUNT, epsilon="1/20")
DEAR = m.Laplace(COUNT, epsilon="3/5")
NEVER = m.Laplace(COUNT, epsilon=20)
GAUSSIAN = m.Gaussian(m.Count(), rho="1/50")
VECTOR = m.SparseVector(3, "1/20", cutoff=9)
FINER = GaussianNoiseReduction(COUNT, variances=[90, 30], missed="1/9")
REDUCTION = m.LaplaceNoiseReduction(COUNT, scales=[90, 30])
WEIGHTS = m.PrivateMultiplicativeWeights(
    m.Histogram("city", ["a", "b"]), records=4, epsilon="1/10", threshold=1, updates=2
)


def pure(epsilon: Any, **options: Any) -> Any:
    return c.FiltCon(PureDP(epsilon), **options)


CERTAIN: dict[str, InteractiveMechanism[Any]] = {
    "FiltCon": pure("3/5"),
    "FiltCon that halts": pure("3/5", on_exceed="halt"),
    "FiltCon of three": pure(5, max_mechanisms=3),
    "FiltCon, zCDP": c.FiltCon(ZCDP("1/10")),
    "FiltSeq": c.FiltSeq(PureDP("3/5")),
    "Filt": c.Filt(PureDP("3/5")),
    "Individual": c.Individual("1/10"),
    "ConComp": c.ConComp([pure("3/5"), VECTOR, LAPLACE]),
    "Parallel": c.Parallel(pieces("city"), {"a": pure("3/5"), "b": VECTOR}),
    "Universal": c.Universal(PureDP("3/5")),
    "ConComp of Universal": c.ConComp([c.Universal(PureDP("3/5")), c.Universal(ZCDP("1/9"))]),
    "SparseVector": VECTOR,
    "Laplace": LAPLACE,
}
"""Mechanisms about which no answer decides whether a later query is wrong."""

UNCERTAIN: dict[str, InteractiveMechanism[Any]] = {
    "ExPost": c.ExPost(PureDP("3/5")),
    "ExPost of d_in 2": c.ExPost(PureDP("3/5"), d_in=2),
    "ExPost with a pool": c.ExPost(ApproxDP("3/5", "1e-6"), slack="1e-7", lines=2),
    "LaplaceNoiseReduction": REDUCTION,
    "GaussianNoiseReduction": FINER,
    "FirstGood": FirstGood(1, m.TruncatedNegativeBinomial(0, "1/9"), 3),
    "Frugal": m.Frugal() @ c.FiltCon(ZCDP("1/10")),
    "Doubling": m.Doubling(500) @ c.FiltCon(ZCDP("1/10")),
    "Brownian": m.BrownianNoiseReduction() @ c.FiltCon(ZCDP("1/10")),
    "Synthetic": m.Synthetic([{"city": ["a"]}], rounds=1) @ c.FiltCon(ZCDP("1/10")),
    "weights": WEIGHTS @ pure("3/5"),
    "weights beyond the budget": WEIGHTS @ pure("1/50"),
    "weights of ExPost": WEIGHTS @ c.ExPost(PureDP("3/5")),
    "Doubling of Frugal": m.Doubling(500) @ (m.Frugal() @ c.FiltCon(ZCDP("1/10"))),
}
LEAVES = (LAPLACE, DEAR, NEVER, GAUSSIAN, VECTOR, m.Count(), 7)
NESTED = ("FiltCon", "FiltSeq", "ConComp", "Parallel", "Universal")
STEPS = (m.Refine(), m.Refine(30), m.Refine(1), Latest(), m.Until(m.AbsoluteError(9)))
JUNK = (7, "x", m.Count, [m.Count()], Launch(7), AskMany([]), LaunchMany([]), CanAfford(7))
OWN = (
    *(m.Estimate(m.Count(), 900), m.Estimate(m.Count(), -1), m.Fit("1/50", 1), m.Fit("x")),
    *(m.FromModel(m.Count()), m.SampleRows(2), m.SampleRows(-2), m.Measurements()),
    *(m.LinearQuery([1, 0]), m.LinearQuery([1, 0, 0]), SyntheticHistogram()),
    *(m.Open(m.Count(), (900, 30)), m.Open(m.Count()), *STEPS),
)


@attrs.frozen
class Writer:
    """Writes lists of queries: right ones, wrong ones, and some that are right in some places."""

    random: Random
    certain: bool

    def launch(self) -> Launch:
        random = self.random
        kinds = [CERTAIN[name] for name in NESTED]
        kinds += [] if self.certain else [REDUCTION, *UNCERTAIN.values()]
        chosen = random.choice(LEAVES) if random.random() < 0.6 else random.choice(kinds)
        return Launch(chosen, random.choice([None] * 9 + [PureDP("1/9"), ZCDP("1/9")]))

    def query(self, depth: int = 0) -> Any:
        random, share = self.random, self.random.random()
        if share < 0.35:
            return self.launch()
        if share < 0.65 and depth < 3:
            child = random.choice([0, 0, 0, 1, 1, 2, 3, "a", "b", "estimate 0", True])
            return Ask(child, self.query(depth + 1))
        if share < 0.8:
            return random.choice([m.Count(), COUNT, AskMany([COUNT, m.Count()]), *self.own])
        if share < 0.85:
            return LaunchMany([self.launch() for _ in range(random.choice([1, 2, 3]))])
        more = (
            PrivacyLossQuery(),
            PrivacyLossQuery("x"),
            MeasureQuery(),
            RemainingQuery(),
            CanAfford(self.launch()),
        )
        return random.choice(more if share < 0.95 else JUNK)

    @property
    def own(self) -> Sequence[Any]:
        return STEPS if self.certain else OWN

    def list(self) -> list[Any]:
        """Mostly starts with what may be asked later."""
        first = [self.launch() for _ in range(self.random.choice([0, 1, 1, 2, 3]))]
        return [*first, *(self.query() for _ in range(self.random.choice([0, 1, 2, 3])))]


def refusal(mechanism: InteractiveMechanism[Any], queries: Sequence[Any]) -> str | None:
    """Why a list is refused; None if it is not. Nothing is read."""
    READ.clear()
    try:
        require_script(mechanism, queries, ROWS)
    except QueryError as error:
        return str(error)
    finally:
        assert not READ
    return None


def is_answered(mechanism: InteractiveMechanism[Any], queries: Sequence[Any], seed: int) -> bool:
    """Whether it starts, and no query is wrong."""

    def ask(view: Any) -> Any:
        return queries[len(view)] if len(view) < len(queries) else None

    try:
        return not isinstance(interact(mechanism, ROWS, ask, SeededCoins(seed)).opening, Refused)
    except QueryError:
        return False


def compared(name: str, rounds: int, *, certain: bool) -> tuple[int, int, int]:
    """How many lists were refused, and answered, and neither."""
    mechanism = (CERTAIN if certain else UNCERTAIN)[name]
    writer, counts = Writer(Random(f"{name} {rounds}"), certain), [0, 0, 0]
    for _ in range(rounds):
        queries = writer.list()
        why, answered = refusal(mechanism, queries), [is_answered(mechanism, queries, 1)]
        if why is not None:
            answered += [is_answered(mechanism, queries, seed) for seed in (2, 3)]
            assert not any(answered), (why, queries)
        elif certain:
            assert answered == [True], queries
        counts[0 if why else 1 if answered[0] else 2] += 1
    return counts[0], counts[1], counts[2]


@pytest.mark.parametrize("name", CERTAIN)
def test_exactly_what_is_never_answered_is_refused(name: str) -> None:
    refused, answered, _ = compared(name, 60, certain=True)
    assert min(refused, answered) > 1


@pytest.mark.parametrize("name", UNCERTAIN)
def test_nothing_is_refused_that_may_be_answered(name: str) -> None:
    refused, _, neither = compared(name, 40, certain=False)
    assert refused > 5
    assert neither < refused


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CERTAIN, *UNCERTAIN])
def test_thousands_of_lists(name: str) -> None:
    compared(name, 1500, certain=name in CERTAIN)


@pytest.mark.parametrize("subject", ASKED, ids=str)
def test_legal_queries_are_not_refused(subject: Subject) -> None:
    """Those up to the first that the mechanism itself says is wrong."""
    script = subject.script[:9] if "Seq" in subject.name else subject.script  # then retired
    require_script(subject.mechanism, script, DATA)


def parts(mechanism: Any) -> list[Any]:
    """The persons over a mechanism, and the mechanism itself."""
    if isinstance(mechanism, Postprocessed):
        return [mechanism.person, *parts(mechanism.mechanism)]
    return [mechanism]


def ours(kind: type) -> bool:
    """Whether a class is of the packages, and not of the tests."""
    return kind.__module__.partition(".")[0] in ("mechanisms", "composition")


MORE = (
    Subject("Universal", CERTAIN["Universal"], (Launch(VECTOR),)),
    Subject("Parallel", CERTAIN["Parallel"], (Ask("a", Launch(LAPLACE)),)),
    Subject("weights", UNCERTAIN["weights"], (m.LinearQuery([1, 0]),)),
)
EVERY = [
    each
    for each in (*COMPOSITORS, *MECHANISMS, *MORE)
    if all(ours(type(part)) for part in parts(each.mechanism)) and "Blocks" not in each.name
]
"""One of each class; there is no list of what is asked about blocks, which arrive in between."""


@pytest.mark.parametrize("subject", EVERY, ids=str)
def test_no_class_of_ours_takes_junk(subject: Subject) -> None:
    """First, or after a legal query: every mechanism and person says what it answers."""
    for before in (), tuple(each for each in subject.script[:1] if not is_owners(each)):
        for junk in (object(), "junk", 7, m.Count):
            with pytest.raises(QueryError, match=f"never answered: entry {len(before)}"):
                require_script(subject.mechanism, (*before, junk), ROWS)


def test_every_class_is_tried() -> None:
    """Each that answers queries; those of blocks are not in lists."""
    kinds = {*concrete(InteractiveMechanism), *concrete(PersonInTheMiddle)}
    asked = {each for each in kinds if not issubclass(each, Measurement) and ours(each)}
    tried = {type(part) for each in EVERY for part in parts(each.mechanism)}
    assert {each.__name__ for each in asked - tried} <= {
        *("AtMostADay", "Blocks", "EarlierSparseVector", "EarlierWeights")
    }


CHILDREN: dict[str, Callable[[Any], Any]] = {
    "itself": lambda scripted: scripted,
    "of Best": lambda scripted: m.Best(scripted, lambda view: 0, m.Poisson(1)),
    "of ConComp": lambda scripted: c.ConComp([LAPLACE, scripted]),
    "of a list": lambda scripted: m.Scripted(pure(2), [Launch(LAPLACE), Launch(scripted)]),
    "below a person": lambda scripted: m.Frugal() @ c.ConComp([scripted]),
    "of Parallel": lambda scripted: c.Parallel(c.Partition("city", ["a"]), {"a": scripted}),
}


@pytest.mark.parametrize("child", CHILDREN)
def test_it_is_refused_wherever_it_is_held(child: str) -> None:
    """In every compositor, and as a root."""
    scripted = m.Scripted(pure(1), [Launch(LAPLACE), Ask(0, COUNT)])
    for root in (pure(9), c.FiltSeq(PureDP(9)), c.ExPost(PureDP(9)), c.Universal(PureDP(9))):
        handle = Queryable(root, dict(ROWS))
        for _ in range(2):
            with pytest.raises(QueryError, match="never answered: entry 1"):
                handle.launch(CHILDREN[child](scripted))
        assert not len(handle.view)
        handle.launch(LAPLACE)
    with pytest.raises(QueryError, match="never answered: entry 1"):
        Queryable(CHILDREN[child](scripted), dict(ROWS))


def test_what_follows_an_answer_is_not_judged() -> None:
    """The second step is wrong if the first one went to the end of the schedule."""
    ask = [Launch(REDUCTION), Ask(0, m.Until(m.AbsoluteError(9))), Ask(0, m.Refine(30))]
    assert refusal(UNCERTAIN["ExPost"], ask) is None
    assert "entry 1" in str(refusal(UNCERTAIN["ExPost"], [ask[0], Ask(0, COUNT)]))
    assert "entry 2" in str(refusal(UNCERTAIN["ExPost"], [*ask[:2], Ask(0, COUNT)]))


class Slow(m.Frugal):
    """A person who computes for long once it has an answer."""

    def step(self, state: Any, message: Any, coins: Any) -> Any:
        if not take(20_000 if state.ledgers else 10_000):
            raise QueryError("this takes too long")
        return super().step(state, message, coins)


@pytest.mark.parametrize("count", [1, 10, 20, 25, 60, 200])
def test_a_list_that_takes_too_long_is_refused_before_the_charge(count: int) -> None:
    """For a curator's analysts, whose messages have few steps.

    A run without data used up the steps of the message, and ignored that they were used up: the
    list was charged, ran, and failed at its first question.
    """
    asked = [m.Estimate(m.Count(), 100 + each) for each in range(count)]
    root = Queryable(c.FiltCon(ZCDP(1)), ROWS)
    with within_effort():
        try:
            answer = root(Launch(m.Scripted(Slow() @ c.FiltCon(ZCDP(1)), asked)))
        except QueryError:
            assert count > 20
            assert root.privacy_loss() == ZCDP(0)
        else:
            assert count <= 20
            assert len(answer.exchanges) > 0
