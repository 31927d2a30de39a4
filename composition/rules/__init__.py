"""Continuation rules and their accumulators: when a launch still fits, and what has been lost."""

from composition.rules.additive import Additive, Basic, RunningSum, additive
from composition.rules.base import Account, Accumulator, Rule, RunningAccount
from composition.rules.costs import Fitted, fitted
from composition.rules.menu import Menu, MenuAccount, Units
from composition.rules.renyi import RenyiAccount, ViaRenyi
from composition.rules.residue import GDPResidue, ResidueAccount
from composition.rules.rogers import Rogers2016
from composition.rules.slack import (
    Rogers2023,
    SlackAccount,
    SlackRule,
    ViaGDP,
    ViaZCDP,
    Whitehouse2023,
)

__all__ = [
    "Account",
    "Accumulator",
    "Additive",
    "Basic",
    "Fitted",
    "GDPResidue",
    "Menu",
    "MenuAccount",
    "RenyiAccount",
    "ResidueAccount",
    "Rogers2016",
    "Rogers2023",
    "Rule",
    "RunningAccount",
    "RunningSum",
    "SlackAccount",
    "SlackRule",
    "Units",
    "ViaGDP",
    "ViaRenyi",
    "ViaZCDP",
    "Whitehouse2023",
    "additive",
    "fitted",
]
