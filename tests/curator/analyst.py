"""The process that the tests of kill -9 kill: an analysis on a ledger that tells what it has."""

import warnings
from fractions import Fraction
from multiprocessing.connection import Connection
from typing import Any

import curator
from composition import FiltCon
from mechanisms import BrownianNoiseReduction, Count, Gaussian, Open, Refine, SparseVector, column
from queryable import ZCDP, Queryable
from queryable.messages import Launched, without_receipts
from queryable.running.telling import is_poll
from tests.stored import KEY, STORED

DATA = {"age": list(range(100))}
PERSON = FiltCon(ZCDP(100))
SEARCH = SparseVector(50, epsilon="1/10", cutoff=10**6)


def opened(ledger: str, budget: Fraction) -> Queryable:
    """The root, with so much left when the first two messages are paid for."""
    loss = ZCDP(PERSON.budget.rho + SEARCH.privacy_map(1, ZCDP).rho + budget)
    return curator.open(ledger, FiltCon(loss), DATA, name="visits", key=KEY, codec=STORED)


def answers(handle: Queryable, after: int = 0) -> list[str]:
    """The view after the first exchanges as texts, without polls."""
    kept = [each for each in handle.view if not is_poll(each)][after:]
    return [
        STORED.encode((each.path, each.query, without_receipts(each.answer))).decode()
        for each in kept
    ]


def charged(handle: Queryable) -> Fraction:
    """What the launches at the root have cost, computed from the view."""
    launches = [each for each in handle.view if isinstance(each.answer, Launched) and not each.path]
    return sum((each.query.mechanism.privacy_map(1, ZCDP).rho for each in launches), Fraction(0))


def step(table: Queryable, number: int) -> None:
    """The number-th message of the analysis."""
    kinds: dict[int, Any] = {
        0: lambda: table.launch(SEARCH, name="search"),
        1: lambda: table.launch(BrownianNoiseReduction() @ PERSON, name="person"),
    }
    if number in kinds:
        kinds[number]()
        return
    search, person = table.children[0], table.children[1]
    where = Count(column("age") >= number % 90)
    match number % 5:
        case 0:
            table.launch_many([Gaussian(where, rho="1/50")])
        case 1:
            search(where)
        case 2:
            person(Open(where, (9000, 300, 30)))
        case 3:
            person.children[[*person.children][-1]](Refine())
        case _:
            table.launch_many([Gaussian(where, rho="1/50")] * 2)


def run(ledger: str, budget: Fraction, client: "Connection[Any, Any]") -> None:
    """Go on with the analysis for ever; send each answer, with its place, once it is there."""
    warnings.simplefilter("ignore")
    table, shown = opened(ledger, budget), 0
    while True:
        for said in answers(table, shown):
            client.send((shown, said))
            shown += 1
        step(table, messages(shown))


def messages(exchanges: int) -> int:
    """The number of messages after so many exchanges: every fifth has two."""
    number = count = 0
    while count < exchanges:
        count += 2 if number >= 2 and number % 5 == 4 else 1
        number += 1
    return number
