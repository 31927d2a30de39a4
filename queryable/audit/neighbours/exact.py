"""The exact law of one mechanism of the user's own, on the data of one leaf and of its neighbour.

For mechanisms that read the data in another way than through statistics, or whose answers are no
numbers with noise. It is `queryable.audit.audit` on this pair of data sets.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from queryable.audit.auditing import audit
from queryable.audit.neighbours.readings import Reader
from queryable.data.watching import watching
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Query

_MOST_VIEWS = 4_000


class ExactLaw(NamedTuple):
    """What the law says.

    Attributes:
        holds: None if it could not be computed; `why` says why.
        ratio: the divergence over the claimed one.
    """

    holds: bool | None
    ratio: float
    why: str


def exact_law(
    mechanism: InteractiveMechanism[Any], one: Any, other: Any, d_in: int, queries: Sequence[Query]
) -> ExactLaw:
    """Compare the law of a mechanism's answers to some queries with its claim.

    Args:
        one, other: the data of the leaf on both sides.
        queries: what it was asked; none for a measurement.
    """
    script: Callable[[Any], Any] | None = None
    if queries:
        script = lambda view: queries[len(view)] if len(view) < len(queries) else None  # noqa: E731
    try:
        with watching(Reader()):
            verdict = audit(
                mechanism,
                [(one, other)],
                adversary=script,
                d_in=d_in,
                samples=8,
                limit=_MOST_VIEWS,
                progress=False,
            )
    except Exception as error:
        return ExactLaw(None, 0.0, f"its law cannot be computed ({type(error).__name__})")
    if verdict.refuted and (witness := verdict.witness) is not None:
        bound = witness.check.bound
        ratio = float(witness.below / bound) if bound else float("inf")
        return ExactLaw(False, ratio, str(verdict.witness).partition(", x=")[0])
    if verdict.holds:
        shares = [
            float(each.below / each.check.bound) for each in verdict.findings if each.check.bound
        ]
        return ExactLaw(True, max(shares, default=0.0), "")
    return ExactLaw(None, 0.0, "its law has too many outcomes")
