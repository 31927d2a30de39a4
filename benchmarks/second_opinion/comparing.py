"""Our losses beside those of other accountants, for the same events.

Responsible for what is asked of the accountants, and for the comparison. They run in a process and
an environment of their own, see `accountants`.

A comparison is of one charge, with what it was charged and with its claim, or of all charges of one
compositor, with the total that it reported after the last. Charges whose draws are not stated are
left out of theirs, so it is smaller still. If theirs is above ours, ours is wrong.
"""

import json
import subprocess
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

from queryable.events.charge import Charge
from queryable.events.charges import Events
from queryable.events.written import stated
from queryable.losses import (
    RDP,
    ZCDP,
    ApproxDP,
    Loss,
    PureDP,
    RenyiCurve,
    Report,
    TimeUniformBound,
)

SCRIPT = Path(__file__).with_name("accountants.py")
ROOT = SCRIPT.parents[2]
PYTHON = ROOT / "build/peers/accountants/bin/python"
"""The environment of the accountants, see README.md."""

DELTAS, ORDERS = (Fraction(1, 10**6), Fraction(1, 1000)), (Fraction(2), Fraction(8), Fraction(64))
_LEAST_DELTA = Fraction(1, 10**9)  # at smaller ones their arithmetic in floats is too coarse
FLOATS = Fraction(1, 10**9)
"""The share by which theirs may be above ours because they compute in floats."""
_STEPS = 1000


@attrs.frozen
class Asked:
    """One accountant, with where the losses are compared and ours there."""

    by: str
    at: tuple[str, ...]
    ours: tuple[Fraction, ...]
    arguments: dict[str, Any]


@attrs.frozen
class Subject:
    """A charge, or a compositor, with what was drawn."""

    name: str
    draws: tuple[tuple[Any, int], ...]
    asked: tuple[Asked, ...]
    complete: bool

    def question(self) -> str:
        draws = [(stated(draw), d_in) for draw, d_in in self.draws]
        asked = [{"by": each.by, **each.arguments} for each in self.asked]
        return json.dumps({"draws": draws, "asked": asked})


@attrs.frozen
class Compared:
    """Our loss and theirs.

    Attributes:
        by, at: the accountant; the measure of our loss, and where it is compared.
        complete: whether theirs is about all that ours is about, so that the ratio says something.
    """

    name: str
    by: str
    at: str
    ours: Fraction
    theirs: float
    complete: bool

    @property
    def holds(self) -> bool:
        """Whether theirs is not above ours."""
        return Fraction(self.theirs) <= self.ours * (1 + FLOATS)

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; None where that says nothing."""
        return float(self.ours) / self.theirs if self.complete and self.theirs > 0 else None


def subjects(events: Events, name: str = "") -> Iterator[Subject]:
    """What is compared of the events of a ledger."""
    alike: dict[Any, list[Charge]] = {}
    for charge in events:
        key = (charge.draws, charge.d_in, repr((charge.loss, charge.claim)))
        alike.setdefault(key, []).append(charge)
    for charge, *more in alike.values():
        times = f" and {len(more)} more" if more else ""
        about = f"{name}{charge.sequence} {charge.asked}{times}"
        losses = {str(each): each for each in (charge.loss, charge.claim) if each is not None}
        yield from _subject(about, [charge], losses.values())
    by_path: dict[tuple[int | str, ...], list[Charge]] = {}
    for charge in events:
        by_path.setdefault(charge.path, []).append(charge)
    for path, charges in by_path.items():
        totals = [each.total for each in charges if each.total is not None]
        if totals and not any(each.reads for each in charges):
            about = f"{name}/{'/'.join(map(str, path))}, {len(charges)} charges"
            yield from _subject(about, charges, totals[-1:])


def _subject(about: str, charges: list[Charge], losses: Iterable[Report]) -> Iterator[Subject]:
    draws = tuple((draw, each.d_in) for each in charges for draw in each.draws or ())
    asked = tuple(each for loss in losses for each in asked_about(loss, len(draws)))
    if draws and asked:
        yield Subject(about, draws, asked, all(each.draws is not None for each in charges))


def asked_about(loss: Report, many: int = 1) -> Iterator[Asked]:
    """What is compared of a loss of so many draws.

    A time-uniform bound is compared as (epsilon, delta): the analysis is over, and is seen as one
    whose launches were fixed.
    """
    kind = type(loss).__name__
    if isinstance(loss, TimeUniformBound):
        loss = ApproxDP(loss.epsilon, loss.delta)
    if not isinstance(loss, Loss):
        return
    parameter = getattr(loss, "delta", None)
    own = parameter if isinstance(parameter, Fraction) else Fraction(0)  # a curve has a function
    deltas = [each for each in (own, *DELTAS) if each >= max(own, _LEAST_DELTA)]
    approx = {each: _to(loss, ApproxDP, each) for each in dict.fromkeys(deltas)}
    found = {at: each.epsilon for at, each in approx.items() if isinstance(each, ApproxDP)}
    if found:
        interval = max(float(min(found.values())) / (_STEPS * max(many, 1)), 1e-6)
        at = tuple(f"{kind}, epsilon at delta={float(each):.3g}" for each in found)
        deltas_given = {"deltas": [*map(str, found)], "interval": interval}
        yield Asked("PLD", at, tuple(found.values()), deltas_given)
    if curve := _curve(loss):
        at = tuple(f"{kind}, Renyi at {float(each):g}" for each in curve)
        yield Asked("RDP", at, tuple(curve.values()), {"orders": [*map(str, curve)]})
    pure, rho = _to(loss, PureDP), _to(loss, ZCDP)
    if isinstance(loss, ApproxDP) and not loss.delta:
        pure = PureDP(loss.epsilon)
    if isinstance(pure, PureDP):
        yield Asked("OpenDP", (f"{kind}, epsilon",), (pure.epsilon,), {"measure": "PureDP"})
    elif isinstance(rho, ZCDP):
        yield Asked("OpenDP", (f"{kind}, rho",), (rho.rho,), {"measure": "ZCDP"})


def _curve(loss: Loss) -> dict[Fraction, Fraction]:
    """The Renyi divergences that a loss states, at a few orders."""
    if isinstance(loss, RDP):
        return {loss.alpha: loss.epsilon}
    if isinstance(loss, RenyiCurve):
        return dict(zip(loss.orders, loss.epsilons, strict=True))
    rho = _to(loss, ZCDP)
    at = {order: _to(loss, RDP.at(order)) for order in ORDERS}
    if isinstance(rho, ZCDP) and not all(at.values()):
        return {order: order * rho.rho for order in ORDERS}
    return {order: each.epsilon for order, each in at.items() if isinstance(each, RDP)}


def _to(loss: Loss, measure: Any, delta: Fraction | None = None) -> Loss | None:
    try:
        return loss.to(measure, delta)
    except ValueError:
        return None


def compared(found: Iterable[Subject], python: Path = PYTHON) -> Iterator[Compared]:
    """Ask the accountants in their environment, and compare.

    Raises:
        subprocess.CalledProcessError: they failed.
    """
    asked = [(each, each.question()) for each in found]
    questions = dict.fromkeys(question for _, question in asked)
    run = subprocess.run(
        [str(python), str(SCRIPT)],
        input="".join(f"{each}\n" for each in questions),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = dict(zip(questions, map(json.loads, run.stdout.splitlines()), strict=True))
    for subject, question in asked:
        for each, answer in zip(subject.asked, answers[question], strict=True):
            if answer is None:
                continue
            complete = subject.complete and not answer["missing"]
            for at, ours, theirs in zip(each.at, each.ours, answer["values"], strict=True):
                yield Compared(subject.name, each.by, at, ours, theirs, complete)
