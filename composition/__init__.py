"""Compositors: interactive mechanisms made of interactive mechanisms."""

from composition.concurrent import ConComp
from composition.filters import FiltCon
from composition.odometers import OdomCon
from composition.rules import Account, Basic, Rule, Whitehouse2023
from composition.validity import VALIDITY
from queryable.postprocessing import PersonInTheMiddle, Postprocessed

__all__ = [
    "VALIDITY",
    "Account",
    "Basic",
    "ConComp",
    "FiltCon",
    "OdomCon",
    "PersonInTheMiddle",
    "Postprocessed",
    "Rule",
    "Whitehouse2023",
]
