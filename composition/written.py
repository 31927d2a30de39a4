"""The rules and accounts that have a text: in logs, in messages and in answers.

Responsible for the list, and not for the text, which a codec writes. A class is written by the
arguments of its constructor, or by those of its `of_written`, which its `written()` gives.
"""

from composition.compositors.blocks.accounts import Block, BlockAccounts
from composition.compositors.ex_post_claims import ExPostAccount
from composition.compositors.individual.accounts import RecordAccount
from composition.compositors.pool import PooledAccount
from composition.rules import (
    Additive,
    Basic,
    GDPResidue,
    Menu,
    MenuAccount,
    RenyiAccount,
    ResidueAccount,
    Rogers2016,
    Rogers2023,
    RunningSum,
    SlackAccount,
    Units,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from composition.rules.additive import AdditiveAccount
from composition.rules.duality import AccumulatorAccount, AccumulatorRule, RuleAccumulator
from composition.rules.least_budget import LeastBudget, Line
from composition.rules.odometers.boundaries import (
    LinearOdometer,
    MixtureOdometer,
    OneSidedMixtureOdometer,
    Rogers2016Odometer,
    RogersLemma64Odometer,
    StitchedOdometer,
)
from composition.rules.odometers.renyi_odometer import RenyiOdometer
from composition.rules.odometers.time_uniform import Stopping, StoppingAccount, TimeUniformAccount
from composition.rules.renyi import Mixture
from composition.rules.rogers import RogersAccount

RULES: tuple[type, ...] = (
    AccumulatorRule,
    Additive,
    Basic,
    GDPResidue,
    LinearOdometer,
    Menu,
    MixtureOdometer,
    OneSidedMixtureOdometer,
    RenyiOdometer,
    Rogers2016,
    Rogers2016Odometer,
    Rogers2023,
    RogersLemma64Odometer,
    RuleAccumulator,
    StitchedOdometer,
    Stopping,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
"""Rules and accumulators. Analysts send them, so constructors check all that a claim relies on."""

ACCOUNTS: tuple[type, ...] = (
    AccumulatorAccount,
    AdditiveAccount,
    Block,
    BlockAccounts,
    ExPostAccount,
    LeastBudget,
    Line,
    MenuAccount,
    Mixture,
    PooledAccount,
    RecordAccount,
    RenyiAccount,
    ResidueAccount,
    RogersAccount,
    RunningSum,
    SlackAccount,
    StoppingAccount,
    TimeUniformAccount,
    Units,
)
"""Accounts, and what is in them. Only compositors make them."""
