"""The events of a ledger: every mechanism has one, and the JSON is the documented one."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from composition import Blocks, FiltCon, Individual
from mechanisms import (
    Count,
    Gaussian,
    GroupBy,
    Laplace,
    PrivacyUnit,
    Quantile,
    Quantiles,
    Sum,
    TopK,
    TreeCounter,
)
from mechanisms.tables.quantiles.choices import PrivateQuantiles
from queryable import (
    ZCDP,
    Measurement,
    MechanismFault,
    PureDP,
    Queryable,
    QueryRefusedError,
    Statistic,
)
from queryable.display.charged import charge_of
from queryable.display.ledger import LedgerRow
from queryable.events.charge import Charge
from queryable.events.charges import SCHEMA, Events
from queryable.events.laws import LAWS, ChoiceEvent, GaussianEvent, LaplaceEvent, Sensitivity
from queryable.events.written import exactly, read_event, read_loss, stated
from queryable.losses import ExPostBound, Loss, TimeUniformBound
from queryable.mechanism import InteractiveMechanism
from queryable.optional import events
from queryable.receipts import Receipt, own_loss
from tests.instances import CALLS
from tests.instances.rules import BUDGETS
from tests.strategies import raising

DATA = {"age": [31, 47, 62], "who": [1, 1, 2], "b": ["x", "y", "x"]}
ACCOUNT = FiltCon(ZCDP(1)).account()
PAGE = Path(__file__).parents[4] / "docs" / "ledgers.md"
SECTION = PAGE.read_text("utf-8").split("## Events for other accountants")[1].split("\n## ")[0]


def kinds() -> list[Any]:
    """The instances of all public mechanisms."""
    made = []
    for module, calls in CALLS.items():
        for name, arguments in calls.items():
            kind = getattr(__import__(module, fromlist=[name]), name)
            if isinstance(kind, type) and issubclass(kind, InteractiveMechanism):
                made.append(kind(**arguments))
    return made


def charged(mechanism: Any, d_in: int = 1) -> Charge:
    """The charge of a launch in a compositor that states losses in the mechanism's own measure."""
    loss = own_loss(mechanism, d_in)
    receipt = Receipt(mechanism, None, d_in, loss, ACCOUNT)
    return charge_of(LedgerRow(0, (), None, "", "", loss, loss, loss, "charged", receipt))


@pytest.mark.parametrize("mechanism", kinds(), ids=lambda each: type(each).__name__)
def test_every_mechanism_has_an_event(mechanism: Any) -> None:
    """Also those whose draws are not stated; and it is read from its JSON as it was."""
    charge = charged(mechanism)
    assert charge.mechanism == type(mechanism).__name__
    assert Events.from_json(Events([charge]).to_json()) == Events([charge])
    assert charge.draws is not None or charge.claim == own_loss(mechanism)


STATED = {
    *("ExponentialMechanism", "Gaussian", "Laplace", "PermuteAndFlip", "PrivateQuantiles"),
    *("PrivateTop", "RandomizedResponse", "TopK", "TreeCounter"),
}


def test_those_that_add_noise_or_choose_state_their_draws() -> None:
    assert {type(each).__name__ for each in kinds() if events(each) is not None} == STATED


def rho(event: Any, d_in: int) -> Fraction:
    """The zCDP loss of draws by their textbook formula."""
    if isinstance(event, GaussianEvent):
        return event.times * (event.sensitivity.l2 * d_in) ** 2 / (2 * event.variance)
    assert isinstance(event, ChoiceEvent)
    return event.times * (event.epsilon * d_in) ** 2 / 8


def epsilon(event: Any, d_in: int) -> Fraction:
    """The pure loss of draws by their textbook formula."""
    if isinstance(event, LaplaceEvent):
        return event.times * event.sensitivity.l1 * d_in / event.scale
    assert isinstance(event, ChoiceEvent)
    return event.times * event.epsilon * d_in


UNIT = PrivacyUnit("who", max_rows=3)
EXAMPLES = [
    Gaussian(Sum("age", 0, 9, unit=1), scale="1/3"),
    Gaussian(GroupBy({"b": ["x", "y"]}, Count(per=UNIT)), rho="1/7"),
    Laplace(Count(per=UNIT), epsilon="1/3"),
    TopK(Statistic(lambda _: [1, 2, 3], l1=3, l2=3, linf=1, shape=(3,)), "1/3", k=2),
    TreeCounter(Count(), rho="1/10", horizon=5),
    TreeCounter(Count(), epsilon="1/10", horizon=5),
    TreeCounter(Count(per=UNIT), epsilon="1/10", horizon=5),
    Count().measurement(ZCDP, 1, loss=ZCDP("1/9")),
    Quantile("age", "1/3", [10, 30, 50]).measurement(PureDP, 1, loss=PureDP("1/9")),
    Quantiles("age", ["1/3", "1/2"], [10, 30]).measurement(PureDP, 1, loss=PureDP("1/9")),
]


@pytest.mark.parametrize("d_in", [1, 3])
@pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda each: type(each).__name__)
def test_draws_have_the_loss_that_is_claimed(mechanism: Any, d_in: int) -> None:
    """Exactly, by formulas of one line: a missing draw shows, or a wrong sensitivity."""
    draws, loss = events(mechanism), mechanism.privacy_map(d_in)
    assert draws is not None
    if isinstance(loss, ZCDP):
        assert sum(rho(each, d_in) for each in draws) == loss.rho
    else:
        assert sum(epsilon(each, d_in) for each in draws) == loss.epsilon
    if isinstance(draws[0], ChoiceEvent):
        assert sum(rho(each, d_in) for each in draws) == mechanism.privacy_map(d_in, ZCDP).rho


@pytest.mark.parametrize("level", ["1/3", "1/2"])
def test_quantiles_state_the_sensitivity_that_their_laws_are_made_for(level: str) -> None:
    """A rate or a sensitivity that is wrong makes another loss than is claimed."""
    counts = Quantiles("age", level, [10, 30], per=UNIT)
    mechanism = PrivateQuantiles(counts, 1, "9/10")
    laws = mechanism.laws(Fraction(level), np.arange(5))
    draws = events(mechanism) or ()
    assert [each.rate for each in laws] == [each.rate for each in draws]
    assert [len(each.gaps) for each in laws] == [each.candidates for each in draws]


def test_draws_that_are_not_known_are_not_stated() -> None:
    """Of an endless counter, which draws for ever, and of groups that share a sensitivity."""
    grouped = Quantiles("age", "1/2", [10, 30], by={"b": ["x", "y"]})
    for each in (
        TreeCounter(Count(), rho="1/10"),
        grouped.measurement(PureDP, 1, loss=PureDP("1/9")),
        FiltCon(ZCDP(1)),
    ):
        assert events(each) is None
    assert events("no mechanism") is None


@pytest.mark.parametrize("given", [1 / 3, ("normal",), [], raising])
def test_what_a_mechanism_states_wrongly_is_not_stated(given: Any) -> None:
    """A mechanism of the user's own may return anything, or raise."""

    class Own(Measurement[int]):
        def loss(self, d_in: int) -> Loss:
            return PureDP(d_in)

        def release(self, dataset: Any, coins: Any) -> int:
            return 3

        def events(self) -> Any:
            return given() if callable(given) else given

    table = Queryable(FiltCon(PureDP(1)), DATA)
    table.launch(Own())
    (charge,) = table.ledger().to_events()
    assert (charge.draws, charge.loss) == (None, PureDP(1))


def test_a_ledger_with_refusals_children_and_failures() -> None:
    table = Queryable(FiltCon(ZCDP(1), d_in=2), DATA, on_fault=lambda _: None)
    table.launch(Gaussian(Count(), rho="1/30"), name="people")
    child = table.launch(FiltCon(PureDP("1/3")))
    child.launch(Laplace(Count(), epsilon="1/7"))
    with pytest.raises(QueryRefusedError):
        table.launch(Gaussian(Count(), rho=5))
    with pytest.raises(MechanismFault):
        table.launch(Gaussian(Statistic(lambda _: 1 / 0, l1=1, l2=1), rho="1/30"))
    found = table.ledger().to_events()
    assert [(each.path, each.mechanism, each.outcome, each.d_in) for each in found] == [
        ((), "Gaussian", "charged", 2),
        ((), "FiltCon", "charged", 2),
        ((1,), "Laplace", "charged", 1),
        ((), "Gaussian", "failed", 2),
    ]
    first = json.loads(found.to_json())["events"][0]
    assert (first["name"], first["loss"]) == ("people", {"measure": "ZCDP", "rho": "2/15"})
    assert first["draws"][0]["variance"] == "15"  # 1/30 = 1/(2 * 15), and four times that for 2
    assert child.ledger().to_events() == found[2:3]
    assert Events.from_json(found.to_json(indent=1)) == found


def test_charges_that_do_not_add_up_say_so() -> None:
    """Over blocks, and of single records."""
    blocks = Queryable(Blocks(FiltCon(ZCDP(1))), [])
    for name in ("a", "b"):
        blocks.feed([1, 2], block=name)
        blocks.feed.close(name)
    blocks.launch_over(Gaussian(Statistic(len, l1=1, l2=1), rho="1/30"), ["a"])
    one = Queryable(Individual("1/10"), DATA)
    one.launch(Gaussian(Count(), rho="1/30"))
    found = [each for table in (blocks, one) for each in table.ledger().to_events()]
    assert [each.reads for each in found] == [
        "over a",
        "(per record that could pay; these do not add up)",
    ]


def documented(header: str) -> dict[str, set[str]]:
    """A table of the page: its first cells, with the words in backquotes of the second."""
    table = SECTION.split(f"| {header} |")[1].split("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    return {first.strip(" `"): set(re.findall(r"`(\w+)`", second)) for first, second in rows}


def test_the_schema_is_the_documented_one() -> None:
    assert SCHEMA in SECTION
    assert set(documented("Field")) == {each.name for each in attrs.fields(Charge)}
    laws = documented("Law")
    assert set(laws) == set(LAWS)
    for law, kind in LAWS.items():
        assert laws[law] == {each.name for each in attrs.fields(kind)}, law
    assert {"l1", "l2", "linf", "entries"} == {each.name for each in attrs.fields(Sensitivity)}


LOSSES = [*BUDGETS.values(), TimeUniformBound("1/3", "1/7"), ExPostBound("1/3", "1/7")]


def test_losses_are_the_documented_ones() -> None:
    written = [exactly(each) for each in LOSSES]
    assert documented("Measure") == {each["measure"]: set(each) - {"measure"} for each in written}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda each: type(each).__name__)
def test_a_loss_is_read_as_it_was(loss: Loss) -> None:
    text = json.dumps(exactly(loss))
    assert read_loss(json.loads(text)) == loss
    assert "." not in text  # no floats


def test_fractions_are_exact() -> None:
    third = Gaussian(Count(), variance=Fraction(10**30 + 1, 3))
    (draw,) = charged(third).draws or ()
    assert stated(draw)["variance"] == f"{10**30 + 1}/3"
    assert read_event(stated(draw)) == draw


def test_what_is_no_loss_of_ours_is_unknown() -> None:
    assert read_loss(None) is None
    assert read_loss("3 units") is None
    assert read_loss({"measure": "Other", "x": "1"}) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "schema"),
        ('{"schema": "queryable-events/2", "events": []}', "queryable-events/1"),
        ('{"schema": "queryable-events/1", "events": [{}]}', "fields"),
    ],
)
def test_other_json_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Events.from_json(text)


@pytest.mark.parametrize(
    "record",
    [{"law": "uniform"}, {"law": "discrete laplace", "scale": "3"}, {"law": "discrete gaussian"}],
)
def test_other_draws_are_refused(record: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"law|fields"):
        read_event(record)


def test_a_later_version_may_add_fields() -> None:
    charge = charged(Gaussian(Count(), scale=3))
    assert Charge.of_record({**charge.as_record(), "more": 1}) == charge
