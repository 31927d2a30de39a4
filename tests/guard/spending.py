"""Compositors, rules and odometers: what they admit, against what they state.

`faults_of` launches many mechanisms of known loss in a compositor, until it refuses them, and
computes the loss of all that it admitted from the laws of noise. Its claim, and what it reports as
spent, have to be at least that. Nothing here uses a formula of a rule.

The mechanisms are counts with discrete Gaussian noise, whose Rényi divergence is exactly
alpha / (2 variance) at whole orders alpha, and randomized responses.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import erfc, exp, inf, log, sqrt
from random import Random
from typing import Any

import attrs

import composition as c
import mechanisms as m
import queryable as q
from queryable.answers.noisy import NoisyInt
from queryable.effort import within_effort
from queryable.errors import InteractiveError, QueryError
from queryable.losses import Dominated, ExPostBound, Loss, RenyiCurve, TimeUniformBound
from queryable.losses.numbers import BeyondReachError
from queryable.messages import Launched
from tests.guard.findings import Fault, short

DATA = {"city": ["a", "b", "a"], "age": [20, 31, 47], "who": [1, 1, 2]}
ORDERS = (2, 3, 4, 8, 16, 32, 64, 256)
VARIANCES = tuple(map(Fraction, ("1/6", "1", "10", "50", "400", "10000", "1000000")))
EPSILONS = tuple(map(Fraction, ("4", "1", "1/2", "1/4", "1/10", "1/20", "1/100")))
CONTINUOUS = 10
"""From this variance on, discrete Gaussians are taken for continuous ones, to 1e-80."""
_SLACK = 1e-9


@attrs.frozen
class Admitted:
    """What was admitted: randomized responses by epsilon, and variances of Gaussians.

    Attributes:
        moved: by how much a count moves, the number of records in which neighbours differ.
    """

    moved: int = 1
    responses: tuple[Fraction, ...] = ()
    variances: tuple[Fraction, ...] = ()

    @property
    def mu_squared(self) -> float:
        """Of all Gaussians, each as a continuous one."""
        return float(sum(Fraction(self.moved**2) / each for each in self.variances))

    def renyi(self, alpha: int) -> float:
        """The Rényi divergence of a whole order."""
        noise = sum(Fraction(alpha * self.moved**2) / (2 * each) for each in self.variances)
        return float(noise) + sum(_response(float(each), alpha) for each in self.responses)

    def pure(self) -> float:
        """The largest loss."""
        return inf if self.variances else float(sum(self.responses))

    def law(self) -> list[tuple[float, float]]:
        """The losses of the responses with their probabilities."""
        found = {Fraction(0): 1.0}
        for each in self.responses:
            truth, after = 1 / (1 + exp(-float(each))), dict[Fraction, float]()
            for loss, chance in found.items():
                after[loss + each] = after.get(loss + each, 0.0) + chance * truth
                after[loss - each] = after.get(loss - each, 0.0) + chance * (1 - truth)
            found = after
        return [(float(loss), chance) for loss, chance in found.items()]

    def hockey_stick(self, epsilon: float) -> float:
        """The least delta at epsilon."""
        mu = sqrt(self.mu_squared)
        return sum(chance * _profile(mu, epsilon - loss) for loss, chance in self.law())

    def beyond(self, epsilon: float) -> float:
        """The probability that the realised loss is above epsilon."""
        mu = sqrt(self.mu_squared)
        return sum(chance * _above(mu, epsilon - loss) for loss, chance in self.law())


def _response(epsilon: float, alpha: int) -> float:
    p = 1 / (1 + exp(-epsilon))
    other = 1 - p
    # log(p^a r^(1-a) + r^a p^(1-a)) = a log p + (1-a) log r + ..., without overflow
    first = alpha * log(p) + (1 - alpha) * log(other)
    second = alpha * log(other) + (1 - alpha) * log(p)
    return (first + log(1 + exp(second - first))) / (alpha - 1)


def _cdf(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2


def _profile(mu: float, t: float) -> float:
    """The hockey stick of N(mu, 1) against N(0, 1) at e^t."""
    if mu == 0:
        return max(0.0, 1 - exp(t)) if t < 0 else 0.0
    far = -t / mu - mu / 2
    return _cdf(-t / mu + mu / 2) - (exp(t) * _cdf(far) if t < 700 else 0.0)


def _above(mu: float, t: float) -> float:
    """The probability that the loss of N(mu, 1) against N(0, 1) is above t."""
    return float(t < 0) if mu == 0 else _cdf(mu / 2 - t / mu)


def excess(claim: Any, true: Admitted) -> str:  # noqa: PLR0912 (a case for each measure)
    """Why a claim is below the loss of what was admitted; empty if it is not."""
    if isinstance(claim, RenyiCurve):
        for alpha, epsilon in zip(claim.orders, claim.epsilons, strict=True):
            if alpha.denominator == 1 and _exceeds(found := true.renyi(int(alpha)), epsilon):
                return f"the Rényi divergence of order {alpha} is {found:.6g}"
        return ""
    match claim:
        case q.RDP(alpha, epsilon):
            if alpha.denominator == 1 and _exceeds(found := true.renyi(int(alpha)), epsilon):
                return f"the Rényi divergence of order {alpha} is {found:.6g}"
        case q.PureDP(epsilon):
            if _exceeds(found := true.pure(), epsilon):
                return f"the pure loss is {found:.6g}"
        case q.ZCDP(rho):
            for alpha in ORDERS:
                if _exceeds(found := true.renyi(alpha) / alpha, rho):
                    return f"the divergence of order {alpha} is {found:.6g} of it"
        case ExPostBound(epsilon, delta) if not delta:
            if _exceeds(found := true.pure(), epsilon):
                return f"the loss may be {found:.6g}"
        case _:
            return _with_delta(claim, true)
    return ""


def _real(value: Any) -> float:
    """As a float; 1e300 for what is above it."""
    return float(min(value, Fraction(10**300)))


def _exceeds(found: float, claimed: Any) -> bool:
    return not found <= _real(claimed) * (1 + _SLACK) + _SLACK * _SLACK


def _with_delta(claim: Any, true: Admitted) -> str:
    """As `excess`, for claims that have a delta; they are compared at several epsilons."""
    if any(each < CONTINUOUS for each in true.variances):
        return ""
    if isinstance(claim, ExPostBound):  # of charges that no answer changes
        found, most = true.hockey_stick(_real(claim.epsilon)), float(claim.delta)
        return f"delta is {found:.6g}, reported {most:.6g}" if found > most * 1.000001 else ""
    if isinstance(claim, TimeUniformBound):
        found, most = true.beyond(_real(claim.epsilon)), float(claim.delta)
        return f"more is lost with probability {found:.6g}" if found > most * 1.000001 else ""
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, *_own_epsilons(claim)):
        most = stated_profile(claim, epsilon)
        if most is None:
            return ""
        if (found := true.hockey_stick(epsilon)) > most * 1.000001 + 1e-12:
            return f"delta is {found:.6g} at epsilon {epsilon:.6g}, claimed {most:.6g}"
    return ""


def _own_epsilons(claim: Any) -> tuple[float, ...]:
    epsilon = getattr(claim, "epsilon", None)
    return () if epsilon is None or epsilon > 10**6 else (float(epsilon),)


def stated_profile(claim: Any, epsilon: float) -> float | None:
    """The largest delta at epsilon that a claim admits; None if this does not know."""
    match claim:
        case q.ApproxDP(own, delta):
            return _real(delta) if epsilon >= _real(own) else 1.0
        case q.GDP(mu):
            return _profile(min(_real(mu), 1e3), epsilon)
        case Dominated(own, mu, delta):
            e, p = _real(own), 1 / (1 + exp(-min(_real(own), 700)))
            wide = min(_real(mu), 1e3)
            beside = p * _profile(wide, epsilon - e) + (1 - p) * _profile(wide, epsilon + e)
            return min(1.0, beside + _real(delta))
        case q.ApproxZCDP(rho, delta):
            if not rho:
                return _real(delta)
            converted = min(
                (exp(min((a - 1) * (a * _real(rho) - epsilon), 0.0)) for a in _REALS), default=1.0
            )
            return min(1.0, _real(delta) + converted)
    return None


_REALS = [1 + 2 ** (k / 4) for k in range(-20, 60)]


def leaves(random: Random) -> list[tuple[Any, dict[str, tuple[Fraction, ...]]]]:
    """Mechanisms of known loss, in random order; the same one may come several times."""
    found: list[tuple[Any, dict[str, tuple[Fraction, ...]]]] = [
        (m.Gaussian(m.Count(), variance=variance), {"variances": (variance,)})
        for variance in random.sample(VARIANCES, 4)
    ]
    for epsilon in random.sample(EPSILONS, 4):
        bit = q.Bit(lambda data: len(data["city"]) == 3)
        response = m.RandomizedResponse(bit, epsilon=epsilon)
        found.append((response, {"responses": (epsilon,)}))
    random.shuffle(found)
    return found


def paths_of(compositor: Any) -> list[tuple[Any, ...]]:
    """Where launches may be sent: it, or its parts."""
    if isinstance(compositor, c.ConComp):
        return [(place,) for place in range(len(compositor.mechanisms))]
    if isinstance(compositor, c.Parallel):
        return [(name,) for name in compositor.mechanisms][:1]
    return [()]


def faults_of(compositor: Any, random: Random, d_out: Any = None) -> Iterator[Fault | int]:
    """Yield what is wrong, and last how many launches were admitted.

    Args:
        d_out: with what a root launches it, for odometers; None where it is the root itself.
    """
    if "Individual(" in repr(compositor):
        yield 0  # it admits everything, and leaves out records that have paid
        return
    d_in = getattr(compositor, "d_in", 1) if d_out is None else 1  # the root's
    claim: Any = d_out
    try:
        claim = compositor.privacy_map(d_in) if d_out is None else d_out
    except Exception:  # an odometer has no claim of its own
        claim = None
    try:
        handle, path = _started(compositor, d_out, random)
    except (InteractiveError, BeyondReachError):  # it, or what is over it, does not start
        yield 0
        return
    true = _admitted(handle, path, compositor, d_in, random)
    count = len(true.responses) + len(true.variances)
    what = f"{len(true.responses)} responses, variances {short(list(map(str, true.variances)), 90)}"
    if isinstance(claim, Loss) and (told := excess(claim, true)):
        yield Fault("claim", f"{told}, claimed {claim}: {what}", "spending")
    spent = _told(handle, path, q.PrivacyLossQuery())
    stated = spent is not None and not isinstance(compositor, c.Blocks)
    if stated and (told := excess(spent, true)):
        yield Fault("reported", f"{told}, reported {spent}: {what}", "spending")
    yield count


def _started(compositor: Any, d_out: Any, random: Random) -> tuple[Any, tuple[Any, ...]]:
    """A handle, and the path to the compositor below it."""
    coins = q.SeededCoins(random.randrange(2**32))
    if d_out is None:
        handle = q.Queryable(compositor, DATA, coins=coins, allow_seeded=True)
        if isinstance(compositor, c.Blocks):
            handle.feed(DATA, block="x")
            handle.feed.close("x")
        return handle, ()
    measure = d_out.measure
    handle = q.Queryable(c.OdomCon(measure), DATA, coins=coins, allow_seeded=True)
    answer = handle._root.tell((), q.Launch(compositor, d_out=d_out))
    return handle, (answer.child,)


def _admitted(handle: Any, path: Any, compositor: Any, d_in: int, random: Random) -> Admitted:
    true = Admitted(min(d_in, 1000))
    for mechanism, kind in leaves(random):
        for below in paths_of(compositor):
            for _ in range(random.choice([1, 4, 16])):
                launch: Any = q.Launch(mechanism)
                if isinstance(compositor, c.Blocks):
                    launch = q.LaunchOver(mechanism, ["x"])
                answer = _told(handle, (*path, *below), launch)
                if not isinstance(answer, Launched | NoisyInt | bool):
                    break
                more = {name: (*getattr(true, name), *each) for name, each in kind.items()}
                true = attrs.evolve(true, **more)
    return true


def _told(handle: Any, path: Any, message: Any) -> Any:
    try:
        with within_effort():
            return handle._root.tell(path, message)
    except QueryError:
        return None


__all__ = ["Admitted", "excess", "faults_of"]
