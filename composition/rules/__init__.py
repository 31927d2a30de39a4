"""Continuation rules F decide whether a launch fits, and accumulators G add losses up.

- `base`: the base classes `Rule`, `Account`, `Accumulator`, `RunningAccount`.
- `additive`: `Basic`, losses add coordinate by coordinate.
- `slack`: the base of rules that split delta into a slack and room for the launches' own deltas;
  `weights`: `Whitehouse2023`, `ViaZCDP`, `Rogers2023`, `ViaGDP`, which add up a weight.
- `rogers`: `Rogers2016`. `renyi`: `ViaRenyi`. `residue`: `GDPResidue`. `menus`: `Menu`.
- `odometers`: time-uniform odometers.
- `duality`: filters from accumulators and back (Lemma 2.19); `least_budget`: the account of one.
- `fitting`: the rules that suit a plan of launches.
- `checks`: how accounts are checked, by arithmetic of its own.
- `optimal`, `declared`: losses fixed in advance. These are valid for `ConComp`, not for filters.
"""

from composition.rules.additive import Additive, Basic, RunningSum, additive
from composition.rules.base import Account, Accumulator, Rule, RunningAccount
from composition.rules.menus.costs import Fitted, fitted
from composition.rules.menus.menu import Menu, MenuAccount, Units
from composition.rules.renyi import RenyiAccount, ViaRenyi
from composition.rules.residue import GDPResidue, ResidueAccount
from composition.rules.rogers import Rogers2016
from composition.rules.slack import SlackAccount, SlackRule
from composition.rules.weights import Rogers2023, ViaGDP, ViaZCDP, Whitehouse2023

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
