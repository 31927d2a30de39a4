"""An analyst that spends what a compositor admits, and compares it with claims and reports."""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import attrs

import composition as c
from composition.rules import Account
from composition.rules.additive import AdditiveAccount, RunningSum
from composition.rules.duality import AccumulatorAccount
from composition.rules.menus.menu import MenuAccount
from composition.rules.odometers.time_uniform import StoppingAccount
from composition.rules.residue import ResidueAccount
from composition.rules.rogers import RogersAccount
from composition.rules.slack import SlackAccount
from queryable import (
    GDP,
    RDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    InteractiveMechanism,
    Launch,
    Launched,
    LaunchOver,
    PrivacyLossQuery,
    PureDP,
    QueryError,
    Update,
)
from queryable.losses import Dominated
from queryable.losses.numbers import BeyondReachError
from queryable.messages import CloseBlock, addressed
from tests.audit.built import OURS
from tests.audit.true_losses import Atom, exceeds

F = Fraction
RESPONSES = (Atom(odds=F(3)), Atom(odds=F(11, 10)), Atom(odds=F(3, 2), delta=F(1, 10)))
ATOMS = (
    *(Atom(variance=F(1, 6)), Atom(variance=F(4)), Atom(variance=F(400)), Atom(scale=F(1))),
    *(*RESPONSES, Atom(odds=F(101, 100), delta=F(1, 10**6))),
)
MEASURES = (None, PureDP, ApproxDP, ZCDP, ApproxZCDP, GDP, Dominated, RDP.at(2))
ROWS = {"part": ["a", "b", "a"], "u": ["x", "x", "y"]}
_FARTHEST = 4  # records


def overspent(account: Account, atom: Atom, most: int) -> str:
    """How the atoms that an account admits lose more than its budget."""
    with suppress(*OURS):
        loss = atom.mechanism().privacy_map(1, _taken_by(account))
        for count in range(most):
            account = account.add(loss)
            if not account.within:
                return exceeds(account.budget, [atom] * count)
    return ""


def _taken_by(account: Any) -> Any:
    """The measure that an account takes losses in."""
    match account:
        case AdditiveAccount():
            return account.budget.measure
        case SlackAccount():
            return account.rule.takes
        case MenuAccount():
            return ApproxDP
        case ResidueAccount():
            return Dominated
        case RogersAccount():
            return PureDP
        case StoppingAccount():
            return account.running.odometer.measure
        case AccumulatorAccount(running=RunningSum(zero)):
            return zero.measure
    return account.empty.measure


@attrs.define
class Analyst:
    """Launches the same atom wherever that is possible, and keeps what was admitted.

    Args:
        mechanism: a compositor.
        child: another compositor, which is launched in it first.
    """

    mechanism: InteractiveMechanism[Any]
    child: Any = None
    state: Any = None
    paths: list[tuple[Any, ...]] = attrs.field(factory=list)
    admitted: list[tuple[Any, Atom]] = attrs.field(factory=list)
    """Atoms, each with the part or the block that it reads."""
    complaints: list[str] = attrs.field(factory=list)
    seen: list[int] = attrs.field(factory=list)
    """How many records a response has read, last."""

    @property
    def blocks(self) -> bool:
        """Whether the data are in blocks."""
        return isinstance(self.mechanism, c.Blocks)

    @property
    def individual(self) -> bool:
        """Whether each record has an account of its own somewhere, which pays for less."""
        inside = [*_inside(self.mechanism), *_inside(self.child)]
        return any(isinstance(each, c.Individual) for each in inside)

    def start(self) -> None:
        """Start the mechanism and launch the child."""
        empty: dict[str, list[str]] = {name: [] for name in ROWS}
        self.state, _ = self.mechanism.init(empty if self.blocks else ROWS)
        for name in ("a", "b") if self.blocks else ():
            for message in (Update({"part": ["a"], "u": ["x"]}, name), CloseBlock(name)):
                self.state, _ = self.mechanism.step(self.state, message, SYSTEM)
        self.paths = list(_paths(self.mechanism, ()))
        if self.child is not None and not self.blocks:
            for path in tuple(self.paths):
                answer = self.send(path, Launch(self.child))
                if isinstance(answer, Launched):
                    place = () if answer.child is None else (answer.child,)
                    self.paths += [(*path, *inner) for inner in _paths(self.child, place)]

    def send(self, path: tuple[Any, ...], query: Any) -> Any:
        """The answer to a query; None if it is wrong, or its numbers are beyond reach."""
        try:
            self.state, answer = self.mechanism.step(self.state, addressed(path, query), SYSTEM)
        except (QueryError, BeyondReachError):
            return None
        return answer

    def spend(self, atom: Atom, most: int) -> None:
        """Launch an atom until nothing admits it any more, and compare."""
        try:
            self.start()
        except (*OURS, KeyError):  # the data do not have what it reads
            return
        for _ in range(most):
            before = len(self.admitted)
            for where, path, launch in tuple(self._launches(atom)):
                answer = self.send(path, launch)
                if isinstance(answer, Launched) and (not self.seen or self.seen[-1]):
                    self.admitted.append((where, atom))
            if len(self.admitted) == before:
                break
        self.report()
        for measure in MEASURES:
            for d_in in (1, 2, 3):
                with suppress(*OURS):
                    self.compare(self.mechanism.privacy_map(d_in, measure), d_in)

    def _launches(self, atom: Atom) -> Iterator[tuple[Any, tuple[Any, ...], Any]]:
        """What the atom would read, the path to where it is launched, and the message."""
        if self.blocks:
            for name in ("a", "b"):
                yield name, (), LaunchOver(atom.mechanism(), (name,))
            return
        mechanism = atom.mechanism()
        if self.individual:  # who cannot pay is left out of the data

            def bit(data: Any) -> bool:
                self.seen.append(len(data["part"]))
                return True

            self.seen, mechanism = [0], atom.mechanism(bit)
        for path in self.paths:
            yield (path or (None,))[0], path, Launch(mechanism)

    def report(self) -> None:
        """Compare what is reported now."""
        for d_in in (1, 2, 3):
            report = self.send((), PrivacyLossQuery(d_in))
            if report is not None:
                self.compare(report, d_in)

    def compare(self, claim: Any, d_in: int) -> None:
        """Keep how a claim or a report is exceeded."""
        for atoms, moved in self._exposed(d_in):
            found = exceeds(claim, atoms, moved) if moved <= _FARTHEST else ""
            if found:
                within = "" if self.child is None else f" with {self.child}"
                self.complaints.append(f"{self.mechanism}{within} at {d_in}: {found}"[:800])

    def _exposed(self, d_in: int) -> Iterator[tuple[list[Atom], int]]:
        """What `d_in` records, or units, may be read by, and by how many rows that moves."""
        everything, rows, divided = [atom for _, atom in self.admitted], 1, False
        if isinstance(self.mechanism, c.Blocks):
            divided = self.mechanism.unit is None or self.mechanism.unit_blocks == 1
            rows = 1 if self.mechanism.unit is None else self.mechanism.unit_rows
        if not divided and not isinstance(self.mechanism, c.Parallel):
            yield everything, d_in * rows
            return
        for part in {part for part, _ in self.admitted}:
            yield [atom for each, atom in self.admitted if each == part], d_in * rows
        if d_in > 1:  # one record in each of two parts
            yield everything, rows


def _paths(mechanism: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Where a mechanism that has started takes launches."""
    if isinstance(mechanism, c.ConComp | c.Parallel):
        for name, child in mechanism.started_with().items():
            yield from _paths(child, (*path, name))
    elif isinstance(mechanism, c.Postprocessed):
        yield from _paths(mechanism.mechanism, path)
    elif mechanism.converses and not isinstance(mechanism, c.Blocks):
        yield path


def _inside(mechanism: Any) -> Iterator[Any]:
    """A mechanism, and those that it starts with."""
    yield mechanism
    if isinstance(mechanism, c.ConComp | c.Parallel):
        for child in mechanism.started_with().values():
            yield from _inside(child)
    if isinstance(mechanism, c.Postprocessed):
        yield from _inside(mechanism.mechanism)


def spent(mechanism: Any, child: Any, random: Random, most: int) -> list[str]:
    """What a compositor lost more than it claims, for a random atom."""
    analyst = Analyst(mechanism, child)
    analyst.spend(random.choice(RESPONSES if analyst.individual else ATOMS), most)
    return analyst.complaints
