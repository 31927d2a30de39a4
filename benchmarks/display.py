"""The time to display: trees of many children, ledgers, and answers that carry their noise."""

from collections.abc import Iterator
from typing import Any

from benchmarks.compositors import Counter
from benchmarks.measure import Row, at_most, seconds
from composition import FiltCon, Whitehouse2023
from mechanisms import Count, Laplace
from queryable import SYSTEM, ApproxDP, PureDP, Queryable
from queryable.answers.noisy import NoisyInt

CHILDREN = 1_000


def session(mechanism: Any) -> Queryable:
    q = Queryable(mechanism, True)
    for _ in range(CHILDREN):
        q.launch(Counter())
    return q


def trees() -> Iterator[Row]:
    """Full renderings, without caching from one to the next."""
    filters = {
        "Basic": FiltCon(PureDP(1)),
        "Whitehouse2023": FiltCon(ApproxDP(1, "1e-6"), Whitehouse2023()),
    }
    for name, mechanism in filters.items():
        q = session(mechanism)
        measured = seconds({"html": (q._repr_html_, 1), "ledger": (q.ledger, 1)}, 7)
        html = measured["html"]
        work = f"a tree of {CHILDREN:,} children as HTML, {name}"
        yield Row("display", work, html, goals=(at_most(html, 0.2, "200 ms"),))
        yield Row("display", f"its ledger, {name}", measured["ledger"])


def answers() -> Iterator[Row]:
    """The time of a release, and the part of it for attaching the noise distribution."""
    mechanism, law = Laplace(Count(), epsilon=1), Laplace(Count(), epsilon=1).added_noise().law
    data = [0] * 100
    measured = seconds(
        {
            "release": (lambda: mechanism.release(data, SYSTEM), 500),
            "answer": (lambda: NoisyInt(5, law), 2000),
        }
    )
    share = measured["answer"] / measured["release"]
    yield Row(
        "display", f"an int that carries its noise ({share:.0%} of a release)", measured["answer"]
    )


def rows() -> Iterator[Row]:
    yield from trees()
    yield from answers()
