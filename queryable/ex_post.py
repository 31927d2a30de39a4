"""Ex-post privacy: mechanisms whose loss is bounded by what was said, not in advance.

Responsible for what such a mechanism states: a pure, public machine that reads queries and answers
and says how much they may have cost, and how much one more query may cost at worst. Knows no
mechanism, no compositor and no data.
"""

from abc import ABC, abstractmethod
from fractions import Fraction

import attrs

from queryable.mechanism import InteractiveMechanism, State
from queryable.messages import Answer, Query


@attrs.frozen
class Opening:
    """The launch itself, as the first query of a transcript: its answer is the opening."""


class Expense(ABC):
    """What a transcript may have cost. A frozen value, and a function of public things alone."""

    @abstractmethod
    def epsilon(self, d_in: int) -> Fraction:
        """The bound E on the loss of the transcript so far, in nats, for `d_in` >= 1 records."""

    @abstractmethod
    def at_worst(self, query: Query, d_in: int) -> Fraction:
        """The largest that E can be once `query` has been answered.

        Raises:
            QueryError: the query is wrong; what the mechanism itself would say.
        """

    @abstractmethod
    def after(self, query: Query, answer: Answer) -> "Expense":
        """The transcript with one more exchange."""


class ExPostMechanism(InteractiveMechanism[State]):
    """An interactive mechanism that states, besides any loss in advance, a realised one.

    Privacy:
        Claim: let M(h) and M'(h) be the probabilities of the answers in a transcript h, given its
            queries, for data that differ in `d_in` records, and E(h) its expense. For every
            adversary, over the transcripts h that it may end with,
            sum of max(0, M(h) - e^E(h) M'(h)) <= delta(d_in).
            It is enough that the realised loss log(M/M') is above E, at some moment, with
            probability at most delta: the definition of Ligett et al. 2017 and Rogers et al. 2023.
        Checked by: tests/audit/test_ex_post.py
    An (epsilon, delta)-DP mechanism is one with a constant E.
    """

    @abstractmethod
    def expense(self) -> Expense:
        """That of the empty transcript, before the mechanism was launched."""

    def delta(self, d_in: int) -> Fraction:
        """The probability that the expense says too little; by default it never does."""
        return Fraction(0)

    def understood(self, query: Query) -> Query:
        """The query as plain data; by default as it is.

        A query is an object that an analyst made, and may say something else when it is read again.
        What is checked, answered and charged is what this gives.

        Raises:
            QueryError: the query is wrong.
        """
        return query
