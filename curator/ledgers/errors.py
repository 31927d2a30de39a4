"""The errors of ledgers. Their texts name roots, files and numbers of events, nothing private."""

from queryable.errors import InteractiveError


class LedgerError(InteractiveError):
    """The ledger cannot do this. What was to be appended is not in the ledger."""


class LeaseError(LedgerError):
    """Another writer holds the root, or this one has lost it."""


class LedgerFullError(LedgerError):
    """There is no room for further events."""


class UnknownOutcomeError(LedgerError):
    """The ledger did not say whether it holds the events. Read the root again before any append."""


class BrokenChainError(LedgerError):
    """The events of a root are not what was appended: one was changed, added or removed."""
