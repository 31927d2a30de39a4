"""The exact law of one mechanism of the user's own, on the data of one leaf and of its neighbour.

For mechanisms that read the data in another way than through statistics, or whose answers are no
numbers with noise. It is `queryable.audit.audit` on this pair of data sets.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np

from queryable.audit.auditing import audit
from queryable.audit.neighbours.readings import Reader
from queryable.data.watching import watching
from queryable.losses import Loss, Measure
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import Query
from queryable.randomness.coins import Coins, SeededCoins

_MOST_VIEWS = 4_000
_SAMPLES = 1_000


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
    if not queries and _is_told_apart(mechanism, one, other, d_in):
        why = "not within its claim, by samples of the form of its answers"
        return ExactLaw(False, float("inf"), why)
    return ExactLaw(None, 0.0, "its law has too many outcomes")


@attrs.frozen
class FormOfAnswer(Measurement[Any]):
    """The form of another mechanism's answer: keys, lengths, texts and types, without numbers."""

    mechanism: InteractiveMechanism[Any]

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """That of the mechanism: this is postprocessing."""
        return self.mechanism.privacy_map(d_in, measure)

    def release(self, dataset: Any, coins: Coins) -> Any:
        """The form."""
        return form_of_answer(self.mechanism.init(dataset, coins)[1])


def form_of_answer(answer: Any) -> Any:
    """What an answer is, with the names of types in place of numbers."""
    if isinstance(answer, Mapping):
        return tuple(sorted((repr(key), form_of_answer(answer[key])) for key in answer))
    if isinstance(answer, np.ndarray):
        return type(answer).__name__, answer.shape
    if isinstance(answer, tuple | list):
        return tuple(map(form_of_answer, answer))
    if isinstance(answer, set | frozenset):
        return tuple(sorted(map(repr, answer)))
    if isinstance(answer, str | bool | bytes):
        return answer
    return type(answer).__name__


def _is_told_apart(mechanism: InteractiveMechanism[Any], one: Any, other: Any, d_in: int) -> bool:
    """Whether samples of the form of the answers refute the claim: wrongly once in a million."""
    try:
        with watching(Reader()):
            verdict = audit(
                FormOfAnswer(mechanism),
                [(one, other)],
                d_in=d_in,
                samples=_SAMPLES,
                confidence="0.999999",
                limit=1,
                coins=SeededCoins(d_in),
                progress=False,
            )
    except Exception:
        return False
    return verdict.refuted
