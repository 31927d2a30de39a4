"""How much the time of a reply tells about one person, with the public tick and without it.

Two data sets of one curator are neighbours: one has a person more, with as many rows as count and
with long texts in them, which the analyst's question searches. Rows beyond `max_rows` would take
time at the first question only. No question is asked twice, because totals are remembered. The data
sets are asked in random order over one connection to the real front, which has a worker for each.

A classifier is fitted to a random half of the replies and counted on the other half, then the other
way round; its advantage is the mean of both, so chance adds nothing on average. With 10,000 replies
of each data set the standard error is at most 1/sqrt(2 * 10,000) = 0.0071. Where times say nothing,
a classifier is above 0.02 in one of 400 runs, and one of three classifiers in one of 130. An
advantage of 0.04 is missed in one of 400.
"""

import random
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from curator import commands, orders
from curator.client.urls import address_of
from curator.codec import encode
from curator.wire import HEADER, VERSION, Tell
from mechanisms import Count, Gaussian, PrivacyUnit, column
from queryable import Launch
from tests.curator.serving import served

REPLIES, UNPROTECTED = 10_000, 1_000
MOST = 0.02
PERIOD = Fraction(1, 40)
"""Seconds. It is above the time of the question where both processors are used by others too."""

PEOPLE, ROWS, LENGTH = 100, 100, 10_000
"""How many people have two rows each; how many rows, of how long a text, one more person has."""

NAMES = ("without", "with")
UNIT = PrivacyUnit("person", max_rows=ROWS)

Score = Callable[[np.ndarray], np.ndarray]


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
class Replies:
    """Replies in order: to which data set each belongs, and its seconds."""

    of: np.ndarray
    seconds: np.ndarray

    def features(self, period: float) -> np.ndarray:
        """Time, what is over whole periods, and the time of the reply before."""
        before = np.concatenate(([self.seconds[0]], self.seconds[:-1]))
        return np.stack([self.seconds, self.seconds % period, before], axis=1)


def replies(folder: Path, tick: Fraction | None, number: int) -> Replies:
    """The times of a number of replies of each neighbour, in random order."""
    stated = written(folder, tick)
    token = orders.add_analyst(stated, "ada")
    for name in NAMES:
        orders.grant(stated, name, "ada", zcdp="90")
    headers = {HEADER: str(VERSION), "Authorization": f"Bearer {token}"}
    order = random.sample([0, 1] * number, 2 * number)
    seconds = []
    with served(stated):
        address = address_of(f"unix:{folder / 'curator.sock'}")
        connection = address.connection(60.0, None)
        for each, which in enumerate(order):
            body = Tell((), question(each), (), f"{each:032x}").written()
            began = time.perf_counter()
            connection.request("POST", f"/v1/roots/{NAMES[which]}/tell", body, headers)
            reply = connection.getresponse()
            told = reply.read()
            seconds.append(time.perf_counter() - began)
            assert reply.status == 200
            assert b'"kind":"answer"' in told[-60:]
        connection.close()
    return Replies(np.array(order), np.array(seconds))


def time_alone(_: np.ndarray, __: np.ndarray) -> Score:
    """The time itself."""
    return lambda features: features[:, 0]


def within_a_period(_: np.ndarray, __: np.ndarray) -> Score:
    """What is over whole periods."""
    return lambda features: features[:, 1]


def learned(features: np.ndarray, of: np.ndarray) -> Score:
    """Least squares on ranks of the features, their squares and products."""
    known = np.sort(features, axis=0)

    def terms(given: np.ndarray) -> np.ndarray:
        ranks = [np.searchsorted(known[:, i], given[:, i]) / len(known) for i in range(3)]
        pairs = [one * other for i, one in enumerate(ranks) for other in ranks[i:]]
        return np.stack([np.ones(len(given)), *ranks, *pairs], axis=1)

    weights = np.linalg.lstsq(terms(features), of, rcond=None)[0]
    return lambda given: terms(given) @ weights


CLASSIFIERS = (time_alone, within_a_period, learned)


def best_threshold(scores: np.ndarray, of: np.ndarray) -> tuple[float, float]:
    """Where the shares of the two below a threshold differ most, and with which sign."""
    order = np.argsort(scores, kind="stable")
    below = [np.cumsum(of[order] == which) / np.sum(of == which) for which in (0, 1)]
    gap = below[0] - below[1]
    at = int(np.argmax(np.abs(gap)))
    return float(scores[order][at]), float(np.sign(gap[at]))


def advantage(classifier: Any, features: np.ndarray, of: np.ndarray) -> float:
    """The advantage on replies that the classifier was not fitted to."""
    halves = np.array_split(np.random.default_rng(1).permutation(len(of)), 2)
    found = []
    for fitted, fresh in (halves, halves[::-1]):
        score = classifier(features[fitted], of[fitted])
        threshold, sign = best_threshold(score(features[fitted]), of[fitted])
        below = score(features[fresh]) <= threshold
        shares = [np.mean(below[of[fresh] == which]) for which in (0, 1)]
        found.append(sign * (shares[0] - shares[1]))
    return float(np.mean(found))


def advantages(found: Replies) -> dict[str, float]:
    """The advantage of each classifier."""
    features = found.features(float(PERIOD))
    return {each.__name__: advantage(each, features, found.of) for each in CLASSIFIERS}


def test_classifiers_find_what_is_there_and_nothing_else() -> None:
    drawn = np.random.default_rng(7)
    of = drawn.permutation(np.repeat([0, 1], 10_000))
    noise = drawn.exponential(size=20_000)
    assert max(advantages(Replies(of, noise)).values()) <= MOST
    later = Replies(of, noise + 0.05 * of)  # shares at 0.05 differ by 1 - exp(-0.05)
    assert abs(advantages(later)["time_alone"] - 0.0488) <= MOST
    after = Replies(of, noise + 2 * np.concatenate((of[1:], [0])))  # shows in the reply before
    assert advantages(after)["learned"] > 0.5


@pytest.mark.long
def test_the_time_of_a_reply_tells_nothing_with_a_tick(tmp_path: Path) -> None:
    """It takes 17 minutes: a reply leaves two ticks after the one before."""
    free = advantages(replies(tmp_path / "free", None, UNPROTECTED))
    held = advantages(replies(tmp_path / "held", PERIOD, REPLIES))
    assert max(free.values()) > 5 * MOST, free  # the time of the question differs
    assert max(held.values()) <= MOST, (held, free)
