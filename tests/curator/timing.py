"""Measures how much the time of a reply tells about one person: `python -m tests.curator.timing`.

Two data sets of one curator are neighbours: one has a person more, with as many rows as count and
with long texts in them, which the analyst's question searches. No question is asked twice, because
totals are remembered. A real front answers, with a worker for each data set.

Both data sets are asked in one run, so that the load of the machine is the same for both: each
message goes to one of them at random, and each is asked equally often. With a tick there are two
connections. A message begins at a tick and is answered at the next one at the earliest, so one
connection asks at even ticks and the other one at odd ticks.

The advantage of a classifier is the difference of the shares of replies that it takes for one of
the two. The kind of classifier, its weights and its threshold are chosen on one half of the
replies, drawn at random: each kind is fitted to one quarter and compared with the others on the
next quarter, and the best kind is fitted to the half. The advantage is counted on the other half
only. Then the halves change places, and the result is the mean of both. So choosing adds nothing on
average where times say nothing. The interval is the mean and 1.96 standard errors: at 10,000
replies of each data set a standard error of at most 1/sqrt(2 * 10,000) = 0.0071.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import sqrt
from pathlib import Path

import attrs
import numpy as np

from curator import commands
from curator.client.urls import Address, address_of
from curator.codec import encode
from curator.owner import orders
from curator.wire import HEADER, VERSION, Tell
from mechanisms import Count, Gaussian, PrivacyUnit, column
from queryable import Launch
from tests.curator.serving import served

PERIOD = Fraction(1, 40)
"""Seconds of the tick: more than three times what the slower question takes on an idle machine."""

PEOPLE, ROWS, LENGTH = 100, 100, 10_000
"""How many people have two rows each; how many rows, of how long a text, one more person has."""

NAMES = ("without", "with")
UNIT = PrivacyUnit("person", max_rows=ROWS)
FEATURES = ("seconds", "lateness", "before", "periods")

Score = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[np.ndarray, np.ndarray], Score]


@attrs.frozen
class Replies:
    """Replies in order.

    Attributes:
        of: to which data set each belongs.
        seconds: from the message to the reply.
        lateness: seconds after the last tick.
        periods: the number of ticks from the message to the reply, at least 2; 0 without ticks.
    """

    of: np.ndarray
    seconds: np.ndarray
    lateness: np.ndarray
    periods: np.ndarray

    @property
    def features(self) -> np.ndarray:
        """The time, its lateness, the time of the reply before, and the number of whole periods."""
        before = np.concatenate((self.seconds[:1], self.seconds[:-1]))
        return np.stack([self.seconds, self.lateness, before, self.periods], axis=1)


def written(folder: Path, tick: Fraction | None) -> Path:
    """The configuration of the neighbours."""
    commands.init(folder)
    stated = ['ledger = "ledger.db"', 'key = "noise.key"']
    stated += [] if tick is None else [f'tick = "{tick}"']
    common = "".join(f"{person},a\n" * 2 for person in range(PEOPLE))
    for name in NAMES:
        heavy = f"{PEOPLE},{'a' * LENGTH}\n" * ROWS if name == "with" else ""
        (folder / f"{name}.csv").write_text(f"person,note\n{common}{heavy}")
        stated += [
            f"[datasets.{name}]",
            *(f'source = "{name}.csv"', 'privacy_unit = "person"', f"max_rows = {ROWS}"),
            *("budget = { zcdp = 100 }", 'types = { person = "integer" }'),
        ]
    (folder / "curator.toml").write_text("\n".join(stated))
    return folder / "curator.toml"


def question(number: int) -> str:
    """A question that was not asked before; it takes longer where texts are longer."""
    where = column("note").like(f"%a_%{number}b%")
    return str(encode(Launch(Gaussian(Count(where, per=UNIT), rho="1/1000"))), "ascii")


@attrs.frozen
class Analyst:
    """Asks over connections of their own, and notes when replies come."""

    address: Address
    token: str
    period: float | None

    def ask(self, order: list[tuple[int, int]], lane: int, lanes: int) -> Replies:
        """Ask questions by their numbers, each of a data set, one after another.

        Args:
            lane, lanes: messages are sent where the number of the tick is `lane` modulo `lanes`.
        """
        headers = {HEADER: str(VERSION), "Authorization": f"Bearer {self.token}"}
        connection = self.address.connection(60.0, None)
        begins, ends = [], []
        for number, which in order:
            body = Tell((), question(number), (), f"{number:032x}").written()
            self._wait(lane, lanes)
            begins.append(time.monotonic())
            connection.request("POST", f"/v1/roots/{NAMES[which]}/tell", body, headers)
            reply = connection.getresponse()
            told = reply.read()
            ends.append(time.monotonic())
            assert reply.status == 200
            assert b'"kind":"answer"' in told[-60:]
        connection.close()
        of, seconds = np.array([it for _, it in order]), np.array(ends) - np.array(begins)
        if self.period is None:
            return Replies(of, seconds, np.zeros(len(of)), np.zeros(len(of)))
        first, last = (np.floor_divide(times, self.period) for times in (begins, ends))
        return Replies(of, seconds, np.mod(ends, self.period), last - first)

    def _wait(self, lane: int, lanes: int) -> None:
        if self.period is not None:
            whole, rest = divmod(time.monotonic(), self.period)
            time.sleep((lane - int(whole)) % lanes and self.period - rest + 0.001)


def replies(folder: Path, tick: Fraction | None, number: int) -> Replies:
    """The times of a number of replies of each neighbour, in random order."""
    stated = written(folder, tick)
    token = orders.add_analyst(stated, "ada")
    for name in NAMES:
        orders.grant(stated, name, "ada", zcdp="90")
    order = list(enumerate(random.sample([0, 1] * number, 2 * number)))
    lanes = 1 if tick is None else 2
    with served(stated), ThreadPoolExecutor(lanes) as threads:
        address = address_of(f"unix:{folder / 'curator.sock'}")
        analyst = Analyst(address, token, None if tick is None else float(tick))
        found = [
            threads.submit(analyst.ask, order[lane::lanes], lane, lanes) for lane in range(lanes)
        ]
        return joined([each.result() for each in found])


def joined(parts: list[Replies]) -> Replies:
    """Replies of several connections, one connection after another."""
    arrays = [
        np.concatenate([getattr(each, name) for each in parts])
        for name in ("of", "seconds", "lateness", "periods")
    ]
    return Replies(*arrays)


def one_feature(place: int) -> Fit:
    """A threshold on one feature."""
    return lambda _, __: lambda features: features[:, place]


def by_ranks(features: np.ndarray, of: np.ndarray) -> Score:
    """Least squares on ranks of the features, their squares and products."""
    known = np.sort(features, axis=0)
    columns = range(features.shape[1])

    def terms(given: np.ndarray) -> np.ndarray:
        ranks = [np.searchsorted(known[:, i], given[:, i]) / len(known) for i in columns]
        pairs = [one * other for i, one in enumerate(ranks) for other in ranks[i:]]
        return np.stack([np.ones(len(given)), *ranks, *pairs], axis=1)

    weights = np.linalg.lstsq(terms(features), of, rcond=None)[0]
    return lambda given: terms(given) @ weights


def by_cells(features: np.ndarray, of: np.ndarray) -> Score:
    """How often each was seen in a cell of the number of periods and of the lateness."""
    edges = np.quantile(features[:, 1], np.linspace(0, 1, 9)[1:-1])

    def cells(given: np.ndarray) -> np.ndarray:
        return np.minimum(given[:, 3], 9).astype(int) * 8 + np.searchsorted(edges, given[:, 1])

    ones, zeros = (np.bincount(cells(features[of == which]), minlength=80) for which in (1, 0))
    share = (ones + 1) / (ones + zeros + 2)
    return lambda given: share[cells(given)]


CLASSIFIERS: Mapping[str, Fit] = {
    **{name: one_feature(place) for place, name in enumerate(FEATURES)},
    "ranks": by_ranks,
    "cells": by_cells,
}


@attrs.frozen
class Rule:
    """A fitted classifier: below its threshold it says one, above it the other."""

    score: Score
    threshold: float
    sign: float

    @classmethod
    def of(cls, fit: Fit, features: np.ndarray, of: np.ndarray) -> "Rule":
        """The rule whose shares differ most."""
        score = fit(features, of)
        scores = score(features)
        order = np.argsort(scores, kind="stable")
        below = [np.cumsum(of[order] == which) / np.sum(of == which) for which in (0, 1)]
        gap = below[0] - below[1]
        last = np.append(np.diff(scores[order]) > 0, [True])  # of those with an equal score
        at = int(np.argmax(np.where(last, np.abs(gap), -1.0)))
        return cls(score, float(scores[order][at]), float(np.sign(gap[at])))

    def counted(self, features: np.ndarray, of: np.ndarray) -> tuple[float, float]:
        """The advantage on other replies, and its variance."""
        below = self.score(features) <= self.threshold
        shares = [np.mean(below[of == which]) for which in (0, 1)]
        known = [(np.sum(below[of == which]) + 1, np.sum(of == which) + 2) for which in (0, 1)]
        variance = sum(k / n * (1 - k / n) / n for k, n in known)
        return self.sign * float(shares[0] - shares[1]), float(variance)


@attrs.frozen
class Advantage:
    """An advantage that was counted on replies that nothing was chosen by.

    Attributes:
        kinds: the classifiers that were chosen, one for each half.
    """

    value: float
    error: float
    kinds: tuple[str, ...]

    def __str__(self) -> str:
        low, high = (self.value + side * 1.96 * self.error for side in (-1, 1))
        return f"{self.value:.4f} (95%: {low:.4f} to {high:.4f}; by {', '.join(self.kinds)})"


def advantage(found: Replies) -> Advantage:
    """The advantage of the best classifier."""
    features, of = found.features, found.of
    halves = np.array_split(np.random.default_rng(1).permutation(len(of)), 2)
    kinds, counted = [], []
    for half, fresh in (halves, halves[::-1]):
        fitted, compared = np.array_split(half, 2)

        def tried(kind: str, fitted: np.ndarray = fitted, other: np.ndarray = compared) -> float:
            rule = Rule.of(CLASSIFIERS[kind], features[fitted], of[fitted])
            return rule.counted(features[other], of[other])[0]

        kinds.append(max(CLASSIFIERS, key=tried))
        rule = Rule.of(CLASSIFIERS[kinds[-1]], features[half], of[half])
        counted.append(rule.counted(features[fresh], of[fresh]))
    value = float(np.mean([each for each, _ in counted]))
    return Advantage(value, sqrt(sum(variance for _, variance in counted)) / 2, tuple(kinds))


def slow(found: Replies) -> list[float]:
    """The shares of replies of each neighbour that left more than one period after they began."""
    return [float(np.mean(found.periods[found.of == which] > 2)) for which in (0, 1)]


def report(tick: Fraction | None, number: int) -> str:
    """Measure once, and say what was found."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = replies(Path(folder, "curator"), tick, number)
    medians = [np.median(found.seconds[found.of == which]) * 1000 for which in (0, 1)]
    told = "none" if tick is None else f"{float(tick):g} s"
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    lines = [
        f"tick {told}: {number} replies of each, {time.monotonic() - began:.0f} s, load {load}",
        f"  advantage {advantage(found)}",
        f"  medians {medians[0]:.2f} and {medians[1]:.2f} ms without and with the person",
    ]
    if tick is not None:
        shares = slow(found)
        lines.append(f"  more than one period: {shares[0]:.2%} and {shares[1]:.2%}")
    return "\n".join(lines)


def main() -> None:
    """Print what is found without a tick, and with each of some ticks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--replies", type=int, default=10_000, help="of each neighbour")
    parser.add_argument("--ticks", type=Fraction, nargs="*", default=[PERIOD], help="in seconds")
    given = parser.parse_args()
    for tick, number in [(None, 1000), *((tick, given.replies) for tick in given.ticks)]:
        sys.stdout.write(f"{report(tick, number)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
