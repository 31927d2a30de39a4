"""What an analyst sends to a root over two neighbours, and which outcomes she sees.

`faults_of` sends the same messages to the same root over the centre of a star and over a neighbour,
with equal coins, as the curator does: within its limits for messages. A message is answered,
refused, wrong, or has failed. Neighbours have to have the same outcomes as long as the answers have
been equal, and nothing of ours fails.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

import attrs

import composition as c
import mechanisms as m
import queryable as q
from curator.codec import encode
from mechanisms import column
from mechanisms.first_good import FirstGood, Try
from mechanisms.multiplicative_weights import SyntheticHistogram
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.refinement.reducing import NoiseReduction
from mechanisms.refinement.refine_queries import Latest
from queryable.checks.held import held
from queryable.effort import within_effort
from queryable.errors import (
    CodecError,
    InteractiveError,
    QueryError,
    RetiredChildError,
    UnknownChildError,
)
from queryable.losses import Loss
from queryable.messages import (
    AskMany,
    Failed,
    Halted,
    Launched,
    LaunchMany,
    MeasureQuery,
    Refused,
    RemainingQuery,
    without_receipts,
)
from queryable.statistics import IntegerStatistic
from queryable.streams.blocks import BlockLossQuery, BlocksQuery
from queryable.view import View
from tests.guard.findings import Fault, short
from tests.guard.rows import Row
from tests.guard.rows import plain as ordinary
from tests.guard.worlds import IN_MEMORY, Star, centre, in_memory, neighbour, places

PLENTY = 10**12
"""The first coordinate of the roots' budgets."""

MESSAGES = (q.Launch, LaunchMany, q.LaunchOver, q.CanAfford, q.Ask, AskMany)
MESSAGES += (q.PrivacyLossQuery, RemainingQuery, MeasureQuery, BlocksQuery, BlockLossQuery)
MESSAGES += (m.Refine, m.Until, Latest, m.Total, m.Window, m.Open, m.Estimate, m.Fit)
MESSAGES += (m.FromModel, m.SampleRows, m.Measurements, m.LinearQuery, SyntheticHistogram)
"""What mechanisms and persons answer."""

WITNESS = c.FiltCon(q.PureDP("1/1000"))
"""A child that has to go on answering, whatever is launched beside it."""

ANSWERED, REFUSED, WRONG, FAILED, RAISED = "answered", "refused", "wrong", "failed", "raised"


@cache
def roots() -> dict[str, q.InteractiveMechanism[Any]]:
    """Roots that admit nearly everything, by name."""
    return {
        "zCDP": c.FiltCon(q.ZCDP(PLENTY)),
        "pure": c.FiltCon(q.PureDP(PLENTY)),
        "approximate": c.FiltCon(q.ApproxDP(PLENTY, "999/1000"), rule=c.Basic()),
        "approximate zCDP": c.FiltCon(q.ApproxZCDP(PLENTY, "999/1000")),
        "dominated": c.FiltCon(q.ApproxDP(PLENTY, "999/1000"), rule=c.GDPResidue("1/1000")),
        "ex post": c.ExPost(q.PureDP(PLENTY)),
        "individual": c.Individual(PLENTY),
        "odometer": c.OdomCon(q.ZCDP),
        "pure odometer": c.OdomCon(q.PureDP),
        "sequential": c.FiltSeq(q.ZCDP(PLENTY)),
        "rdp": c.FiltCon(q.RDP(8, PLENTY)),
        "blocks": c.Blocks(c.FiltCon(q.ZCDP(PLENTY))),
    }


@attrs.frozen
class Said:
    """One message and its outcome.

    Attributes:
        outcome: one of the constants above.
        answer: the answer, for comparison; the class of an error.
        loss: what the root states after it.
    """

    outcome: str
    answer: Any
    loss: Any = None


class Talk:
    """A root over some data, and what was said."""

    def __init__(self, root: Any, data: Any, seed: int) -> None:
        self.handle = q.Queryable(root, data, coins=q.SeededCoins(seed), allow_seeded=True)
        self.said: list[Said] = []
        self.raised: BaseException | None = None

    def tell(self, path: tuple[Any, ...], message: Any) -> Said:
        """Send a message of an analyst."""
        outcome, answer = self._told(path, message)
        said = Said(outcome, answer, self._loss())
        self.said.append(said)
        return said

    def _told(self, path: tuple[Any, ...], message: Any) -> tuple[str, Any]:
        try:
            with within_effort():
                answer = self.handle._root.tell(path, message)
        except QueryError as error:
            return WRONG, type(error).__name__
        except Exception as error:
            self.raised = error
            return RAISED, type(error).__name__
        return outcome_of(answer), answer

    def _loss(self) -> Any:
        try:
            return self.handle._root.tell((), q.PrivacyLossQuery())
        except QueryError:
            return None

    def feed(self, records: Any, block: Any) -> None:
        """A batch of the owner."""
        try:
            self.handle.feed(records, block=block)
            outcome, answer = ANSWERED, None
        except QueryError as error:
            outcome, answer = WRONG, type(error).__name__
        self.said.append(Said(outcome, answer, self._loss()))


def outcome_of(answer: Any) -> str:
    """Failed if a part of the answer says so; else refused, if all of it is."""
    if isinstance(answer, Failed):
        return FAILED
    if isinstance(answer, Refused | Halted):
        return REFUSED
    if isinstance(answer, View):
        return max((outcome_of(each.answer) for each in answer.exchanges), default=ANSWERED)
    if isinstance(answer, Launched):
        inner = outcome_of(answer.answer)
        return inner if inner == FAILED else ANSWERED
    if type(answer) is tuple and answer:
        outcomes = set(map(outcome_of, answer))
        return FAILED if FAILED in outcomes else ANSWERED
    return ANSWERED


AGE = column("age")
_COUNTS = (m.Count(AGE >= 30), m.Count(column("city") == "a"))
_LAUNCH = q.Launch(m.Gaussian(m.Count(AGE >= 30), variance=10**6))
_PURE = q.Launch(m.Laplace(m.Count(AGE >= 30), scale=10**6))
_REDUCED = (m.Refine(), m.Until(m.AbsoluteError(3)), Latest(), m.Refine())
_TRIES = tuple(Try(m.Laplace(each, epsilon=1), "largest", 2) for each in _COUNTS)
_LAUNCHES = (_LAUNCH, _PURE, LaunchMany([_LAUNCH, _PURE]), q.CanAfford(_LAUNCH), MeasureQuery())
_LAUNCHES += (RemainingQuery(), RemainingQuery([1]))
_COUNTED = (m.Total(), m.Window(1), m.Total(at=1))
QUESTIONS: dict[type, tuple[Any, ...]] = {
    m.SparseVector: (*_COUNTS, AskMany(_COUNTS)),
    m.LaplaceNoiseReduction: _REDUCED,
    GaussianNoiseReduction: _REDUCED,
    FirstGood: _TRIES,
    m.TreeCounter: _COUNTED,
    m.ToeplitzCounter: _COUNTED,
    m.BrownianNoiseReduction: (m.Open(_COUNTS[0], (900, 100, 9)), q.Ask("estimate 0", m.Refine())),
    m.Doubling: (m.Open(_COUNTS[0]), q.Ask("estimate 0", m.Refine())),
    m.Frugal: tuple(m.Estimate(each, 50) for each in _COUNTS),
    m.Synthetic: (m.Fit("1/10", 1), m.FromModel(_COUNTS[1]), m.SampleRows(3), m.Measurements()),
    m.PrivateMultiplicativeWeights: (
        m.LinearQuery([1, 0.5, 0]),
        m.LinearQuery.where(column("city") == "a"),
        SyntheticHistogram(),
    ),
    c.Parallel: (q.Ask("a", _LAUNCH), q.Ask("a", _PURE), q.Ask("other", _PURE)),
    c.ConComp: (q.Ask(0, _LAUNCH), q.Ask(1, _LAUNCH), q.Ask(1, _PURE)),
}
"""What an interactive mechanism is asked; others get `_LAUNCHES`."""

HOSTS: tuple[Any, ...] = (
    m.SparseVector(3, epsilon=1, sensitivity=100, cutoff=100),
    m.SparseVector(3, epsilon=1, sensitivity=100, monotone=False),
    m.LaplaceNoiseReduction(m.Count(), scales=[9, 3, 1]),
    FirstGood(1, m.TruncatedNegativeBinomial(1, "1/3"), 3),
    m.TreeCounter(m.Count(), rho="1/10"),
    m.ToeplitzCounter(m.Histogram("city", ["a", "b"]), rho="1/10", horizon=9),
    m.BrownianNoiseReduction() @ c.FiltCon(q.ZCDP(PLENTY)),
    m.Doubling(100) @ c.FiltCon(q.ZCDP(PLENTY)),
    m.Frugal() @ c.FiltCon(q.ZCDP(PLENTY)),
    m.Frugal(axes={"city": ["a", "b"]}) @ c.FiltCon(q.ZCDP(PLENTY)),
    m.Synthetic([m.Keys("city", ["a", "b"])], rounds=1) @ c.FiltCon(q.ZCDP(PLENTY)),
    m.PrivateMultiplicativeWeights(
        m.Histogram("city", ["a", "b", "c"]), records=8, epsilon=1, threshold=3, updates=2
    )
    @ c.FiltCon(q.PureDP(PLENTY)),
    c.FiltCon(q.ZCDP(PLENTY)),
    c.OdomCon(q.ZCDP),
    c.ExPost(q.PureDP(PLENTY)),
    c.Individual(PLENTY),
    c.Blocks(c.FiltCon(q.ZCDP(PLENTY))),
    c.ConComp([m.Gaussian(m.Count(), scale=3), c.FiltCon(q.ZCDP(PLENTY))]),
)
"""Interactive mechanisms that are sent whatever the codec reads."""


def questions_of(mechanism: Any) -> tuple[Any, ...]:
    """What a mechanism is asked after its launch."""
    kind = mechanism.person if isinstance(mechanism, q.Postprocessed) else mechanism
    return QUESTIONS.get(type(kind), _LAUNCHES)


def wrapped(value: Any) -> tuple[Any, ...]:
    """Messages that may hold a value that is no message itself."""
    if isinstance(value, IntegerStatistic):
        return (
            value,
            m.Estimate(value, 50),
            m.Open(value, (10**6, 900)),
            m.FromModel(value),
            AskMany([m.Count(), value]),
        )
    if isinstance(value, q.InteractiveMechanism):
        launch = q.Launch(value)
        return (
            LaunchMany([_LAUNCH, launch]),
            q.LaunchOver(value, q.Last(1)),
            q.CanAfford(launch),
            q.Launch(m.Scripted(c.FiltCon(q.ZCDP(PLENTY)), [launch])),
            q.Ask(1, launch),
        )
    if isinstance(value, Loss):
        return (value, m.Fit(value), q.Launch(c.OdomCon(q.ZCDP), d_out=value))
    return (value, q.Ask(0, value), q.CanAfford(value), q.Ask("estimate 0", value))


def root_for(mechanism: Any, names: Sequence[str], random: Random) -> list[str]:
    """Names of roots whose measure may fit a mechanism, in the order in which they are tried."""
    try:
        own = type(mechanism.privacy_map(1)).__name__
    except Exception:
        own = ""
    first = {"PureDP": "pure", "ApproxDP": "approximate", "ApproxZCDP": "approximate zCDP"}
    named = [first[own]] if own in first else []
    return [random.choice(names), *named, "zCDP", "odometer"]


@attrs.frozen
class Launching:
    """A launch beside a witness, and what is asked afterwards."""

    launch: Any
    after: tuple[Any, ...]

    def run(self, talk: Talk, fed: list[tuple[Any, Any]]) -> None:
        """Say all of it."""
        talk.tell((), q.Launch(WITNESS))
        there = talk.said[-1].outcome == ANSWERED
        said = talk.tell((), self.launch)
        child = said.answer.child if isinstance(said.answer, Launched) else None
        if said.outcome == ANSWERED:
            for records, block in fed:
                talk.feed(records, block)
            for query in self.after if child is not None else ():
                talk.tell((child,), query)
        if there:
            talk.tell((0,), MeasureQuery())


def batch(star: Star, form: str, random: Random) -> Any:
    """Rows that arrive, in the form of the data."""
    rows: list[Row] = [ordinary(n, random.randrange(5)) for n in range(random.choice([0, 1, 4]))]
    return in_memory(form, rows)


def faults_of(
    launch: Any, after: tuple[Any, ...], form: str, star: Star, random: Random
) -> Iterator[Fault | int]:
    """Yield what is wrong about a launch and about what is asked after it; then how much was said.

    Roots are tried until one takes the launch.
    """
    seed, named = random.randrange(2**32), roots()
    mechanism = getattr(launch, "mechanism", None)
    fed = []
    if form in IN_MEMORY and random.random() < 0.5:
        fed = [(batch(star, form, random), f"block {n}") for n in range(2)]
    said = 0
    for name in dict.fromkeys(root_for(mechanism, list(named), random)):
        where = f"{form}, {star.name}, {name}"
        script = Launching(launch, after)
        place = places(form, star, 1, random)[0]
        try:
            one = Talk(named[name], centre(form, star), seed)
        except QueryError:  # the root is not for such data, as `Blocks` of rows for units
            continue
        other = Talk(named[name], neighbour(form, star, place), seed)
        script.run(one, fed)
        script.run(other, fed)
        said += len(one.said)
        excused = has_wrong_script((launch, *after), centre(form, star))
        yield from _alone(one, where, name, excused=excused)
        yield from _alone(other, where, name, excused=excused)
        yield from _compared(one, other, f"{where}, {short(star.neighbours[place].what)}")
        if one.said[1].outcome == ANSWERED:
            break
    yield said


DECIDING = (q.Postprocessed, c.ExPost, FirstGood, NoiseReduction, m.SparseVector)
"""Mechanisms whose answers decide whether a later query is wrong."""


def has_wrong_script(sent: Any, data: Any) -> bool:
    """Whether a script asks its mechanism what is wrong there; it fails then, as it says.

    Only an answer may decide that: all else is refused before the charge.
    """
    return any(_is_wrong(each, data) for each in _scripts(sent))


def _scripts(value: Any) -> Iterator[Any]:
    """The scripts in a value, in the fields of attrs classes and in lists."""
    if isinstance(value, m.Scripted):
        yield value
    if isinstance(value, tuple | list):
        inside: Any = value
    elif attrs.has(type(value)):
        inside = [getattr(value, field.name) for field in attrs.fields(type(value))]
    else:
        inside = ()
    for each in inside:
        yield from _scripts(each)


def _is_wrong(script: Any, data: Any) -> bool:
    if not any(isinstance(each, DECIDING) for each in held(script)):
        return False
    try:
        talk = Talk(script.mechanism, data, 0)
    except InteractiveError:  # it would have been refused
        return False
    return any(talk.tell((), each).outcome == WRONG for each in script.analyst)


def _alone(talk: Talk, where: str, name: str, *, excused: bool) -> Iterator[Fault]:
    if talk.raised is not None:
        error = talk.raised
        yield Fault("raises", f"{type(error).__name__}: {short(str(error))}", where)
    before = None
    for place, each in enumerate(talk.said):
        if each.outcome == FAILED:
            if not excused:
                yield Fault("charged and then failed", f"message {place}", where)
            break
        silent = each.outcome in (WRONG, REFUSED)
        if silent and before is not None and each.loss != before:
            yield Fault("charged for nothing", f"{short(before)} to {short(each.loss)}", where)
        before = each.loss
    last = talk.said[-1]
    gone = last.answer in (UnknownChildError.__name__, RetiredChildError.__name__)
    if name != "sequential" and gone and talk.said[0].outcome == ANSWERED:
        yield Fault("retires other children", short(last.answer), where)


def _compared(one: Talk, other: Talk, where: str) -> Iterator[Fault]:
    for place, (mine, theirs) in enumerate(zip(one.said, other.said, strict=False)):
        if mine.outcome != theirs.outcome and {FAILED, RAISED} & {mine.outcome, theirs.outcome}:
            yield Fault(
                "fails for some data", f"{mine.outcome}, {theirs.outcome} at {place}", where
            )
            return
        if mine.outcome != theirs.outcome:
            told = f"{mine.outcome} or {theirs.outcome} at {place}"
            yield Fault("another outcome", f"{told}: {short(mine.answer)}", where)
            return
        if not _alike(mine.answer, theirs.answer):
            return


def _alike(one: Any, other: Any) -> bool:
    """Whether two answers have the same text; one that has none is like no other."""
    try:
        return encode(without_receipts(one)) == encode(without_receipts(other))
    except CodecError:
        return False


__all__ = ["HOSTS", "faults_of", "questions_of", "wrapped"]
