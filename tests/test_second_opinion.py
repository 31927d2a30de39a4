"""Other people's accountants never find more than we claim, and find a loss that is too small."""

import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

import curator
from benchmarks.second_opinion.__main__ import events_of, lines, main
from benchmarks.second_opinion.analyses import analysis
from benchmarks.second_opinion.comparing import PYTHON, Compared, compared, subjects
from composition import FiltCon, OdomCon
from curator import commands
from mechanisms import Count, ExponentialMechanism, Gaussian, Laplace, RandomizedResponse
from queryable import ZCDP, Bit, PureDP, Queryable, Statistic
from queryable.events.charges import Events
from queryable.losses import GDP, Loss
from queryable.losses.conversions import gdp_to_approx
from tests.served import ROOT as VISITS
from tests.served import opened, serving
from tests.stored import STORED, MemoryLedger

ROOT = Path(__file__).parent.parent
DATA = {"age": [31, 47, 62]}
accountants = pytest.mark.skipif(
    not PYTHON.exists(),
    reason="no build/peers/accountants: see benchmarks/second_opinion/README.md",
)


def scaled(loss: Any, share: Fraction) -> Any:
    """A loss with every parameter but delta and the order scaled."""
    values = {field.name: getattr(loss, field.name) for field in attrs.fields(type(loss))}
    changed = {
        name: tuple(share * each for each in value) if name == "epsilons" else share * value
        for name, value in values.items()
        if name in ("epsilon", "rho", "mu", "epsilons")
    }
    return attrs.evolve(loss, **changed)


def with_share(events: Events, share: Fraction) -> Events:
    """The events with losses that are smaller, as a wrong implementation would state them."""
    return Events(
        attrs.evolve(
            each,
            **{
                name: scaled(loss, share)
                for name in ("loss", "claim", "total")
                if isinstance(loss := getattr(each, name), Loss)
            },
        )
        for each in events
    )


def held(root: Any, *mechanisms: Any) -> Events:
    table = Queryable(root, DATA)
    for each in mechanisms:
        table.launch(each)
    return table.ledger().to_events()


NOISE = (
    Gaussian(Count(), scale=2),
    Laplace(Count(), scale=2),
    RandomizedResponse(Bit(bool), odds=3),
)
SCORES = Statistic(lambda _: [1, 2, 3], l1=3, l2=3, linf=1, shape=(3,))
CHOICE = ExponentialMechanism(SCORES, 1)


CASES = {
    "two": held(FiltCon(ZCDP(9)), NOISE[0], NOISE[0]),
    "all": held(FiltCon(ZCDP(9)), *NOISE, CHOICE),
    "Gaussian": held(OdomCon(ZCDP), NOISE[0]),
    **{type(each).__name__: held(OdomCon(PureDP), each) for each in (*NOISE[1:], CHOICE)},
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[Compared]]:
    """The comparisons of all cases, as they are and with smaller losses: in one process."""
    asked = [each for name, events in CASES.items() for each in subjects(events, f"{name}: ")]
    for share in (Fraction(1, 2), Fraction(9, 10)):
        for name, events in CASES.items():
            asked += subjects(with_share(events, share), f"{name} x {share}: ")
    with pytest.MonkeyPatch.context() as patch:
        wrong = "queryable.losses.conversions.gdp_to_approx"
        patch.setattr(wrong, lambda mu, delta: gdp_to_approx(mu / 2, delta))
        asked += subjects(held(OdomCon(GDP), *NOISE[:1] * 3), "wrong rule: ")
    cases: dict[str, list[Compared]] = {}
    for each in compared(asked):
        cases.setdefault(each.name.split(":")[0], []).append(each)
    return cases


@accountants
def test_theirs_are_not_above_ours(found: dict[str, list[Compared]]) -> None:
    for name in CASES:
        assert [each for each in found[name] if not each.holds] == []
    assert {each.by for each in found["two"]} == {"PLD", "RDP", "OpenDP"}


@accountants
def test_half_of_our_loss_is_found(found: dict[str, list[Compared]]) -> None:
    """By each accountant, of each charge and of the total."""
    wrong = found["two x 1/2"]
    assert not any(each.holds for each in wrong)
    assert {each.by for each in wrong} == {"PLD", "RDP", "OpenDP"}
    assert {each.name.split()[3] for each in wrong} == {"0", "/,"}


@accountants
@pytest.mark.parametrize(
    ("mechanism", "by"),
    [
        ("Gaussian", {"RDP", "OpenDP"}),  # our epsilon is more than a tenth above the exact one
        ("Laplace", {"PLD", "OpenDP"}),
        ("RandomizedResponse", {"PLD", "RDP", "OpenDP"}),
        ("ExponentialMechanism", {"PLD", "OpenDP"}),
    ],
)
def test_a_loss_that_is_a_tenth_too_small_is_found(
    mechanism: str, by: set[str], found: dict[str, list[Compared]]
) -> None:
    assert {each.by for each in found[f"{mechanism} x 9/10"] if not each.holds} >= by


@accountants
def test_a_wrong_rule_is_found(found: dict[str, list[Compared]]) -> None:
    """A filter that converts as if mu were half as large."""
    wrong = [each for each in found["wrong rule"] if each.at.startswith("GDP, epsilon")]
    assert len(wrong) == 4  # two deltas, of a charge and of the total
    assert not any(each.holds for each in wrong)


@accountants
@pytest.mark.slow
def test_a_thousand_random_analyses() -> None:
    found = list(compared(each for number in range(1000) for each in subjects(analysis(number)[1])))
    assert [each for each in found if not each.holds] == []
    numbers = {by: sum(each.by == by for each in found) for by in ("PLD", "RDP", "OpenDP")}
    assert min(numbers.values()) > 1000
    assert any("TimeUniformBound" in each.at for each in found)


@accountants
def test_events_of_dp_accounting_lose_no_less_than_the_law(
    found: dict[str, list[Compared]],
) -> None:
    """Each composes in its accountants, and its epsilon is not below that of the exact draws."""
    program = """
import sys
from dp_accounting import NeighboringRelation as Relation
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from queryable.events.charges import Events
for event in Events.from_json(sys.stdin.read()).to_dp_events():
    kind = type(event).__name__
    relation = Relation.REPLACE_ONE if kind[0] == "R" else Relation.ADD_OR_REMOVE_ONE
    accountant = RdpAccountant if kind[0] == "Z" else PLDAccountant
    print(kind, accountant(neighboring_relation=relation).compose(event).get_epsilon(1e-6))
"""
    run = subprocess.run(
        [str(PYTHON), "-c", program],
        input=CASES["all"].to_json(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    kinds, theirs = zip(*(line.split() for line in run.stdout.splitlines()), strict=True)
    assert kinds == (
        *("GaussianDpEvent", "DiscreteLaplaceDpEvent", "RandomizedResponseDpEvent", "ZCDpEvent"),
    )
    rows = [each for each in found["all"] if each.at == "ZCDP, epsilon at delta=1e-06"][:4]
    for row, stated in zip(rows, map(float, theirs), strict=True):
        assert row.theirs <= stated <= 1.001 * float(row.ours)
    assert float(theirs[0]) <= 1.01 * rows[0].theirs


def test_without_the_environment_it_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit):
        main(["events.json", "--python", str(tmp_path / "python")])
    assert "second_opinion/README.md" in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = curator.open(tmp_path / "ledger.db", FiltCon(ZCDP(1)), DATA, name="visits")
    table(Gaussian(Count(), rho="1/50"))
    events = table.ledger().to_events()
    (tmp_path / "events.json").write_text(events.to_json())
    return tmp_path


@pytest.mark.parametrize("place", ["events.json", "ledger.db"])
def test_a_ledger_of_a_curator_has_the_same_events_as_its_handle(folder: Path, place: str) -> None:
    [(name, events)] = events_of(str(folder / place))
    assert name == ("visits" if place == "ledger.db" else "")
    assert events == Events.from_json((folder / "events.json").read_text())


def test_an_analyst_has_the_events_of_her_own_charges() -> None:
    """Behind a socket, as the owner has them from the ledger."""
    ledger = MemoryLedger()
    with serving(opened(ledger, FiltCon(ZCDP(1)), DATA)) as served:
        table = served.handle()
        table(Gaussian(Count(), rho="1/50"), name="people")
        child = table(FiltCon(PureDP("1/2")))
        child(Laplace(Count(), epsilon="1/3"))
        events = table.ledger().to_events()
        stored = curator.view(ledger, VISITS, codec=STORED).ledger().to_events()
    assert [each.mechanism for each in events] == ["Gaussian", "FiltCon", "Laplace"]
    assert events == stored


def test_a_folder_of_a_curator_is_read_by_its_configuration(tmp_path: Path) -> None:
    source = tmp_path / "visits.csv"
    source.write_text("age,who\n31,a\n47,b\n62,c\n")
    commands.init(tmp_path)
    (tmp_path / "curator.toml").write_text(
        'ledger = "ledger.db"\nkey = "noise.key"\n[datasets.visits]\nsource = "visits.csv"\n'
        'privacy_unit = "who"\nmax_rows = 1\nbudget = { zcdp = "1/10" }\n'
    )
    rows, table = curator.open_configured(tmp_path / "curator.toml", "visits")
    with rows:
        table.release(rows.count(), loss=ZCDP("1/50"))
        [(name, events)] = events_of(str(tmp_path))
        assert name == "visits"
        [stored], [live] = events, table.ledger().to_events()
        assert attrs.evolve(stored, sequence=live.sequence) == live  # polls are not on the ledger
    with pytest.raises(SystemExit, match="there is no root 'other'"):
        list(events_of(str(tmp_path), "other"))


@accountants
def test_the_command_prints_ratios(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder / "ledger.db")]) == 0
    printed = capsys.readouterr().out
    assert (
        "visits: 0 Gaussian of Count: ZCDP, rho by OpenDP: ours 0.02, theirs 0.02  ratio 1"
        in printed
    )
    assert "OpenDP: 2 comparisons, 0 above ours" in printed


LOSSES = (("a", 1.0), ("b", 2.0))


def test_a_loss_above_ours_comes_first() -> None:
    rows = [
        Compared("a", "PLD", "", Fraction(2), 1.0, True),
        Compared("b", "PLD", "", Fraction(1), 2.0, True),
    ]
    first, *_, last = lines(rows, 1)
    assert "ABOVE OURS" in first
    assert "b" in first
    assert "2 comparisons, 1 above ours" in last


def test_totals_over_parts_of_the_data_are_not_compared() -> None:
    charges = held(FiltCon(ZCDP(9)), NOISE[0], NOISE[0])
    apart = Events(attrs.evolve(each, reads="over a") for each in charges)
    names = [each.name for each in subjects(charges)]
    assert names == ["0 Gaussian of Count and 1 more", "/, 2 charges"]
    assert [each.name for each in subjects(apart)] == names[:1]
