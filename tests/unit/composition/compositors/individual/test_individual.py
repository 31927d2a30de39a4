"""`Individual`: who takes part, what is shown, and what is a wrong message."""

from fractions import Fraction
from random import Random
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pytest

from composition import (
    AtMostADay,
    Blocks,
    ConComp,
    FiltCon,
    Individual,
    OdomCon,
    Parallel,
    Partition,
    Universal,
)
from composition.advice.plot import spending
from composition.compositors.individual import books, individual
from composition.compositors.individual.accounts import Accounts
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    CountUnits,
    Doubling,
    Frugal,
    Gaussian,
    GroupBy,
    Laplace,
    PrivateMultiplicativeWeights,
    SparseVector,
    Sum,
    Table,
    ToeplitzCounter,
    TreeCounter,
    column,
)
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    Ask,
    CanAfford,
    Failed,
    Last,
    Launch,
    Launched,
    Measurement,
    MechanismFault,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
    UnknownQueryError,
    Update,
)
from queryable.data.later import made
from queryable.errors import RetiredChildError, UnknownChildError
from queryable.faults import collecting
from queryable.messages import CloseBlock
from queryable.streams.contributions import PerRecord
from tests.attacks.test_individual import Silent
from tests.strategies import Courier, Toy, raising

DATA = {"age": np.arange(100), "cost": np.arange(100) % 10}
OLD, YOUNG = column("age") >= 60, column("age") < 60
SIZE = Statistic(len, l1=1, l2=1)
NO_NOISE, SEEDED = Silent(), {"allow_seeded": True}


def told(mechanism: Any, data: Any, *queries: Any) -> list[Any]:
    """Answers without noise."""
    state, _ = mechanism.init(data, Silent())
    answers = []
    for query in queries:
        state, answer = mechanism.step(state, query, Silent())
        answers.append(answer.answer if isinstance(answer, Launched) else answer)
    return answers


def counting(where: Any = None, rho: Any = "1/10") -> Launch:
    return Launch(Gaussian(Count(where), rho=rho))


def test_a_record_pays_what_it_adds_to_each_answer() -> None:
    """Ten counts at the whole budget, where `FiltCon` admits one."""
    tens = [(column("age") >= 10 * i) & (column("age") < 10 * i + 10) for i in range(10)]
    answers = told(Individual("1/10"), DATA, *map(counting, tens), *map(counting, tens))
    assert answers == [10] * 10 + [0] * 10
    launches = counting(OLD, "1/15"), counting(None, "1/15"), counting(None, "1/30")
    answers = told(Individual("1/10"), DATA, *launches, counting(None, "1/30"))
    assert answers == [40, 60, 100, 0]
    launch = Launch(Gaussian(Sum("cost", 0, 9), variance=Fraction(81, 2)))
    assert told(Individual(1), DATA, launch, launch) == [450, 10 * sum(range(7))]
    launch = Launch(Gaussian(GroupBy({"cost": [1, 2]}, Count(OLD)), rho=1))
    first, second = told(Individual(1), DATA, launch, launch)
    assert (first.tolist(), second.tolist()) == ([4, 4], [0, 0])
    assert told(Individual(1), DATA, launch, counting(column("cost") < 3, 1))[1] == 30 - 8


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(SIZE, rho="1/10"),
        Gaussian(Count(lambda data: data["age"] >= 0), rho="1/10"),
        Laplace(Count(column("age") < 0), scale=3),
        FiltCon(ZCDP("1/10")),
        SparseVector(10, epsilon="44/100"),
        Parallel(Partition("age", [1, 2]), {1: Toy(PureDP("44/100"))}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_others_cost_everybody_the_whole_loss(mechanism: Any) -> None:
    whole = mechanism.privacy_map(1, ZCDP).rho
    answers = told(Individual(whole), DATA, Launch(mechanism), counting(None, whole))
    assert answers[1] == 0
    assert told(Individual(2 * whole), DATA, Launch(mechanism), counting(None, whole))[1] == 100


def test_a_child_keeps_its_records() -> None:
    """Those that were active at its launch, whatever they pay later."""
    answers = told(
        Individual("1/10"),
        DATA,
        counting(OLD),
        Launch(FiltCon(ZCDP("1/20"))),
        counting(YOUNG, "1/20"),
        Ask(1, counting(None, "1/40")),
        Ask(1, counting(None, "1/40")),
        counting(None, "1/100"),
    )
    assert (answers[0], *answers[2:]) == (40, 60, 60, 60, 0)
    inner = Launch(Individual("1/20"))
    script = (counting(OLD), inner, Ask(1, counting(None, "1/20")), Ask(1, counting(None, "1/20")))
    assert told(Individual("1/10"), DATA, *script)[2:] == [60, 0]
    assert told(FiltCon(ZCDP("1/20")), DATA, inner, *(Ask(0, counting(None, "1/20")),) * 2)[1:] == [
        100,
        0,
    ]


def test_what_retires_others_does() -> None:
    mechanism = Individual(1)
    state, _ = mechanism.init(DATA, Silent())
    state, _ = mechanism.step(state, Launch(Toy(PureDP("1/10"))), Silent())
    state, _ = mechanism.step(state, Launch(FiltCon(ZCDP("1/10"))), Silent())
    assert set(state.children) == {0, 1}
    state, _ = mechanism.step(state, Launch(Alone(PureDP("1/10"))), Silent())
    assert set(state.children) == {2}
    with pytest.raises(RetiredChildError):
        mechanism.step(state, Ask(0, "bits"), Silent())


class Alone(Toy):
    """A child that ends those before it."""

    retires_others = True


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda rows: pd.DataFrame({"a": rows})])
def test_forms_of_data(form: Any) -> None:
    data = form(range(30))
    launch = Launch(Gaussian(SIZE, rho="1/10"))
    assert told(Individual("1/10"), data, counting(), launch) == [30, 0]
    assert told(Individual("1/5"), data, counting(), launch) == [30, 30]


# What is shown.


def test_the_loss_is_the_budget_from_the_first_launch_on() -> None:
    script = (PrivacyLossQuery(), counting(column("age") < 0), PrivacyLossQuery())
    assert told(Individual("1/10"), DATA, *script)[::2] == [ZCDP(0), ZCDP("1/10")]
    assert told(Individual("1/10"), DATA, counting(), PrivacyLossQuery(3))[1] == ZCDP("9/10")
    assert told(Individual("1/10"), DATA, counting(), PrivacyLossQuery(0))[1] == ZCDP(0)
    launch = Launch(Gaussian(Count(OLD), rho="1/20"), ZCDP("1/10"))
    assert told(Individual("1/10"), DATA, launch, counting(YOUNG)) == [40, 0]
    odometer = Launch(OdomCon(ZCDP), ZCDP("1/10"))
    assert told(Individual("1/10"), DATA, odometer, Ask(0, counting(None)), counting())[1:] == [
        100,
        0,
    ]


@pytest.mark.parametrize("leaves", [True, False])
def test_nothing_but_answers_depends_on_who_left(leaves: bool) -> None:
    """Everything shown is the same whether somebody left or not, after many launches."""
    data = {"age": np.full(50, 70 if leaves else 10), "cost": np.zeros(50)}
    mine = Queryable(Individual("1/10"), data)
    for _ in range(3):
        mine.launch(Gaussian(Count(OLD), rho="1/10"))
    child = mine.launch(FiltCon(ZCDP("1/10")))
    assert isinstance(child, Queryable)
    child.launch(Gaussian(Count(), rho="1/100"))
    shown = (str(mine.privacy_loss()), mine.explain(), str(mine.ledger()), str(mine.tree()))
    assert str(shown) == SHOWN.setdefault("shown", str(shown))
    assert mine.can_afford(Gaussian(Count(), rho="1/10"))
    with pytest.raises(UnknownQueryError):
        mine.ask("remaining")


SHOWN: dict[str, str] = {}


def test_the_title_says_whom_it_is_about() -> None:
    mine = Queryable(Individual("1/10"), DATA)
    answer = mine.release(Count(OLD), loss=ZCDP("1/20"))
    assert answer.title == "Count where age >= 60, of the records that could pay for it"
    child = mine.launch(FiltCon(ZCDP("1/20")))
    assert child.release(Count(), loss=ZCDP("1/40")).title.endswith("that could pay for it")
    assert "Its answers are of" in mine.explain()


# Wrong messages and failures.


def test_a_launch_that_nobody_could_pay_for_is_an_error() -> None:
    mine = Queryable(Individual("1/10"), DATA)
    with pytest.raises(QueryError, match="count nobody"):
        mine.launch(Gaussian(Count(), rho="1/9"))
    with pytest.raises(QueryError, match="count nobody"):
        mine.launch(FiltCon(ZCDP("1/9")))
    assert not mine.can_afford(Gaussian(Count(), rho="1/9"))
    assert mine.can_afford(Gaussian(Sum("cost", 0, 9), rho="1/9"))
    assert mine.privacy_loss() == ZCDP(0)
    assert mine.launch(Gaussian(Sum("cost", 0, 9), rho="1/9")) is not None


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("remaining", UnknownQueryError),
        (Launch(SIZE), QueryError),
        (Launch(Gaussian(Count(column("ago") > 1), rho="1/10")), QueryError),
        (Launch(Gaussian(Count(), rho="1/10"), ZCDP("1/20")), PrivacyClaimError),
        (Launch(Gaussian(Count(), rho="1/10"), "1/10"), PrivacyClaimError),
        (Launch(FiltCon(ApproxDP("1/10", "1e-6"))), PrivacyClaimError),
        (Launch(FiltCon(RDP(2, "1/10"))), PrivacyClaimError),
        (CanAfford(Launch(SIZE)), QueryError),
        (PrivacyLossQuery(-1), QueryError),
        (Ask(0, "bits"), UnknownChildError),
        (Ask(True, "bits"), UnknownChildError),
    ],
)
def test_wrong_messages_change_nothing(query: Any, error: type[Exception]) -> None:
    mechanism = Individual("1/10")
    state, _ = mechanism.init(DATA, Silent())
    with pytest.raises(error):
        mechanism.step(state, query, Silent())


@pytest.mark.parametrize("data", [5, "text", {1, 2}, pytest, object()])
def test_data_without_records_are_refused_publicly(data: Any) -> None:
    state, _ = Individual(1).init(data, Silent())
    with pytest.raises(QueryError, match="an account of each record"):
        Individual(1).step(state, Launch(Gaussian(SIZE, rho=1)), Silent())


@attrs.frozen
class Unreadable(Measurement[int]):
    """A mechanism of which it cannot be found out what records add."""

    @property
    def per_record(self) -> PerRecord:  # type: ignore[override]
        return PerRecord(Fraction(1, 20), raising(MechanismFault()))

    def loss(self, d_in: int) -> ZCDP:
        return ZCDP(Fraction(d_in**2, 20))

    def release(self, dataset: Any, coins: Any) -> int:
        return 1


def test_what_cannot_be_read_is_paid_in_full() -> None:
    launch = Launch(Unreadable())
    with collecting():
        answers = told(Individual("1/10"), DATA, launch, counting(None, "1/20"), counting())
    assert answers == [Failed(), 100, 0]

    def broken(data: Any) -> int:
        raise ValueError(str(data))

    launch = Launch(Gaussian(Statistic(broken, l1=1, l2=1), rho="1/20"))
    uneven = {"age": [1, 2], "cost": [1]}
    with collecting() as faults:
        assert told(Individual("1/10"), DATA, launch, counting()) == [Failed(), 0]
        assert told(Individual("1/10"), uneven, launch, launch) == [Failed(), Failed()]
    assert len(faults) == 3


@attrs.frozen
class Stating(Measurement[int]):
    """A mechanism that says anything about what records lose and add."""

    stated: Any = Fraction(1, 20)
    squares: Any = True

    @property
    def per_record(self) -> Any:
        if self.stated == "bare":
            return Fraction(1, 20)
        return PerRecord(1 / 0 if self.stated == "raises" else self.stated, lambda dataset: self)

    def loss(self, d_in: int) -> ZCDP:
        return ZCDP(Fraction(d_in**2, 20))

    def among(self, active: Any) -> Any:
        return DATA

    def release(self, dataset: Any, coins: Any) -> int:
        return 1


@pytest.mark.parametrize(
    "stated", ["raises", "bare", 0.05, -1, Fraction(-1, 2), float("nan"), "1/20", True]
)
def test_a_wrong_loss_per_square_changes_nothing(stated: Any) -> None:
    mine = Queryable(Individual("1/10"), DATA)
    with pytest.raises(PrivacyClaimError, match="loss_per_square"):
        mine.launch(Stating(stated))
    assert mine.privacy_loss() == ZCDP(0)


@pytest.mark.parametrize(
    "squares",
    [
        *(True, 5, None, "1", np.ones(99, dtype=int), np.ones((100, 1), dtype=int)),
        *(-np.ones(100, dtype=int), np.full(100, 0.5), np.full(100, 0.5, dtype=object)),
        np.array([-(2**70)] * 100, dtype=object),
    ],
    ids=lambda each: getattr(each, "dtype", type(each)).__class__.__name__,
)
def test_wrong_squares_are_paid_in_full(squares: Any) -> None:
    with collecting():
        answers = told(
            Individual("1/20"), DATA, Launch(Stating(squares=squares)), counting(None, "1/20")
        )
    assert answers == [Failed(), 0]
    assert told(Individual(1), DATA, Launch(Stating(squares=np.ones(100, dtype=int)))) == [1]


def interrupted(*given: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["price", "account", "data"])
def test_an_interrupt_anywhere_keeps_the_filter(place: str, monkeypatch: Any) -> None:
    """Before data are read nothing is charged; from then on everybody pays the whole loss."""
    mine = Queryable(Individual("1/10"), DATA)
    with monkeypatch.context() as patch:
        owner, name = {
            "price": (individual, "claim_of"),
            "account": (Accounts, "charged"),
            "data": (Gaussian, "release"),
        }[place]
        patch.setattr(owner, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            mine.launch(Gaussian(Count(), rho="1/10"))
    free = place == "price"
    assert mine.privacy_loss() == ZCDP(0 if free else "1/10")
    mine.launch(Gaussian(Count(), rho="1/10"))
    own = mine._root.state.children["root"].state.own
    spent = made(own.books).accounts
    assert spent.spent.tolist() == [spent.units] * 100
    assert (own.owed, len(own.claims)) == (0, 1 if free else 2)


def test_records_that_cannot_be_read_owe_the_launch(monkeypatch: Any) -> None:
    """Data were read for it. It is paid as soon as they can be read."""
    mine = Queryable(Individual(1), DATA, coins=NO_NOISE, on_fault=lambda _: None, **SEEDED)
    with monkeypatch.context() as patch:
        patch.setattr(books, "_records_of", lambda *_: 1 / 0)
        with pytest.raises(MechanismFault):
            mine.launch(Gaussian(Count(YOUNG), rho=1))
    assert mine.privacy_loss() == ZCDP(1)
    assert mine.launch(Gaussian(Count(OLD), rho=1)) == 0


FORMS: dict[str, tuple[Any, Any]] = {
    "list": ([1] * 4, [1] * 3),
    "array": (np.ones(4), np.ones(3)),
    "columns": ({"age": np.ones(4)}, {"age": np.ones(3)}),
    "pandas": (pd.DataFrame({"age": [1] * 4}), pd.DataFrame({"age": [1] * 3})),
    "polars": (pl.DataFrame({"age": [1] * 4}), pl.DataFrame({"age": [1] * 3})),
    "table": (Table({"age": [1] * 4}), {"age": [1] * 3}),
}


@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("within", [False, True])
def test_a_record_that_arrives_has_a_full_account(form: str, within: bool) -> None:
    """Also in a filter that is fed; earlier records have what they have left."""
    data, batch = FORMS[form]
    root = Queryable(FiltCon(ZCDP(10)) if within else Individual(1), data, coins=NO_NOISE, **SEEDED)
    mine = root.launch(Individual(1)) if within else root
    half = Gaussian(Count(), rho="1/2")
    assert [mine.launch(half) for _ in range(3)] == [4, 4, 0]
    root.feed(batch)
    assert [mine.launch(half) for _ in range(2)] == [3, 3]
    root.feed(batch)
    root.feed(batch)
    assert [mine.launch(half), mine.launch(half, ZCDP("1/2")), mine.launch(half)] == [6, 6, 0]
    assert mine.privacy_loss() == ZCDP(1)


def test_a_person_has_one_account_for_all_batches() -> None:
    table = Table({"who": [1, 2], "age": [1, 2]}, privacy_unit="who", max_rows=3)
    mine = Queryable(Individual(9), table, coins=NO_NOISE, **SEEDED)
    rows = Gaussian(Count(per=table.unit), variance="1/2")
    persons = Gaussian(CountUnits(per=table.unit), variance="1/2")
    assert mine.launch(rows) == 2
    mine.feed({"who": [1, 1, 3, None], "age": [1, 2, 3, 4]})
    assert mine.launch(rows) == 2  # person 1 would pay 9 and has 8 left
    mine.feed({"who": [0, 2, 3], "age": [1, 2, 3]})
    assert [mine.launch(rows), mine.launch(persons)] == [5, 4]


def test_a_child_keeps_its_records_when_others_arrive() -> None:
    """Also a filter, and filters in it."""
    mine = Queryable(Individual(10), DATA, coins=NO_NOISE, **SEEDED)
    child = mine.launch(FiltCon(ZCDP(5)))
    within = child.launch(FiltCon(ZCDP(2)))
    sparse = mine.launch(SparseVector(150, epsilon=1))
    mine.feed(DATA)
    for each, many in ((mine, 200), (child, 100), (within, 100)):
        assert each.launch(Gaussian(Count(), rho="1/10")) == many
    assert sparse.ask(SIZE) is False
    assert child.launch(Individual(1)).launch(Gaussian(Count(), rho=1), ZCDP(1)) == 100


class Model:
    """What an `Individual` of budget 1 should answer about single rows, without noise."""

    def __init__(self, ages: list[int]) -> None:
        self.rows = [[age, Fraction(0)] for age in ages]

    def arrive(self, ages: list[int]) -> None:
        self.rows += [[age, Fraction(0)] for age in ages]

    def paying(self, share: Fraction, age: int | None = None) -> list[int]:
        """The ages of those who pay: all, or those of one age."""
        rows = [row for row in self.rows if age in (None, row[0]) and row[1] + share <= 1]
        for row in rows:
            row[1] += share
        return [row[0] for row in rows]


def launched(handle: Any, model: Model, random: Random, children: Any) -> None:
    """Launch something, and compare."""
    share, age = Fraction(1, random.choice([2, 4, 8])), random.randrange(3)
    match random.randrange(3):
        case 0:
            answer = handle.launch(Gaussian(Count(column("age") == age), rho=share))
            assert answer == len(model.paying(share, age))
        case 1:
            answer = handle.launch(Gaussian(Count(), rho=share), ZCDP(share))
            assert answer == len(model.paying(share))
        case 2:
            child = handle.launch(FiltCon(ZCDP(share)))
            children.append((child, model.paying(share)))


@pytest.mark.parametrize("form", [dict, Table])
@pytest.mark.parametrize(
    "seed", [1, 2, *(pytest.param(i, marks=pytest.mark.slow) for i in range(3, 9))]
)
def test_batches_blocks_and_launches_in_any_order(form: Any, seed: int) -> None:
    """Accounts that start at different times, over all of the data and over single blocks."""
    random, first = Random(seed), [0, 1, 2]
    root = Queryable(FiltCon(ZCDP(10**7)), form({"age": first}), coins=NO_NOISE, **SEEDED)
    blocks = root.launch(Blocks(FiltCon(ZCDP(10**6))))
    running, kept, all_ages = [], [], list(first)
    arrived: list[list[int]] = []
    for _ in range(60):
        match random.randrange(8):
            case 0:
                arrived.append([random.randrange(3) for _ in range(random.randrange(4))])
                root.feed({"age": arrived[-1]}, block=len(arrived))
                root.feed.close(len(arrived))
                all_ages += arrived[-1]
                for model, grows in ((model, grows) for _, model, grows in running):
                    if grows:
                        model.arrive(arrived[-1])
            case 1:
                running.append((root.launch(Individual(1)), Model(all_ages), True))
            case 2 if arrived:
                number = random.randrange(len(arrived))
                over = blocks.launch_over(Individual(1), [number + 1])
                running.append((over, Model(arrived[number]), False))
            case 3 if kept:
                child, ages = random.choice(kept)
                answer = child.launch(Gaussian(Count(), rho="1/1000"))
                assert answer == len(ages)
            case _ if running:
                handle, model, _ = random.choice(running)
                launched(handle, model, random, kept)
    assert len(arrived) > 3
    assert len(running) > 3


BATCHES = (
    TreeCounter(Count(), rho=1, horizon=3),
    ToeplitzCounter(Count(), rho=1, horizon=3),
    Blocks(FiltCon(ZCDP(1))),
    AtMostADay(ZCDP("1/2")) @ Blocks(FiltCon(ZCDP(1))),
    ConComp([TreeCounter(Count(), rho=1)]),
    Courier() @ ConComp([FiltCon(ZCDP(1)), TreeCounter(Count(), rho=1)]),
    Parallel(Partition("age", [1]), {1: TreeCounter(Count(), rho=1)}),
)


@pytest.mark.parametrize("mechanism", BATCHES, ids=lambda each: type(each).__name__)
def test_what_counts_batches_goes_beside_it(mechanism: Any) -> None:
    """No batch is passed on, so it would say 0, or know no block. Nothing is charged."""
    root = Queryable(FiltCon(ZCDP(100)), DATA)
    mine = root.launch(Individual(10))
    for attempt in (mine.launch, mine.can_afford):
        with pytest.raises(QueryError, match="Individual passes none on"):
            attempt(mechanism)
    assert mine.privacy_loss() == ZCDP(0)
    child = mine.launch(FiltCon(ZCDP(5)))
    for each in (child, child.launch(OdomCon(ZCDP), ZCDP(1)), child.launch(Universal(ZCDP(2)))):
        with pytest.raises(QueryError, match="this filter passes none on"):
            each.launch(mechanism)
    assert root.launch(mechanism) is not None


def test_blocks_and_parts_have_accounts_of_their_records() -> None:
    days = Queryable(Blocks(FiltCon(ZCDP(10))), {"age": []}, coins=NO_NOISE, **SEEDED)
    count = Gaussian(Count(), rho=1)
    for name, ages in (("monday", [1, 2]), ("tuesday", [3])):
        days.feed({"age": ages}, block=name)
        days.feed.close(name)
    monday, both = (days.launch_over(Individual(1), each) for each in (["monday"], Last(2)))
    days.feed({"age": [4] * 5}, block="wednesday")
    days.feed.close("wednesday")
    assert [monday.launch(count), both.launch(count), monday.launch(count)] == [2, 3, 0]
    assert days.launch_over(Individual(1), Last(1)).launch(count) == 5
    parts = Parallel(Partition("age", [1, 2]), {each: Individual(1) for each in (1, 2)})
    root = Queryable(parts, {"age": [1, 1, 2]}, coins=NO_NOISE, **SEEDED)
    first, second, *_ = root.opening
    count = Gaussian(Count(), rho=1)
    assert [first.launch(count), first.launch(count)] == [2, 0]
    root.feed({"age": [1, 2, 2]})
    assert [first.launch(count), second.launch(count)] == [1, 3]


def test_a_wrong_batch_changes_nothing() -> None:
    mine = Queryable(Individual(1), {"age": [1, 2]}, coins=NO_NOISE, **SEEDED)
    for wrong in ({"cost": [1]}, [1], {"age": [1], "cost": [2]}, None):
        with pytest.raises(QueryError):
            mine.feed(wrong)
    for asked in (Update({"age": [1]}), CloseBlock("monday")):
        with pytest.raises(QueryError, match="owner"):
            mine.ask(asked)
    mine.feed({"age": []})
    mine.feed({"age": [3]}, block="monday")
    mine.feed.close("monday")
    assert mine.launch(Gaussian(Count(), rho=1)) == 3


def test_an_interrupted_launch_is_owed_by_records_that_arrive(monkeypatch: Any) -> None:
    """Until the next launch it is not known who has to pay."""
    mine = Queryable(Individual(1), DATA, coins=NO_NOISE, **SEEDED)
    with monkeypatch.context() as patch:
        patch.setattr(Accounts, "charged", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mine.launch(Gaussian(Count(), rho=1))
    mine.feed(DATA)
    assert mine.launch(Gaussian(Count(), rho=1)) == 0
    mine.feed(DATA)
    assert mine.launch(Gaussian(Count(), rho=1)) == 100


def test_the_ledger_shows_what_a_launch_costs_a_record() -> None:
    mine = Queryable(Individual("1/10"), DATA)
    empty = mine.tree()
    assert "spent ZCDP(rho=0)" in str(empty)
    mine.launch(Gaussian(Sum("cost", 0, 9), rho="1/20"), name="costs")
    mine.launch(Laplace(Count(OLD), scale=10), ZCDP("1/40"))
    child = mine.launch(FiltCon(ZCDP("1/30")))
    child.launch(Gaussian(Count(), rho="1/60"))
    rows = mine.ledger()
    assert [row.loss for row in rows[:3]] == [ZCDP(each) for each in ("1/20", "1/40", "1/30")]
    assert [row.total for row in rows[:3]] == [ZCDP("1/10")] * 3
    words = "(per record that could pay; these do not add up)"
    assert [words in row.asked for row in rows] == [True, True, True, False]
    assert all(words in text for text in (str(rows), rows.to_html(), rows.to_csv()))
    assert str(mine.tree()).count(words) == 3
    assert "the most that one record may have lost" in str(mine.tree())
    assert "the most that one record may have lost" in str(mine.explain())
    with pytest.raises(ValueError, match="read the ledger"):
        spending(mine)


@pytest.mark.parametrize(
    "person",
    [
        Frugal(),
        BrownianNoiseReduction(),
        Doubling(500),
        PrivateMultiplicativeWeights(4, records=4, epsilon=1, threshold=1, updates=2),
    ],
    ids=lambda each: type(each).__name__,
)
def test_persons_that_combine_answers_go_inside(person: Any) -> None:
    """Two launches may leave out different records, so their answers are of different numbers."""
    with pytest.raises(ValueError, match="FiltCon"):
        person @ Individual(1)
    with pytest.raises(ValueError, match="FiltCon"):
        person @ (Courier() @ Individual(1))
    mine = Queryable(Individual(1), DATA)
    assert isinstance(mine.launch(Frugal() @ FiltCon(ZCDP("1/10"))), Queryable)
