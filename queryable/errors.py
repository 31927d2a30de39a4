"""Every error of the project; imports nothing.

The texts depend on public things only: the query, the parameters and the accounting.
What went wrong while data may have been touched is told to the curator alone
(`Queryable(on_fault=...)`); the analyst sees the constant text of `MechanismFault`.
"""


class InteractiveError(Exception):
    """Base of every error an analyst meets."""


class QueryError(InteractiveError):
    """The query is wrong: the analyst's fault, public, and nothing has changed."""


class UnknownQueryError(QueryError):
    """The mechanism does not answer queries of this kind."""


class UnknownChildError(QueryError):
    """No interactive child has this id."""


class RetiredChildError(QueryError):
    """The child no longer answers: it failed, or a later launch retired it."""


class ReentrantQueryError(QueryError):
    """A queryable was asked from inside one of its own queries."""


class PrivacyClaimError(QueryError):
    """The claimed loss is below the privacy map, or there is no map in the measure asked for."""


class UnprovenCompositionError(QueryError):
    """No theorem covers this composition; the text names the open problem and an alternative."""


def _told(amount: object, *, exactly: bool = False) -> str:
    try:
        return repr(amount) if exactly else str(amount)
    except Exception:
        return f"<{type(amount).__name__}>"


class QueryRefusedError(InteractiveError):
    """The mechanism declined; state and live children are unharmed.

    `requested`, `spent` and `remaining` are losses of the filter that refused, the innermost one,
    or None where a refusal is not about a budget. `instead` says what to do now, in words.
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
        alike = requested is not None and _told(requested) == _told(remaining)  # so: exactly
        told = [
            f"{name} {_told(amount, exactly=alike)}"
            for name, amount in amounts
            if amount is not None
        ]
        text = f"{reason} ({', '.join(told)})" if told else reason
        super().__init__(f"{text}; {_told(instead)}" if instead else text)
        self.reason = reason
        self.requested = requested
        self.spent = spent
        self.remaining = remaining
        self.instead = instead


class MechanismFault(InteractiveError):  # noqa: N818 (the contract's name)
    """A mechanism failed while data may have been touched; its charge is kept, its cause hidden."""

    def __init__(self) -> None:
        super().__init__(
            "the mechanism failed; its charge is kept and it will not answer again "
            "(the curator's on_fault has the details; rehearse it on public sample data to find "
            "errors for free)"
        )


class HandleError(InteractiveError, TypeError):
    """A handle was copied, pickled, or used in a forked process."""
