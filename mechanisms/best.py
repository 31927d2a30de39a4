"""Private selection: several runs of mechanisms, of which the best one is answered.

Responsible for the runs and the choice. The number of runs is a law of `mechanisms.repetitions`,
and the formulas of the claim are in `mechanisms.selection`.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from operator import index
from typing import Any

import attrs
import numpy as np

from mechanisms.privacy_maps import with_zcdp
from mechanisms.repetitions import (
    Ending,
    Poisson,
    Repetitions,
    Threshold,
    TruncatedNegativeBinomial,
)
from mechanisms.selection import (
    HELPERS,
    ORDERS,
    Bound,
    bound_of,
    poisson_orders,
    pure_of,
    rho_of,
)
from mechanisms.tables.spans.ranges import ReleasedRanges
from mechanisms.tables.statistics.top import Chosen
from queryable.answers.noisy import NoisyArray, NoisyInt, Uncertain
from queryable.answers.released import Released
from queryable.data.frozen import read_only
from queryable.errors import PrivacyClaimError
from queryable.faults import called, touching_data
from queryable.losses import RDP, Loss, Measure, PureDP, RenyiCurve, RenyiOrder, RenyiOrders
from queryable.losses.numbers import natural
from queryable.mechanism import InteractiveMechanism, Measurement, nested
from queryable.messages import Launched
from queryable.optional import public_name
from queryable.randomness.coins import Coins
from queryable.randomness.laws import UniformBelow
from queryable.view import View
from queryable.wording.quoting import one_of, quoted

_COVERED = (Poisson, Threshold, TruncatedNegativeBinomial)
_MOST_CANDIDATES = 20  # more would take more than 50 ms to bound


@attrs.frozen
class BestRun:
    """The best run.

    Attributes:
        candidate: which mechanism ran, counted from 0. None if nothing ran, as happens with
            `Poisson` repetitions, or if no run reached the threshold of `Threshold`.
        answer: what it answered, as plain numbers: it was chosen by its value, so an interval that
            holds for one run does not hold for it.
    """

    candidate: int | None
    answer: Any


def candidates_of(value: Any) -> tuple[Measurement[Any], ...]:
    """Read candidates: a measurement, or a list of them.

    Raises:
        ValueError: there are none, or too many.
        TypeError: one of them is no measurement, or a `Best`.
    """
    given = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not 1 <= len(given) <= _MOST_CANDIDATES:
        raise ValueError(
            f"candidates has {len(given)} entries; it should have 1 to {_MOST_CANDIDATES}"
        )
    for each in given:
        if not isinstance(each, Measurement):
            raise TypeError(
                f"a candidate is {quoted(each)}; it should be a Measurement, such as "
                "Gaussian(Count(), rho=..), which answers once"
            )
        if isinstance(each, Best):
            raise TypeError("a candidate is a Best; give all candidates to one Best")
    return given


Score = str | Callable[[Any], Any]
Where = int | str | None


def a_score(holder: Any, field: Any, value: Any) -> None:
    """Check that a score is "largest", "smallest" or a function."""
    if isinstance(value, str) or not callable(value) or isinstance(value, type):
        one_of("largest", "smallest")(holder, field, value)


def _repetitions(value: Any) -> Repetitions:
    if not isinstance(value, Repetitions):
        raise TypeError(
            f"repetitions is {quoted(value)}; it should be the law of their number, such as "
            "TruncatedNegativeBinomial(1, '1/20'): 20 runs on average"
        )
    return value


def field_of(value: Any) -> Where:
    """Read where in an answer its number is.

    Raises:
        ValueError: it is no name and no place.
    """
    if value is None or (type(value) is str and value.isidentifier() and value[0] != "_"):
        return value
    if type(value) is int and value >= 0:
        return value
    raise ValueError(
        f"of is {quoted(value)}; it should be the name of a field of the answers, or a place in "
        "them, counted from 0. Give a function of an answer as score"
    )


def require_numbers(base: tuple[Measurement[Any], ...], score: Score, of: Where) -> None:
    """Check that candidates have a number of which the best is chosen, if that is known.

    Raises:
        ValueError: one never answers a number there, `of` is given beside a function, or they are
            nested too deeply.
    """
    if of is not None and not isinstance(score, str):
        raise ValueError(
            f"leave of={quoted(of)} out: score is a function, which is given the whole answer"
        )
    for each in base if isinstance(score, str) else ():
        if each.has_number(of) is False:
            raise ValueError(
                "give a function of an answer as score, or say with of= which number counts: "
                f"{public_name(each)} does not answer one number"
                f"{'' if of is None else f' at {quoted(of)}'}"
            )
    nested(base)


@attrs.frozen
class Best(Measurement[BestRun]):
    """Runs candidates a random number of times, and answers the best run alone, as a `BestRun`.

    Each run takes one of the candidates, all equally likely. The best run is the one whose answer
    has the largest (or smallest) number; of equal ones the first. With `Threshold` repetitions it
    is the first run whose number reaches the threshold. The number of runs is not told. A run that
    fails, or has no finite number, fails the launch.

    Privacy:
        Claim: with truncated negative binomial repetitions of epsilon-DP candidates,
            PureDP((2 + eta) epsilon), and in RDP at every order a: e(a) + (1+eta) (1 - 1/b) e(b) +
            (1+eta) log(1/gamma) / b + log(mean) / (a-1), where e is the largest curve of the
            candidates, and b >= 1 is the order at which that is least. With `Threshold` the same
            at eta = 0 and the mean 1/gamma: PureDP(2 epsilon). With Poisson repetitions:
            log(exp(-mu) + mu exp((a-1) (e(a) + mu d))) / (a-1), where one run is
            (log(a/(a-1)), d)-DP; and PureDP(epsilon + mu tanh(epsilon/2)). A bound at an order
            holds at all smaller ones.
        Theorem: Papernot, Steinke 2022, Theorems 2 and 6; the pure claims are limits at large
            orders. Liu, Talwar 2019, selection with a known threshold. A random candidate whose
            place is told has e as its curve. Equal numbers: the first has the law of the one with
            the least random label. A run that fails fails all, as if it had the best number
            (docs/theory.md, private selection).
        Assumes: the claims of the candidates. That time does not show how often they ran. A
            function sees answers that are not released: it neither keeps nor shows anything.
        Checked by: tests/unit/mechanisms/test_best.py and test_selection.py (exact laws),
            tests/audit/cases.py

    Args:
        base: the candidates: a Measurement, or a list of up to 20. Each is epsilon-DP, or has a
            Renyi curve. `Scripted` makes one of a whole analysis.
        score: "largest" or "smallest", of the number in the answer; or a function from the answer,
            or from the view of an analysis, to a number of which the largest is best.
        repetitions: the law of the number of runs. On average at most 10,000; a draw above its mean
            runs to its end.
        of: where in an answer the number is: the name of a field, or a place in a tuple or array.
            By default the answer is the number itself. Of the view of an analysis it is the last
            answer that is looked at.
    """

    base: tuple[Measurement[Any], ...] = attrs.field(converter=candidates_of)
    score: Score = attrs.field(validator=a_score)
    repetitions: Repetitions = attrs.field(converter=_repetitions)
    of: Where = attrs.field(default=None, converter=field_of, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that a theorem covers the candidates.

        Raises:
            ValueError: a candidate has neither a pure claim nor one in Renyi privacy, they are
                nested too deeply, the repetitions are of another class, `of` is given beside a
                function, or a candidate never answers a number there.
        """
        require_numbers(self.base, self.score, self.of)
        law = type(self.repetitions)
        if law not in _COVERED:  # a subclass could draw other numbers, or state another mean
            raise ValueError(f"no theorem covers repetitions of class {called(law)}")
        try:
            self.loss(1)
        except (PrivacyClaimError, ValueError) as error:
            raise ValueError(
                f"candidates should be epsilon-DP or have a common Renyi curve: {error}"
            ) from None

    @property
    def height(self) -> int:
        """One more than that of the candidates."""
        return nested(self.base)

    @property
    def public_name(self) -> str:
        """What is chosen among."""
        names = dict.fromkeys(map(public_name, self.base))
        score = self.score if isinstance(self.score, str) else "best"
        return f"{score} of several runs: {', '.join(names)}"

    def loss(self, d_in: int) -> Loss:
        """A multiple of epsilon, or a Renyi curve at the orders that all candidates have.

        With Poisson repetitions it is a curve. That of pure candidates may be far below the pure
        bound, which the privacy map states.
        """
        pure = self._pure_bound(d_in)
        if pure is not None and isinstance(self.repetitions, Ending):
            return pure
        return self._own_curve(d_in)

    def _own_curve(self, d_in: int) -> RenyiCurve:
        tried = self._orders(ORDERS)
        known = tuple(order for order in tried if self._curve(d_in, order) is not None)
        if not known:
            raise ValueError(f"they are of {', '.join({str(m.loss(d_in)) for m in self.base})}")
        return RenyiCurve(known, self._at(d_in, known))

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records.

        If the candidates are pure, it is in RDP and zCDP the smaller of two bounds, and in other
        measures the conversion of the pure bound.
        """
        stated = self._stated(max(natural(d_in, "d_in"), 1), measure)
        return stated if d_in else stated.zero()

    def _stated(self, d_in: int, measure: Measure | None) -> Loss:
        match measure:
            case None:
                return self.loss(d_in)
            case RenyiOrders():
                return RenyiCurve(measure.orders, self._at(d_in, measure.orders))
            case RenyiOrder():
                return RDP(measure.alpha, *self._at(d_in, (measure.alpha,)))
        pure = self._pure_bound(d_in)
        if pure is None:
            return self.loss(d_in).to(measure)
        if isinstance(self.repetitions, Ending):
            return pure.to(measure)
        stated = pure.to(measure)
        return with_zcdp(stated, lambda: rho_of(self._own_curve(d_in), pure.epsilon), measure)

    def release(self, dataset: Any, coins: Coins) -> BestRun:
        """The best run; a run that fails fails all."""
        runs = coins.draw(self.repetitions)
        found = best_run(runs, self.base, self._number, dataset, coins, self._goal)
        return BestRun(None, None) if found is None else found[1]

    def _number(self, answer: Any) -> Fraction:
        return number_of(answer, self.score, self.of)

    @property
    def repeats(self) -> Fraction:
        """How often each candidate runs on average; where draws vary much, as often as many do."""
        law = self.repetitions
        mean = max(law.mean, 1 / law.gamma) if isinstance(law, Ending) else law.mean
        return mean / len(self.base)

    @property
    def _goal(self) -> Fraction | None:
        """What ends the runs, if there is such a number."""
        law = self.repetitions
        if not isinstance(law, Threshold):
            return None
        return -law.tau if self.score == "smallest" else law.tau

    def _pure(self, d_in: int) -> Fraction | None:
        """The largest epsilon of the candidates; None if one is not pure."""
        return largest(self.base, d_in, PureDP)

    def _curve(self, d_in: int, order: Fraction) -> Fraction | None:
        """The largest epsilon of the candidates at a Renyi order; None if one has none there."""
        return largest(self.base, d_in, RenyiOrder(order))

    def _pure_bound(self, d_in: int) -> PureDP | None:
        pure = self._pure(d_in)
        return None if pure is None else PureDP(pure_of(self.repetitions, pure))

    def _orders(self, usual: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """The usual orders, or those for Poisson repetitions of candidates that are pure.

        They are those of one record at any `d_in`, so that the losses of several can be compared.
        """
        pure = self._pure(1)
        if pure is None or not isinstance(self.repetitions, Poisson):
            return usual
        return poisson_orders(pure)

    def _at(self, d_in: int, orders: tuple[Fraction, ...]) -> list[Fraction]:
        pure, bound, found = self._pure_bound(d_in), self._bound(d_in), []
        for order in orders:
            own = self._curve(d_in, order)
            if own is None:
                raise ValueError(f"no theorem states all candidates in RDP.at({order})")
            found.append(bound(order, own))
            converted = None if pure is None else pure.to(RenyiOrder(order))
            if isinstance(converted, RDP):
                found[-1] = min(found[-1], converted.epsilon)
        return found

    def _bound(self, d_in: int) -> Bound:
        helping = [(order, self._curve(d_in, order)) for order in self._orders(HELPERS)]
        curve = [(order, epsilon) for order, epsilon in helping if epsilon is not None]
        return bound_of(self.repetitions, self._pure(d_in), curve)


def best_run(
    runs: int,
    candidates: tuple[Measurement[Any], ...],
    number: Callable[[Any], Fraction],
    dataset: Any,
    coins: Coins,
    goal: Fraction | None = None,
) -> tuple[Fraction, BestRun] | None:
    """The best of some runs with its number; None if there is none.

    Args:
        number: how good an answer is, the larger the better.
        goal: a number; then the first run that reaches it is the best, and all others are none.

    Raises:
        MechanismFault: a run failed. Its error may quote what it has answered.
    """
    return touching_data(lambda: _best_run(runs, candidates, number, dataset, coins, goal))


def _best_run(
    runs: int,
    candidates: tuple[Measurement[Any], ...],
    number: Callable[[Any], Fraction],
    dataset: Any,
    coins: Coins,
    goal: Fraction | None,
) -> tuple[Fraction, BestRun] | None:
    best: tuple[Fraction, int, Any] | None = None
    for run in range(runs):
        place = coins.draw(UniformBelow(len(candidates))) if len(candidates) > 1 else 0
        _, answer = candidates[place].init(dataset, coins.spawn(run, 0))
        found = number(answer), place, answer
        if goal is not None:
            if found[0] >= goal:
                best = found
                break
        elif best is None or found[0] > best[0]:
            best = found
    return None if best is None else (best[0], BestRun(best[1], without_interval(best[2])))


def without_interval(answer: Any) -> Any:
    """An answer that was chosen by its value, without what its intervals are computed from."""
    match answer:
        case NoisyInt():
            return int(answer)
        case NoisyArray():
            return read_only(np.array(answer))
        case ReleasedRanges():  # whose further ranges would be computed from the noisy integers
            return Released(answer.estimate, answer.axes, answer.title, evidence=Chosen())
        case Released():
            return attrs.evolve(answer, evidence=Chosen())
        case Uncertain():
            return answer.without_interval()
        case Launched():
            return attrs.evolve(answer, answer=without_interval(answer.answer))
        case View(opening, exchanges):
            held = (attrs.evolve(e, answer=without_interval(e.answer)) for e in exchanges)
            return View(without_interval(opening), tuple(held))
    return tuple(map(without_interval, answer)) if type(answer) is tuple else answer


def number_of(answer: Any, score: Score, of: Where) -> Fraction:
    """How good an answer is: the larger the better."""
    if not isinstance(score, str):
        return _exact(touching_data(lambda: score(answer)))
    number = _exact(_part(answer, of))
    return -number if score == "smallest" else number


def largest(
    candidates: tuple[InteractiveMechanism[Any], ...], d_in: int, measure: Measure
) -> Fraction | None:
    """The largest epsilon of some candidates in a measure; None if one has none there."""
    found = []
    for each in candidates:
        try:
            loss = each.privacy_map(d_in, measure)
        except PrivacyClaimError:
            raise
        except ValueError:
            return None
        if not isinstance(loss, PureDP | RDP):
            return None
        found.append(loss.epsilon)
    return max(found)


def _part(answer: Any, of: Where) -> Any:
    """The part of an answer that says how good it is."""
    while type(answer) is View:  # of an analysis within an analysis
        answer = answer[-1].answer if len(answer) else answer.opening
        answer = answer.answer if type(answer) is Launched else answer
    match of:
        case str() if of in {each.name for each in _fields(answer)}:
            return getattr(answer, of)
        case int() if isinstance(answer, tuple | np.ndarray) and of < len(answer):
            return answer[of]
        case None:
            return answer
    raise TypeError(f"an answer of class {called(type(answer))} has no part {of!r}")


def _fields(answer: Any) -> tuple[Any, ...]:
    kind = type(answer)
    return attrs.fields(kind) if attrs.has(kind) else ()


def _exact(value: Any) -> Fraction:
    """The exact value of a finite number."""
    if isinstance(value, Released):
        value = value.estimate
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if type(value) is Fraction:  # a subclass could compare in an order that is none
        return value
    if isinstance(value, float | np.floating) and isfinite(value):
        return Fraction(float(value))
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return Fraction(int(value) if isinstance(value, bool | np.bool_) else index(value))
    raise TypeError(f"an answer's number is of class {called(type(value))}, or not finite")
