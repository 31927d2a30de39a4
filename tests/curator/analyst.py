"""The process that the test of kill -9 kills: an analysis on a ledger that tells what it has."""

import warnings
from multiprocessing.connection import Connection
from typing import Any

import curator
from composition import FiltCon
from mechanisms import BrownianNoiseReduction, Count, Gaussian, Open, Refine, SparseVector, column
from queryable import ZCDP, Queryable
from queryable.messages import bare
from queryable.running.log import is_poll
from tests.stored import STORED

DATA = {"age": list(range(100))}
BUDGET = FiltCon(ZCDP(1000))


def opened(ledger: str) -> Queryable:
    return curator.open(ledger, BUDGET, DATA, name="visits", codec=STORED)


def answers(handle: Queryable) -> list[str]:
    """The view as texts, without polls."""
    kept = [each for each in handle.view if not is_poll(each)]
    return [STORED.encode((each.path, each.query, bare(each.answer))).decode() for each in kept]


def step(table: Queryable, number: int) -> None:
    """The number-th message of the analysis."""
    kinds: dict[int, Any] = {
        0: lambda: table.launch(SparseVector(50, epsilon="1/10", cutoff=10**6), name="search"),
        1: lambda: table.launch(BrownianNoiseReduction() @ FiltCon(ZCDP(100)), name="person"),
    }
    if number in kinds:
        kinds[number]()
        return
    search, person = table.children[0], table.children[1]
    where = Count(column("age") >= number % 90)
    match number % 5:
        case 0:
            table.launch(Gaussian(where, rho="1/50"))
        case 1:
            search(where)
        case 2:
            person(Open(where, (9000, 300, 30)))
        case 3:
            person.children[[*person.children][-1]](Refine())
        case _:
            table.launch_many([Gaussian(where, rho="1/50")] * 2)


def run(ledger: str, client: "Connection[Any, Any]") -> None:
    """Go on with the analysis for ever; send each answer, with its place, once it is there."""
    warnings.simplefilter("ignore")
    table, shown = opened(ledger), 0
    while True:
        said = answers(table)
        for place in range(shown, len(said)):
            client.send((place, said[place]))
        shown = len(said)
        step(table, messages(said))


def messages(said: list[str]) -> int:
    """The number of messages that are in a view: every fifth has two exchanges."""
    number = count = 0
    while count < len(said):
        count += 2 if number >= 2 and number % 5 == 4 else 1
        number += 1
    return number
