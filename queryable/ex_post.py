"""Ex-post privacy: mechanisms whose loss is bounded by a function of their answers.

Responsible for `Expense`, the bound that such a mechanism states: a pure function of the queries
and answers so far. It bounds their loss, and the loss after one more query in the worst case. It
reads no data.
"""

from abc import ABC, abstractmethod
from fractions import Fraction

import attrs

from queryable.mechanism import InteractiveMechanism, State
from queryable.messages import Answer, Query


@attrs.frozen
class Opening:
    """The launch, as the first query of a transcript; its answer is the opening answer."""


class Expense(ABC):
    """The bound on the loss of a transcript: a frozen value, a function of public values."""

    @abstractmethod
    def epsilon(self, d_in: int) -> Fraction:
        """The bound E on the loss of the transcript so far, in nats, for `d_in` >= 1 records."""

    @abstractmethod
    def at_worst(self, query: Query, d_in: int) -> Fraction:
        """The largest possible E after `query` has been answered.

        Raises:
            QueryError: the query is wrong; the error that the mechanism would raise.
        """

    @abstractmethod
    def after(self, query: Query, answer: Answer) -> "Expense":
        """The expense of the transcript with one more exchange."""


class ExPostMechanism(InteractiveMechanism[State]):
    """An interactive mechanism with a bound on its realised loss, its expense.

    Privacy:
        Claim: let M(h) and M'(h) be the probabilities of the answers in a transcript h, given its
            queries, for data that differ in `d_in` records, and E(h) its expense. For every
            adversary, over the transcripts h that it may end with,
            sum of max(0, M(h) - e^E(h) M'(h)) <= delta(d_in).
            It is enough that the realised loss log(M/M') is above E, at some moment, with
            probability at most delta: the definition of Ligett et al. 2017 and Rogers et al. 2023.
        Checked by: tests/audit/test_ex_post.py
    An (epsilon, delta)-DP mechanism is the special case of a constant E.
    """

    @abstractmethod
    def expense(self) -> Expense:
        """The expense of the empty transcript, before the launch."""

    def delta(self, d_in: int) -> Fraction:
        """The probability that the realised loss exceeds the expense; 0 by default."""
        return Fraction(0)
