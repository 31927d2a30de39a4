"""The review of roots and budgets of all kinds."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

import curator
from composition import Blocks, ConComp, FiltCon, FiltSeq, OdomCon
from curator import commands
from curator.reports.pages import FORMS, carried, page
from curator.reports.reviewing import document_of
from curator.settings.configuration import read_configuration
from mechanisms import Count, Laplace, SparseVector
from queryable import ZCDP, ApproxDP, PureDP
from queryable.losses import ApproxZCDP
from tests.reporting import NOW

NONE = "no bound is fixed in advance"
ROOTS = {
    "blocks": (Blocks(FiltCon(ZCDP(1))), "ZCDP(rho=1)"),
    "fixed": (ConComp([FiltCon(PureDP(1)), FiltCon(PureDP(2))]), "PureDP(epsilon=3)"),
    "odometer": (OdomCon(ZCDP), NONE),
    "sequential": (FiltSeq(ZCDP(1)), "ZCDP(rho=1)"),
    "vector": (SparseVector(100, epsilon=1), "PureDP(epsilon=1)"),
}
BUDGETS = {
    "{ epsilon = 1 }": "epsilon at most 1, delta 0",
    "{ epsilon = 100 }": "epsilon at most 100, delta 0",
    '{ epsilon = "1e300" }': "epsilon at most 1e+300, delta 0",
    '{ epsilon = 0, delta = "1e-6" }': "epsilon at most 0, delta 1e-6",
    '{ epsilon = "1e-300", delta = "1e-300" }': "epsilon at most 1e-300, delta 1e-300",
    '{ epsilon = 1, delta = "1e-6", rule = "whitehouse-2023" }': "epsilon at most 1, delta 1e-6",
    "{ zcdp = 0 }": "epsilon at most 0, delta 1e-6; epsilon at most 0, delta 1e-9",
    '{ zcdp = "1/10", delta = "1e-6" }': None,
    "{ gdp = 0 }": "epsilon at most 0, delta 1e-6; epsilon at most 0, delta 1e-9",
    '{ renyi = { 8 = "1/10" } }': None,
    '{ renyi = { 2 = "1/20", 8 = "1/10" } }': None,
    '{ dominated = { epsilon = "1/2", mu = "1/3", delta = "1e-6" } }': None,
}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder = tmp_path_factory.mktemp("kinds") / "clinic"
    commands.init(folder)
    (folder / "curator.toml").write_text(
        'ledger = "ledger.db"\nkey = "noise.key"\n'
        + "".join(
            f'[datasets.{number}]\nsource = "x.csv"\nbudget = {budget}\n'
            for number, budget in enumerate(BUDGETS)
        )
    )
    ledger, key = folder / "ledger.db", str(folder / "noise.key")
    for name, (mechanism, _) in ROOTS.items():
        root = curator.open(ledger, mechanism, {"age": [31] * 30}, name=name, key=key)
        if name in {"odometer", "sequential"}:
            root(Laplace(Count(), epsilon="1/10"))
        curator.release(root)
    grows = curator.open(ledger, FiltCon(ZCDP(1)), {"age": [31] * 30}, name="grows", key=key)
    for block in ("monday", "tuesday"):
        grows.feed({"age": [3]}, block=block)
    curator.release(grows)
    commands.close(str(folder), "fixed")
    return document_of(read_configuration(folder), NOW)


def rows(document: Mapping[str, Any], name: str) -> dict[str, tuple[str, ...]]:
    (found,) = (each for each in document["questions"] if each["id"] == name)
    return {row[0]: tuple(row[1:]) for row in found["rows"]}


def test_each_root_tells_its_bound(document: Mapping[str, Any]) -> None:
    told = {name: row[0] for name, row in rows(document, "definition").items() if name in ROOTS}
    assert told == {name: bound for name, (_, bound) in ROOTS.items()}
    spent = rows(document, "spent")
    assert spent["odometer"] == ("ZCDP(rho≈0.005)", NONE, "1", "1")
    assert spent["fixed"][0] == "PureDP(epsilon=3)"


def test_a_root_that_grew_and_one_that_is_closed(document: Mapping[str, Any]) -> None:
    told = rows(document, "time")
    assert told["grows"] == ("yes", "2", "no")
    assert told["fixed"] == ("no", "0", "yes")
    assert told["sequential"] == ("no", "0", "no")


def test_each_budget_is_told_as_epsilon_and_delta(document: Mapping[str, Any]) -> None:
    told = {name: row[3] for name, row in rows(document, "definition").items() if name.isdigit()}
    for number, wanted in enumerate(BUDGETS.values()):
        assert told[str(number)].startswith("epsilon at most ")
        if wanted is not None:
            assert told[str(number)] == wanted
    at = [*BUDGETS].index('{ zcdp = "1/10", delta = "1e-6" }')
    (said,) = document["facts"]["data_sets"][str(at)]["approximate"]
    exact = ApproxZCDP("1/10", "1e-6").to(ApproxDP, Fraction(said["delta"]))
    assert isinstance(exact, ApproxDP)
    assert exact.epsilon <= Fraction(said["epsilon"])
    guesses = rows(document, "meaning")
    assert all(50 <= int(guesses[str(number)][0]) <= 100 for number in range(len(BUDGETS)))


@pytest.mark.parametrize("form", FORMS)
def test_pages_of_all_kinds(document: Mapping[str, Any], form: str) -> None:
    assert carried(page(document, form))["format"] == document["format"]
