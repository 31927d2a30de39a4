"""What persons that state their costs bought, in trees and ledgers: `Frugal` and `Synthetic`."""

from pathlib import Path

import pytest

import curator
from composition import FiltCon, OdomCon
from mechanisms import Count, Estimate, Fit, FromModel, Frugal, Gaussian, Synthetic, column
from queryable import ZCDP, Queryable, QueryRefusedError, SeededCoins

AGE = column("age")
DATA = {"age": [each % 60 for each in range(600)], "sex": [each % 2 for each in range(600)]}


def asked(root: Queryable) -> Queryable:
    """A person that bought twice, answered for nothing, launched, was refused, and bought again."""
    person = root.launch(Frugal() @ FiltCon(ZCDP(1)))
    for within in (60, 60, 20):
        person.ask(Estimate(Count(AGE >= 30), within, fixed_in_advance=True))
    person.launch(Gaussian(Count(), rho="1/10"))
    with pytest.raises(QueryRefusedError):
        person.ask(Estimate(Count(AGE >= 30), 1, fixed_in_advance=True))
    person.ask(Estimate(Count(AGE >= 40), 20, fixed_in_advance=True))
    return person


def opened() -> Queryable:
    return Queryable(FiltCon(ZCDP(2)), DATA, coins=SeededCoins(3), allow_seeded=True)


def charged(person: Queryable) -> object:
    return sum(row.loss.rho for row in person.ledger() if row.outcome == "charged")


def test_the_tree_and_the_ledger_show_what_was_bought() -> None:
    person = asked(opened())
    spent = person.privacy_loss()
    assert f"spent {spent}, remaining " in person.tree()
    assert person.tree().count("Estimate: Count where") == 3
    bought = [row for row in person.ledger() if row.mechanism.startswith("Estimate")]
    assert [row.outcome for row in bought] == ["charged"] * 3
    assert charged(person) == spent.rho
    assert person.ledger().to_pandas()["loss_rho"].notna().all()


def test_the_view_is_the_same_after_reopening(tmp_path: Path) -> None:
    place, shown = tmp_path / "visits.db", []
    for _ in range(2):
        root = curator.open(place, FiltCon(ZCDP(2)), DATA, name="visits")
        if not shown:
            asked(root)
        person = root.children[0]
        shown.append([str(root.ledger()), root.tree(), person.tree(), str(person.ledger())])
        curator.release(root)
    assert shown[0] == shown[1]


def test_fits_of_a_model_are_shown() -> None:
    """The part of a fit that a refusal ended is in what is spent, as the refusal states it."""
    model = Synthetic({"sex": [0, 1], "age": list(range(60))}) @ FiltCon(ZCDP("1/10"))
    person = opened().launch(model)
    person.ask(Fit("1/50", rounds=1))
    person.ask(FromModel(Count(column("sex") == 1)))
    assert charged(person) == person.privacy_loss().rho > 0
    assert f"spent {person.privacy_loss()}, remaining " in person.tree()
    for _ in range(2):
        with pytest.raises(QueryRefusedError):
            person.ask(Fit("1/5", rounds=1))
        assert f"spent {person.privacy_loss()}, remaining " in person.tree()


def test_where_costs_do_not_add_up_only_purchases_are_shown() -> None:
    """Of an odometer, and of a budget for groups of records: costs are stated for one record."""
    for below in (OdomCon(ZCDP), FiltCon(ZCDP(4), d_in=2)):
        person = Queryable(Frugal() @ below, DATA, coins=SeededCoins(3), allow_seeded=True)
        answer = person.ask(Estimate(Count(AGE >= 30), 60, fixed_in_advance=True))
        assert [row.loss for row in person.ledger()] == [answer.cost]
        assert "spent" not in person.tree()
