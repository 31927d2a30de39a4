"""Interactive differential privacy: mechanisms as state machines, and the analyst's handle."""

import logging
from typing import TYPE_CHECKING

from queryable.installed import warn_of_strangers
from queryable.lazily import lazily

if TYPE_CHECKING:
    from queryable.checks.scales import accuracy
    from queryable.display.explanation import explain
    from queryable.errors import (
        InteractiveError,
        MechanismFault,
        PrivacyClaimError,
        PrivacyWarning,
        QueryError,
        QueryRefusedError,
        UnknownQueryError,
        UnprovenCompositionError,
    )
    from queryable.handle import Queryable
    from queryable.losses import FDP, GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
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
        Update,
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
    from queryable.rehearsal import rehearse
    from queryable.statistics import Bit, Statistic
    from queryable.streams.blocks import Last, LaunchOver
    from queryable.streams.levels import UserLevel
    from queryable.view import interact, truncated_view
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "queryable.checks.scales": "accuracy",
            "queryable.display.explanation": "explain",
            "queryable.errors": (
                "InteractiveError MechanismFault PrivacyClaimError PrivacyWarning "
                "QueryError QueryRefusedError UnknownQueryError UnprovenCompositionError"
            ),
            "queryable.handle": "Queryable",
            "queryable.losses": "FDP GDP RDP ZCDP ApproxDP ApproxZCDP Loss PureDP",
            "queryable.mechanism": "InteractiveMechanism Measurement",
            "queryable.messages": (
                "Ask CanAfford Failed Halted Launch Launched PrivacyLossQuery Refused Update"
            ),
            "queryable.postprocessing": (
                "FromAnalyst FromMechanism PersonInTheMiddle Postprocessed ToAnalyst ToMechanism"
            ),
            "queryable.randomness.coins": "SYSTEM Coins SeededCoins SystemCoins",
            "queryable.rehearsal": "rehearse",
            "queryable.statistics": "Bit Statistic",
            "queryable.streams.blocks": "Last LaunchOver",
            "queryable.streams.levels": "UserLevel",
            "queryable.view": "interact truncated_view",
        },
    )

# Without a handler Python prints warnings to the terminal, where the analyst reads.
logging.getLogger("queryable").addHandler(logging.NullHandler())

__distribution__ = "queryable-dp"
warn_of_strangers()

__all__ = [
    "FDP",
    "GDP",
    "RDP",
    "SYSTEM",
    "ZCDP",
    "ApproxDP",
    "ApproxZCDP",
    "Ask",
    "Bit",
    "CanAfford",
    "Coins",
    "Failed",
    "FromAnalyst",
    "FromMechanism",
    "Halted",
    "InteractiveError",
    "InteractiveMechanism",
    "Last",
    "Launch",
    "LaunchOver",
    "Launched",
    "Loss",
    "Measurement",
    "MechanismFault",
    "PersonInTheMiddle",
    "Postprocessed",
    "PrivacyClaimError",
    "PrivacyLossQuery",
    "PrivacyWarning",
    "PureDP",
    "QueryError",
    "QueryRefusedError",
    "Queryable",
    "Refused",
    "SeededCoins",
    "Statistic",
    "SystemCoins",
    "ToAnalyst",
    "ToMechanism",
    "UnknownQueryError",
    "UnprovenCompositionError",
    "Update",
    "UserLevel",
    "accuracy",
    "explain",
    "interact",
    "rehearse",
    "truncated_view",
]
