"""Interactive differential privacy: mechanisms as state machines, and the analyst's handle."""

import logging

from queryable.accuracy import accuracy, scale_for
from queryable.answers import Noise, NoisyArray, NoisyInt
from queryable.display.explanation import explain
from queryable.display.ledger import Ledger, LedgerRow
from queryable.errors import (
    HandleError,
    InteractiveError,
    MechanismFault,
    PrivacyClaimError,
    QueryError,
    QueryRefusedError,
    ReentrantQueryError,
    RetiredChildError,
    UnknownChildError,
    UnknownQueryError,
    UnprovenCompositionError,
)
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.faults import touching_data
from queryable.guarantees import Guarantee
from queryable.handle import Queryable
from queryable.losses import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Dominated,
    ExPostBound,
    Loss,
    Measure,
    PureDP,
    RenyiCurve,
    TimeUniformBound,
)
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Ask,
    CanAfford,
    Failed,
    Halted,
    Launch,
    Launched,
    PrivacyLossQuery,
    Refused,
)
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    Postprocessed,
    ToAnalyst,
    ToMechanism,
)
from queryable.randomness.coins import SYSTEM, Coins, SeededCoins, SystemCoins
from queryable.randomness.laws import Bernoulli, FairBits, Law, UniformBelow
from queryable.rehearsal import Rehearsal, rehearse
from queryable.statistics import Bit, IntegerStatistic, Statistic
from queryable.view import Adversary, Exchange, View, interact, truncated_view

# Without a handler Python prints warnings to the terminal, where the analyst reads.
logging.getLogger("queryable").addHandler(logging.NullHandler())

__all__ = [
    "FDP",
    "GDP",
    "RDP",
    "SYSTEM",
    "ZCDP",
    "Adversary",
    "ApproxDP",
    "ApproxZCDP",
    "Ask",
    "Bernoulli",
    "Bit",
    "CanAfford",
    "Coins",
    "Dominated",
    "ExPostBound",
    "ExPostMechanism",
    "Exchange",
    "Expense",
    "Failed",
    "FairBits",
    "FromAnalyst",
    "FromMechanism",
    "Guarantee",
    "Halted",
    "HandleError",
    "IntegerStatistic",
    "InteractiveError",
    "InteractiveMechanism",
    "Launch",
    "Launched",
    "Law",
    "Ledger",
    "LedgerRow",
    "Loss",
    "Measure",
    "Measurement",
    "MechanismFault",
    "Noise",
    "NoisyArray",
    "NoisyInt",
    "Opening",
    "PersonInTheMiddle",
    "Postprocessed",
    "PrivacyClaimError",
    "PrivacyLossQuery",
    "PureDP",
    "QueryError",
    "QueryRefusedError",
    "Queryable",
    "ReentrantQueryError",
    "Refused",
    "Rehearsal",
    "RenyiCurve",
    "RetiredChildError",
    "SeededCoins",
    "Statistic",
    "SystemCoins",
    "TimeUniformBound",
    "ToAnalyst",
    "ToMechanism",
    "UniformBelow",
    "UnknownChildError",
    "UnknownQueryError",
    "UnprovenCompositionError",
    "View",
    "accuracy",
    "explain",
    "interact",
    "rehearse",
    "scale_for",
    "touching_data",
    "truncated_view",
]
