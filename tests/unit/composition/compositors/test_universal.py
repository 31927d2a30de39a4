"""Universal: one mechanism that fits, chosen late (Algorithm 10)."""

from typing import Any

import pytest

from composition import FiltCon, OdomCon, Universal
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Launch,
    MechanismFault,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
    UnknownQueryError,
    UnprovenCompositionError,
    Update,
)
from queryable.messages import CloseBlock
from tests.strategies import ILLEGAL, TENTH, WORD, Faulty, RandomBits, RandomWord, Toy, raising

COINS = SeededCoins(1)


def test_it_becomes_what_is_launched() -> None:
    """Its launch is answered with the mechanism's opening, the rest by the mechanism."""
    q = Queryable(Universal(TENTH), None)
    assert q.opening is None
    assert q.ask(Launch(Toy())) is None
    assert [q.ask("bits"), q.ask("bits")] == [0, 1]


@pytest.mark.parametrize("query", ILLEGAL)
def test_before_the_choice_only_a_launch_is_accepted(query: Any) -> None:
    """Anything else is an unknown query and chooses nothing."""
    universal = Universal(TENTH)
    state, _ = universal.init(None, COINS)
    with pytest.raises(UnknownQueryError, match="one Launch first"):
        universal.step(state, query, COINS)


@pytest.mark.parametrize(
    "launch",
    [
        Launch(Toy(PureDP("0.2"))),
        Launch(Toy(), PureDP("0.2")),
        Launch(Toy(), PureDP("0.05")),
        Launch(Toy(ZCDP("0.001"))),
        Launch(OdomCon(PureDP)),
        Launch("a mechanism"),
    ],
)
def test_what_does_not_fit_chooses_nothing(launch: Any) -> None:
    """Too large, claimed too small, of a wrong measure, without a loss; then one that fits may."""
    q = Queryable(Universal(TENTH), None)
    with pytest.raises(QueryError):
        q.ask(launch)
    q.ask(Launch(Toy()))
    assert q.ask("bits") == 0


def test_the_budget_is_its_loss() -> None:
    """Before the choice and after, whatever was chosen, and grouped beyond d_in."""
    universal = Universal(PureDP(1), d_in=2)
    assert [universal.privacy_map(k) for k in range(5)] == [PureDP(k) for k in (0, 1, 1, 2, 2)]
    q = Queryable(FiltCon(PureDP(1)), None)
    child = q.launch(Universal(TENTH))
    child.ask(Launch(Toy(PureDP("0.01"))))
    assert (child.privacy_loss(), q.privacy_loss()) == (TENTH, TENTH)


def test_the_claim_is_checked_at_its_own_d_in() -> None:
    """A budget for two records takes what loses no more at two."""
    with pytest.raises(PrivacyClaimError, match="does not fit"):
        Queryable(Universal(TENTH, d_in=2), None).ask(Launch(Toy()))
    Queryable(Universal(PureDP("0.2"), d_in=2), None).ask(Launch(Toy()))


def test_an_odometer_is_launched_within_the_budget() -> None:
    """It runs as the filter at its d_out."""
    q = Queryable(Universal(TENTH), None)
    q.ask(Launch(OdomCon(PureDP), TENTH))
    child = q.ask(Launch(Toy()))
    assert child.ask("bits") == 0
    assert q.ask(Ask(0, "bits")) == 1


def test_a_measurement_answers_at_once() -> None:
    """And then nothing more."""
    q = Queryable(Universal(TENTH), None)
    assert isinstance(q.ask(Launch(RandomWord())), int)
    with pytest.raises(QueryError):
        q.ask("bits")


def test_each_message_has_coins_of_its_own() -> None:
    """The launch and every ask after it draw apart, and replay."""
    universal = Universal(TENTH)
    state, _ = universal.init(None, COINS)
    answers = []
    for query in (Launch(RandomBits()), "bits", "bits"):
        state, answer = universal.step(state, query, COINS)
        answers.append(answer)
    assert answers == [COINS.spawn("launched", n).draw(WORD) for n in (1, 2, 3)]
    assert len(set(answers)) == 3


def test_batches_before_the_launch_count_as_messages() -> None:
    """They select the coins of what is launched, which reads them."""

    class Size(RandomBits):
        def init(self, dataset: Any, coins: Any = COINS) -> Any:
            return 0, (len(dataset), coins.draw(WORD))

    universal = Universal(TENTH)
    state, _ = universal.init([1], COINS)
    for query in (Update([2, 3]), CloseBlock("monday"), Update([4]), Launch(Size())):
        state, answer = universal.step(state, query, COINS)
    assert answer == (4, COINS.spawn("launched", 3).draw(WORD))
    assert universal.step(state, "bits", COINS)[1] == COINS.spawn("launched", 4).draw(WORD)


def test_it_fails_with_its_mechanism() -> None:
    """It has no other child."""
    q = Queryable(Universal(TENTH), None)
    q.ask(Launch(Faulty(raising(ValueError("secret")))))
    for _ in range(2):
        with pytest.raises(MechanismFault):
            q.ask("bits")


def test_an_error_at_the_start_is_hidden() -> None:
    """An error at the mechanism's start may depend on data."""
    q = Queryable(Universal(TENTH), None)
    with pytest.raises(MechanismFault):
        q.ask(Launch(Faulty(raising(QueryError("secret")), at_launch=True, guarded=False)))
    with pytest.raises(MechanismFault):
        q.ask(Launch(Toy()))


def test_the_open_case_is_not_taken() -> None:
    """It may be launched in a composition later, so what it becomes must compose."""
    with pytest.raises(UnprovenCompositionError):
        Queryable(Universal(ApproxZCDP(1, "0.1")), None).ask(Launch(Toy(ApproxZCDP("0.1", "0.01"))))


def test_losses_are_converted_to_the_budgets_measure() -> None:
    """A pure loss fits an approximate budget, at delta zero."""
    q = Queryable(Universal(ApproxDP("0.1", 0)), None)
    q.ask(Launch(Toy()))
    assert q.ask("bits") == 0


class Empty(Toy):
    """It is false."""

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("first", [Toy(), Empty()], ids=repr)
def test_only_one_is_launched(first: Toy) -> None:
    """A second launch is a query to the first mechanism, whatever `bool` says of that one."""
    q = Queryable(Universal(TENTH), None)
    q.ask(Launch(first))
    with pytest.raises(UnknownQueryError, match="bits"):
        q.ask(Launch(Toy()))
    assert q.ask("bits") == 0
