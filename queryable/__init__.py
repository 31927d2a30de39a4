"""Interactive differential privacy: mechanisms as state machines, and the analyst's handle."""

import logging
from typing import TYPE_CHECKING

from queryable.installed import warn_of_strangers
from queryable.lazily import lazily

if TYPE_CHECKING:
    from queryable.checks.scales import accuracy, scale_for
    from queryable.display.explanation import explain
    from queryable.errors import (
        HandleError,
        InteractiveError,
        MechanismFault,
        MisreadWarning,
        PrivacyClaimError,
        PrivacyWarning,
        QueryError,
        QueryRefusedError,
        ReentrantQueryError,
        RetiredChildError,
        UnknownChildError,
        UnknownQueryError,
        UnprovenCompositionError,
    )
    from queryable.ex_post import ExPostMechanism
    from queryable.faults import touching_data
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
        PureDP,
    )
    from queryable.mechanism import InteractiveMechanism, Measurement
    from queryable.messages import (
        Ask,
        AskMany,
        CanAfford,
        CloseBlock,
        Failed,
        Halted,
        Launch,
        Launched,
        LaunchMany,
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
    from queryable.randomness.laws import Bernoulli
    from queryable.rehearsal import rehearse
    from queryable.statistics import Bit, Statistic
    from queryable.streams.blocks import BlockLossQuery, BlocksQuery, BlockStated, Last, LaunchOver
    from queryable.streams.levels import BlockLevel, DataLevel, EventLevel, Growth, UserLevel
    from queryable.view import View, interact, truncated_view
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "queryable.checks.scales": "accuracy scale_for",
            "queryable.display.explanation": "explain",
            "queryable.errors": (
                "HandleError InteractiveError MechanismFault MisreadWarning PrivacyClaimError "
                "PrivacyWarning QueryError QueryRefusedError ReentrantQueryError "
                "RetiredChildError UnknownChildError UnknownQueryError UnprovenCompositionError"
            ),
            "queryable.ex_post": "ExPostMechanism",
            "queryable.faults": "touching_data",
            "queryable.handle": "Queryable",
            "queryable.losses": (
                "FDP GDP RDP ZCDP ApproxDP ApproxZCDP Dominated ExPostBound Loss PureDP"
            ),
            "queryable.mechanism": "InteractiveMechanism Measurement",
            "queryable.messages": (
                "Ask AskMany CanAfford CloseBlock Failed Halted Launch Launched LaunchMany "
                "PrivacyLossQuery Refused Update"
            ),
            "queryable.postprocessing": (
                "FromAnalyst FromMechanism PersonInTheMiddle Postprocessed ToAnalyst ToMechanism"
            ),
            "queryable.randomness.coins": "SYSTEM Coins SeededCoins SystemCoins",
            "queryable.randomness.laws": "Bernoulli",
            "queryable.rehearsal": "rehearse",
            "queryable.statistics": "Bit Statistic",
            "queryable.streams.blocks": "BlockLossQuery BlocksQuery BlockStated Last LaunchOver",
            "queryable.streams.levels": "BlockLevel DataLevel EventLevel Growth UserLevel",
            "queryable.view": "View interact truncated_view",
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
    "AskMany",
    "Bernoulli",
    "Bit",
    "BlockLevel",
    "BlockLossQuery",
    "BlockStated",
    "BlocksQuery",
    "CanAfford",
    "CloseBlock",
    "Coins",
    "DataLevel",
    "Dominated",
    "EventLevel",
    "ExPostBound",
    "ExPostMechanism",
    "Failed",
    "FromAnalyst",
    "FromMechanism",
    "Growth",
    "Halted",
    "HandleError",
    "InteractiveError",
    "InteractiveMechanism",
    "Last",
    "Launch",
    "LaunchMany",
    "LaunchOver",
    "Launched",
    "Loss",
    "Measurement",
    "MechanismFault",
    "MisreadWarning",
    "PersonInTheMiddle",
    "Postprocessed",
    "PrivacyClaimError",
    "PrivacyLossQuery",
    "PrivacyWarning",
    "PureDP",
    "QueryError",
    "QueryRefusedError",
    "Queryable",
    "ReentrantQueryError",
    "Refused",
    "RetiredChildError",
    "SeededCoins",
    "Statistic",
    "SystemCoins",
    "ToAnalyst",
    "ToMechanism",
    "UnknownChildError",
    "UnknownQueryError",
    "UnprovenCompositionError",
    "Update",
    "UserLevel",
    "View",
    "accuracy",
    "explain",
    "interact",
    "rehearse",
    "scale_for",
    "touching_data",
    "truncated_view",
]
