"""Composition of interactive mechanisms: filters, odometers and other compositors.

- `compositors/`: the mechanisms that run children, such as `FiltCon` and `OdomCon`.
- `rules/`: how losses add up (accumulators) and when a launch fits (continuation rules).
- `validity`: the table of theorems `VALIDITY`; `verdicts` has the classes of its rows and cells,
  and `proofs` looks a composition up in it.
- `written`: the rules and accounts that have a text.
- `budgets`: a filter for a budget that is stated as epsilon and delta.
- `advice/`: `admitted`, how many launches a rule admits; `recommend`, to choose a rule, with hints
  of what pays beyond it; `advice.plan`, to share a budget among questions; pictures (extra `plot`).
"""

from typing import TYPE_CHECKING

try:
    from queryable.installed import require_own
except ImportError as error:
    raise ImportError("`queryable` on the path is another project's, not queryable-dp's") from error
else:
    require_own("queryable")

from queryable.lazily import lazily

if TYPE_CHECKING:
    from composition.advice.admission import admitted
    from composition.advice.planning import recommend
    from composition.budgets import budget
    from composition.compositors.blocks.blocks import Blocks
    from composition.compositors.blocks.pacing import AtMostADay
    from composition.compositors.ex_post import ExPost
    from composition.compositors.filters import Filt, FiltCon, FiltSeq
    from composition.compositors.fixed.concurrent import ConComp
    from composition.compositors.fixed.parallel import Parallel
    from composition.compositors.fixed.partition import Partition
    from composition.compositors.individual.individual import Individual
    from composition.compositors.odometers import Odom, OdomCon, OdomSeq
    from composition.compositors.universal import Universal
    from composition.rules import (
        Basic,
        GDPResidue,
        Menu,
        Rogers2016,
        Rogers2023,
        Rule,
        ViaGDP,
        ViaRenyi,
        ViaZCDP,
        Whitehouse2023,
    )
    from composition.rules.duality import accumulator_of, filter_of
    from composition.rules.odometers.boundaries import (
        LinearOdometer,
        MixtureOdometer,
        OneSidedMixtureOdometer,
        Rogers2016Odometer,
        RogersLemma64Odometer,
        StitchedOdometer,
    )
    from composition.rules.odometers.renyi_odometer import RenyiOdometer
    from composition.rules.odometers.time_uniform import TimeUniform
    from composition.validity import VALIDITY
    from queryable.postprocessing import PersonInTheMiddle, Postprocessed
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "composition.advice.admission": "admitted",
            "composition.advice.planning": "recommend",
            "composition.budgets": "budget",
            "composition.compositors.blocks.blocks": "Blocks",
            "composition.compositors.blocks.pacing": "AtMostADay",
            "composition.compositors.ex_post": "ExPost",
            "composition.compositors.filters": "Filt FiltCon FiltSeq",
            "composition.compositors.fixed.concurrent": "ConComp",
            "composition.compositors.fixed.parallel": "Parallel",
            "composition.compositors.fixed.partition": "Partition",
            "composition.compositors.individual.individual": "Individual",
            "composition.compositors.odometers": "Odom OdomCon OdomSeq",
            "composition.compositors.universal": "Universal",
            "composition.rules": (
                "Basic GDPResidue Menu Rogers2016 Rogers2023 Rule ViaGDP ViaRenyi ViaZCDP "
                "Whitehouse2023"
            ),
            "composition.rules.duality": "accumulator_of filter_of",
            "composition.rules.odometers.boundaries": (
                "LinearOdometer MixtureOdometer OneSidedMixtureOdometer Rogers2016Odometer "
                "RogersLemma64Odometer StitchedOdometer"
            ),
            "composition.rules.odometers.renyi_odometer": "RenyiOdometer",
            "composition.rules.odometers.time_uniform": "TimeUniform",
            "composition.validity": "VALIDITY",
            "queryable.postprocessing": "PersonInTheMiddle Postprocessed",
        },
    )

__distribution__ = "queryable-dp"

__all__ = [
    "VALIDITY",
    "AtMostADay",
    "Basic",
    "Blocks",
    "ConComp",
    "ExPost",
    "Filt",
    "FiltCon",
    "FiltSeq",
    "GDPResidue",
    "Individual",
    "LinearOdometer",
    "Menu",
    "MixtureOdometer",
    "Odom",
    "OdomCon",
    "OdomSeq",
    "OneSidedMixtureOdometer",
    "Parallel",
    "Partition",
    "PersonInTheMiddle",
    "Postprocessed",
    "RenyiOdometer",
    "Rogers2016",
    "Rogers2016Odometer",
    "Rogers2023",
    "RogersLemma64Odometer",
    "Rule",
    "StitchedOdometer",
    "TimeUniform",
    "Universal",
    "ViaGDP",
    "ViaRenyi",
    "ViaZCDP",
    "Whitehouse2023",
    "accumulator_of",
    "admitted",
    "budget",
    "filter_of",
    "recommend",
]
