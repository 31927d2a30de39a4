"""The errors of the project. This module imports nothing.

Texts depend on public values only: the query, the parameters and the accounting. Exceptions that
are raised while data may have been touched go to the curator (`Queryable(on_fault=...)`); the
analyst sees the constant text of `MechanismFault`.
"""


class InteractiveError(Exception):
    """Base class of all errors that an analyst can get."""


class QueryError(InteractiveError):
    """The query is wrong. The error is public, and nothing has changed."""


class UnknownQueryError(QueryError):
    """The mechanism does not answer queries of this type."""


class UnknownChildError(QueryError):
    """No interactive child has this id."""


class RetiredChildError(QueryError):
    """The child answers no more queries: it failed, or a later launch retired it."""


class ReentrantQueryError(QueryError):
    """A queryable was asked from inside one of its own queries."""


class PrivacyClaimError(QueryError):
    """The claimed loss is below the privacy map, or no map exists in the measure asked for."""


class UnprovenCompositionError(QueryError):
    """No theorem covers this composition. The text names the open problem and an alternative."""


def _text_of(amount: object, *, exactly: bool = False) -> str:
    try:
        return repr(amount) if exactly else str(amount)
    except Exception:
        return f"<{type(amount).__name__}>"


class QueryRefusedError(InteractiveError):
    """The mechanism declined the query. Its state and its live children are unchanged.

    `requested`, `spent` and `remaining` are losses of the innermost filter that refused, or None
    where the refusal is not about a budget. `instead` is advice in words.
    """

    def __init__(
        self,
        reason: str,
        requested: object = None,
        spent: object = None,
        remaining: object = None,
        instead: str = "",
    ) -> None:
        amounts = (("requested", requested), ("spent", spent), ("remaining", remaining))
        alike = requested is not None and _text_of(requested) == _text_of(remaining)  # show exactly
        told = [
            f"{name} {_text_of(amount, exactly=alike)}"
            for name, amount in amounts
            if amount is not None
        ]
        text = f"{reason} ({', '.join(told)})" if told else reason
        super().__init__(f"{text}; {_text_of(instead)}" if instead else text)
        self.reason = reason
        self.requested = requested
        self.spent = spent
        self.remaining = remaining
        self.instead = instead

    def advised(self, instead: str) -> "QueryRefusedError":
        """The same refusal with other advice."""
        return type(self)(self.reason, self.requested, self.spent, self.remaining, instead)


class MechanismFault(InteractiveError):  # noqa: N818 (the contract's name)
    """A mechanism failed while data may have been touched. Its charge is kept, the cause hidden."""

    def __init__(self) -> None:
        super().__init__(
            "the mechanism failed; its charge is kept and it will not answer again "
            "(the curator's on_fault has the details; rehearse it on public sample data to find "
            "errors for free)"
        )


class ForeignNoiseError(QueryError):
    """The noise of a mechanism comes from elsewhere, so that coins cannot decide it."""

    def __init__(self) -> None:
        super().__init__(
            "its noise is drawn elsewhere, by another library, so these coins do not decide it: "
            "neither seeded coins nor those of a curator's ledger, nor an exact audit's. Launch it "
            "in a queryable with the system's coins, the default"
        )


class CodecError(QueryError):
    """A value cannot be written as a text of the curator's schema, or a text cannot be read."""


class PrivacyWarning(UserWarning):
    """What a budget protects may be less than what was meant. The text is public."""


class AccuracyWarning(UserWarning):
    """Answers will say less than was meant. The text is public."""


class MisreadWarning(UserWarning):
    """Much of the data is probably not read as it is meant. Private: for the owner of the data."""


class HandleError(InteractiveError, TypeError):
    """A handle was copied, pickled, or used in a forked process."""
