"""Private selection: several runs of mechanisms, of which the best one is answered.

Responsible for the claim and for the choice. The number of runs is a law of
`mechanisms.sampling.repetitions`.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from operator import index
from typing import Any

import attrs
import numpy as np
from flint import arb

from mechanisms.sampling.repetitions import Repetitions, TruncatedNegativeBinomial
from queryable.errors import MechanismFault, PrivacyClaimError
from queryable.losses import RDP, Loss, Measure, PureDP, RenyiCurve, RenyiOrder, RenyiOrders
from queryable.losses.conversions import log_up
from queryable.losses.numbers import round_up
from queryable.mechanism import InteractiveMechanism, Measurement, nested
from queryable.optional import public_name
from queryable.quoting import an_instance, one_of, quoted
from queryable.randomness.coins import Coins
from queryable.randomness.laws import UniformBelow

ORDERS = tuple(map(Fraction, (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)))
"""The Renyi orders of the claim where the candidates are not pure."""

_HELPERS = {1 + Fraction(round(16 * 2 ** (step / 4)), 64) for step in range(57)} | {*ORDERS}
"""Orders that are tried for the second order of the theorem: 5/4 to 4097."""

_MOST_CANDIDATES = 20  # more would take more than 50 ms to bound


_Curve = list[tuple[Fraction, Fraction]]


@attrs.frozen
class BestRun:
    """The best run.

    Attributes:
        candidate: which mechanism ran, counted from 0. None if nothing ran, as happens with
            `Poisson` repetitions.
        answer: what it answered.
    """

    candidate: int | None
    answer: Any


def _candidates(value: Any) -> tuple[Measurement[Any], ...]:
    given = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not 1 <= len(given) <= _MOST_CANDIDATES:
        raise ValueError(
            f"there are {len(given)} candidates; it should be 1 to {_MOST_CANDIDATES} of them"
        )
    for each in given:
        if not isinstance(each, Measurement):
            raise TypeError(
                f"a candidate is {quoted(each)}; it should be a Measurement, which answers once"
            )
        if isinstance(each, Best):
            raise TypeError("a candidate is a Best; give all candidates to one Best")
    return given


def _field(value: Any) -> int | str | None:
    if value is None or (type(value) is str and value.isidentifier() and value[0] != "_"):
        return value
    if type(value) is int and value >= 0:
        return value
    raise ValueError(
        f"of is {quoted(value)}; it should be the name of a field of the answers, or a place in "
        "them, counted from 0"
    )


@attrs.frozen
class Best(Measurement[BestRun]):
    """Runs candidates a random number of times, and answers the best run alone, as a `BestRun`.

    Each run takes one of the candidates, all equally likely. The best run is the one whose answer
    has the largest (or smallest) number; of equal ones the first. The number of runs is not told.

    Privacy:
        Claim: with truncated negative binomial repetitions of epsilon-DP candidates,
            PureDP((2 + eta) epsilon), and in RDP at every order a: e(a) + (1+eta) (1 - 1/b) e(b) +
            (1+eta) log(1/gamma) / b + log(mean) / (a-1), where e is the largest curve of the
            candidates, and b >= 1 is the order at which that is least. With Poisson repetitions:
            log(exp(-mu) + mu exp((a-1) (e(a) + mu d))) / (a-1), where one run is
            (log(a/(a-1)), d)-DP.
        Theorem: Papernot, Steinke 2022, Theorems 2 and 6; the pure claim is a limit at large
            orders. A random candidate whose place is told has e as its curve. Equal numbers: the
            first has the law of the one with the least random label. A run that fails fails all,
            as if it had the best number (docs/theory.md, private selection).
        Assumes: the claims of the candidates. That time does not show how often they ran.
        Checked by: tests/unit/mechanisms/test_best.py (exact laws)

    Args:
        candidates: a Measurement, or a list of up to 20. Each is epsilon-DP, or has a Renyi curve.
        score: "largest" or "smallest".
        repetitions: the law of the number of runs. On average at most 10,000; a draw above its mean
            runs to its end.
        of: where in an answer the number is: the name of a field, or a place in a tuple or array.
            By default the answer is the number itself.
    """

    candidates: tuple[Measurement[Any], ...] = attrs.field(converter=_candidates)
    score: str = attrs.field(validator=one_of("largest", "smallest"))
    repetitions: Repetitions = attrs.field(validator=an_instance(Repetitions))
    of: int | str | None = attrs.field(default=None, converter=_field, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that a theorem covers the candidates.

        Raises:
            ValueError: a candidate has neither a pure claim nor one in Renyi privacy, or they are
                nested too deeply.
        """
        nested(self.candidates)
        try:
            self.loss(1)
        except (PrivacyClaimError, ValueError) as error:
            raise ValueError(
                f"candidates should be epsilon-DP or have a common Renyi curve: {error}"
            ) from None

    @property
    def height(self) -> int:
        """One more than that of the candidates."""
        return nested(self.candidates)

    @property
    def public_name(self) -> str:
        """What is chosen among."""
        names = dict.fromkeys(map(public_name, self.candidates))
        return f"{self.score} of several runs: {', '.join(names)}"

    def loss(self, d_in: int) -> Loss:
        """(2 + eta) epsilon, or a Renyi curve at the orders that all candidates have."""
        pure = self._pure(d_in)
        if pure is not None and isinstance(self.repetitions, TruncatedNegativeBinomial):
            return PureDP((2 + self.repetitions.eta) * pure)
        points = [(order, self._curve(d_in, order)) for order in ORDERS]
        known = [(order, epsilon) for order, epsilon in points if epsilon is not None]
        if not known:
            raise ValueError(
                f"they are of {', '.join({str(m.loss(d_in)) for m in self.candidates})}"
            )
        bound = self._bound(d_in)
        return RenyiCurve([order for order, _ in known], [bound(*point) for point in known])

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records; in RDP the smaller of two bounds, if the loss is pure."""
        if not isinstance(measure, RenyiOrder | RenyiOrders) or not d_in:
            return super().privacy_map(d_in, measure)
        super().privacy_map(d_in)  # checks d_in
        if isinstance(measure, RenyiOrders):
            return RenyiCurve(measure.orders, self._at(d_in, measure.orders))
        return RDP(measure.alpha, *self._at(d_in, (measure.alpha,)))

    def release(self, dataset: Any, coins: Coins) -> BestRun:
        """The best run; a run that fails fails all."""
        best: tuple[Any, BestRun] | None = None
        for run in range(coins.draw(self.repetitions)):
            place = coins.draw(UniformBelow(len(self.candidates))) if self._several else 0
            _, answer = self.candidates[place].init(dataset, coins.spawn(run, 0))
            number = self._number(answer)
            if best is None or number > best[0]:
                best = number, BestRun(place, answer)
        return BestRun(None, None) if best is None else best[1]

    @property
    def _several(self) -> bool:
        return len(self.candidates) > 1

    def _number(self, answer: Any) -> Fraction:
        """The number of an answer, negated if the smallest is best."""
        match self.of:
            case str() as name if name in {each.name for each in _fields(answer)}:
                answer = getattr(answer, name)
            case int() as place if isinstance(answer, tuple | np.ndarray) and place < len(answer):
                answer = answer[place]
            case None:
                pass
            case _:
                raise MechanismFault
        number = _exact(answer)
        return number if self.score == "largest" else -number

    def _pure(self, d_in: int) -> Fraction | None:
        """The largest epsilon of the candidates; None if one is not pure."""
        return _largest(self.candidates, d_in, PureDP)

    def _curve(self, d_in: int, order: Fraction) -> Fraction | None:
        """The largest epsilon of the candidates at a Renyi order; None if one has none there."""
        return _largest(self.candidates, d_in, RenyiOrder(order))

    def _at(self, d_in: int, orders: tuple[Fraction, ...]) -> list[Fraction]:
        pure, bound, found = self._pure(d_in), self._bound(d_in), []
        for order in orders:
            own = self._curve(d_in, order)
            if own is None:
                raise ValueError(f"no theorem states all candidates in RDP.at({order})")
            found.append(bound(order, own))
            if pure is not None and isinstance(self.repetitions, TruncatedNegativeBinomial):
                converted = PureDP((2 + self.repetitions.eta) * pure).to(RenyiOrder(order))
                if isinstance(converted, RDP):
                    found[-1] = min(found[-1], converted.epsilon)
        return found

    def _bound(self, d_in: int) -> Callable[[Fraction, Fraction], Fraction]:
        """The theorem's bound as a function of an order, and of the bound of one run at it."""
        pure, mean = self._pure(d_in), self.repetitions.mean
        unused = pure is not None and not isinstance(self.repetitions, TruncatedNegativeBinomial)
        orders = [] if unused else sorted(_HELPERS)
        helping = [(order, self._curve(d_in, order)) for order in orders]
        curve = [(order, epsilon) for order, epsilon in helping if epsilon is not None]
        if isinstance(self.repetitions, TruncatedNegativeBinomial):
            extra = _extra(self.repetitions, pure, curve)
            return lambda order, own: own + extra + self._selection(order)

        def bound(m: arb, e: arb, a: arb) -> arb:
            return (e + (m + (-m - e).exp()).log()) / (a - 1)

        def poisson(order: Fraction, own: Fraction) -> Fraction:
            moment = (order - 1) * (own + mean * _delta(order, pure, curve))
            return max(Fraction(0), round_up(bound, mean, moment, order))

        return poisson

    def _selection(self, order: Fraction) -> Fraction:
        """log(mean) / (order - 1)."""
        return log_up(max(Fraction(1), self.repetitions.mean)) / (order - 1)


def _extra(law: TruncatedNegativeBinomial, pure: Fraction | None, curve: _Curve) -> Fraction:
    """(1+eta) times the least of (1 - 1/b) e(b) + log(1/gamma) / b, over orders b.

    b = 1 leaves log(1/gamma), and b without bound leaves the epsilon of pure candidates.
    """
    runs = log_up(1 / law.gamma)
    found = [runs] if pure is None else [runs, pure]
    found += [(1 - 1 / order) * epsilon + runs / order for order, epsilon in curve]
    return (1 + law.eta) * min(found)


def _delta(order: Fraction, pure: Fraction | None, curve: _Curve) -> Fraction:
    """The least delta found with which one run is (log(order/(order-1)), delta)-DP.

    Of pure candidates it is that of randomized response; from a curve it is by Canonne, Kamath,
    Steinke 2020, Proposition 12.
    """
    factor = order / (order - 1)
    if pure is not None:
        delta = round_up(lambda e, r: (1 - r * (-e).exp()) / (1 + (-e).exp()), pure, factor)
        return max(Fraction(0), delta)
    least = min(
        (round_up(_log_delta, helper, epsilon, factor) for helper, epsilon in curve),
        default=Fraction(0),
    )
    return round_up(arb.exp, least) if least < 0 else Fraction(1)


def _log_delta(a: arb, epsilon: arb, factor: arb) -> arb:
    """Of the delta at log(factor) of a mechanism whose Renyi divergence of order a is epsilon."""
    return (a - 1) * (epsilon + ((1 - 1 / a) / factor).log()) - a.log()


def _largest(
    candidates: tuple[InteractiveMechanism[Any], ...], d_in: int, measure: Measure
) -> Fraction | None:
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


def _fields(answer: Any) -> tuple[Any, ...]:
    kind = type(answer)
    return attrs.fields(kind) if attrs.has(kind) else ()


def _exact(value: Any) -> Fraction:
    """The exact value of a finite number."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | np.floating) and isfinite(value):
        return Fraction(float(value))
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return Fraction(int(value) if isinstance(value, bool | np.bool_) else index(value))
    raise MechanismFault
