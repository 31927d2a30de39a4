"""Several launches, queries and releases through the handle: names, places, and one by one."""

from typing import Any

import attrs
import pytest

from composition import Blocks, ExPost, FiltCon
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Doubling,
    Laplace,
    LaplaceNoiseReduction,
    LinearQuery,
    Mean,
    Open,
    PrivateMultiplicativeWeights,
    Refine,
    RelativeError,
    SparseVector,
    Table,
    Until,
    column,
)
from mechanisms.refinement.refine_queries import Latest
from queryable import (
    SYSTEM,
    ZCDP,
    Ask,
    Coins,
    Failed,
    FromAnalyst,
    FromMechanism,
    Halted,
    Last,
    Launch,
    PersonInTheMiddle,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
    Statistic,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
)
from queryable.answers.released import Released
from queryable.messages import AskMany, LaunchMany
from queryable.streams.blocks import BlocksQuery
from tests.strategies import Courier, Faulty, RandomBits, RandomWord, Toy, raising

LITTLE, MUCH = PureDP("1/100"), PureDP(50)
WORD, BITS = RandomWord(LITTLE), RandomBits(LITTLE)
ROWS = {"age": [31, 47, 62, 50] * 50}


def tree(mechanism: Any = None, seed: int = 3, data: Any = ROWS) -> Queryable:
    """A tree with replayable coins."""
    root = FiltCon(PureDP(1)) if mechanism is None else mechanism
    return Queryable(root, data, coins=SeededCoins(seed), allow_seeded=True)


def test_there_may_be_none() -> None:
    q = tree()
    assert q.launch_many([]) == q.ask_many([]) == q.release_many([], loss=LITTLE) == ()
    assert len(q.view) == 0
    q = tree()
    word, bits = q.launch_many(each for each in (Launch(WORD, PureDP("1/2")), BITS))
    assert isinstance(word, int)
    assert isinstance(bits, Queryable)
    assert q.privacy_loss() == PureDP("51/100")
    assert q.children[1] is bits


def test_a_name_is_launched_once() -> None:
    """Alone or among several; only what is new is sent, charged and recorded."""
    q = tree()
    alone = q.launch(WORD, name="a")
    first, child, other = q.launch_many([WORD, BITS, WORD], names=["a", "b", None])
    assert first == alone != other
    assert q.launch(BITS, name="b") is child
    again = q.launch_many([WORD, BITS, WORD], names=("a", "b", "c"))
    assert again[:2] == (alone, child)
    assert q.privacy_loss() == PureDP("4/100")
    assert [row.name for row in q.ledger()] == ["a", "b", None, "c"]
    assert len(q.view.exchanges) == 5  # with the report
    assert q.launch_many([BITS, WORD], names=["b", "c"]) == (child, again[2])
    assert q.privacy_loss() == PureDP("4/100")
    q = tree()
    one, other, third = q.launch_many([WORD, WORD, WORD], names=["a", "a", "b"])
    assert one == other != third
    assert q.privacy_loss() == PureDP("2/100")


def test_a_name_of_another_mechanism_changes_nothing() -> None:
    """Of an earlier launch, or of the same call."""
    q = tree()
    q.launch(WORD, name="a")
    for mechanisms, names in (([WORD, BITS], ["b", "a"]), ([WORD, BITS], ["b", "b"])):
        with pytest.raises(QueryError, match="belongs to another mechanism"):
            q.launch_many(mechanisms, names=names)
    assert q.privacy_loss() == LITTLE
    for names in (["b"], "bc", ["b", 3], ["b", " "], 3, ["a", "b", "c"]):
        with pytest.raises(QueryError, match=r"name|list"):
            q.launch_many([WORD, WORD], names=names)
    assert q.privacy_loss() == LITTLE


def test_refusals_and_failures_are_values() -> None:
    """A refused name is free, a failed one fails again; neither hides the others."""
    q = tree()
    fault = Faulty(raising(ValueError()), at_launch=True, charged=LITTLE)
    word, refused, failed, more = q.launch_many([WORD, Toy(MUCH), fault, WORD], names=list("abcd"))
    assert isinstance(refused, Refused)
    assert refused.requested == MUCH
    assert failed == Failed()
    assert {type(word), type(more)} == {int}
    assert word != more
    assert q.launch_many([fault], names=["c"]) == (Failed(),)
    assert q.launch(WORD, name="b") != word
    assert q.privacy_loss() == PureDP("4/100")


def test_a_halt_is_a_value() -> None:
    """For every launch from the one that did not fit."""
    q = tree(FiltCon(PureDP(1), on_exceed="halt"))
    word, *halted = q.launch_many([WORD, Toy(MUCH), WORD])
    assert isinstance(word, int)
    assert [type(each) for each in halted] == [Halted, Halted]
    assert [type(each) for each in q.launch_many([WORD, WORD])] == [Halted, Halted]
    assert [type(each) for each in q.ask_many([Ask(0, 1), Ask(0, 2)])] == [Halted, Halted]
    assert q.privacy_loss() == LITTLE


def test_a_wrong_list_is_a_query_error() -> None:
    """Also where it cannot be iterated, or contains several at once again."""
    q = tree()

    def broken() -> Any:
        yield WORD
        raise ValueError("secret")

    for wrong in (int, type(None), lambda: "abc", broken, lambda: iter(int, 1)):
        for call in (q.launch_many, q.ask_many):
            with pytest.raises(QueryError, match="give a list"):
                call(wrong())
    for many in (AskMany([1]), LaunchMany([Launch(WORD)]), Ask(0, AskMany([1]))):
        with pytest.raises(QueryError, match="entry 1: write out"):
            q.ask_many([Launch(WORD), many])
    assert q.privacy_loss() == PureDP(0)


def test_several_queries_to_one_child_go_there_together() -> None:
    """From the parent, or from the child's own handle."""
    asked = []

    @attrs.frozen
    class Both(RandomBits):
        def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
            asked.append(query)
            if isinstance(query, AskMany):
                return state, tuple(f"{each}!" for each in query.queries)
            return super().step(state, query, coins)

    q = tree()
    child = q(FiltCon(PureDP("1/2")))(Both(LITTLE))
    assert child.ask_many(["a", "b"]) == ("a!", "b!")
    assert q.ask_many([Ask(0, Ask(0, "a")), Ask(0, Ask(0, "b"))]) == ("a!", "b!")
    assert q.ask(Ask(0, Ask(0, AskMany(["a"])))) == ("a!",)
    assert asked == [AskMany(("a", "b")), AskMany(("a", "b")), AskMany(("a",))]
    assert [(each.path, each.query, each.answer) for each in child.view] == [
        ((0, 0), query, f"{query}!") for query in "ababa"
    ]


def test_a_mechanism_that_does_not_know_them_is_asked_one_by_one() -> None:
    q = tree()
    bits, other = q(BITS), tree()(BITS)
    assert bits.ask_many(["bits"] * 3) == tuple(other.ask("bits") for _ in range(3))
    with pytest.raises(UnknownQueryError):
        bits.ask_many(["wrong", "bits"])
    assert len(bits.view) == 3
    answer, refused, last = bits.ask_many(["bits", "wrong", "bits"])
    assert {type(answer), type(last)} == {int}
    assert refused == Refused("ask for 'bits'")
    loss, word, known = q.ask_many([Launch(WORD), Launch(BITS), Ask(0, "bits")])
    assert [type(each) for each in (loss, word, known)] == [int, Queryable, int]


def test_an_answer_that_is_no_tuple_of_answers_is_the_answer_to_each() -> None:
    """Such as the failure of a person that both were sent through."""

    class Bad(PersonInTheMiddle[None]):
        def __init__(self, answer: Any) -> None:
            self.reply = answer

        def init(self) -> None:
            """No state."""

        def step(self, state: None, message: Any, coins: Coins) -> Any:
            if isinstance(message, FromMechanism) and message.answer is None:
                return None, ToAnalyst(None)
            if isinstance(message, FromAnalyst):
                return None, ToMechanism(message.query)
            return None, ToAnalyst(self.reply) if self.reply is not None else 3

    for reply, expected in ((None, Failed()), ((1, 2, 3), (1, 2, 3)), (Refused("no"),) * 2):
        q = tree(Bad(reply) @ FiltCon(PureDP(1)))
        assert q.launch_many([WORD, WORD], names=["a", None]) == (expected, expected)
        assert q.view.answers == (expected, expected)
        assert [each.query for each in q.view] == [Launch(WORD), Launch(WORD)]


def test_a_person_may_send_several_itself() -> None:
    """To the mechanism that it stands before."""

    class Splitting(Courier):
        def step(self, state: int, message: Any, coins: Coins) -> Any:
            if isinstance(message, FromAnalyst) and isinstance(message.query, tuple):
                return state, ToMechanism(LaunchMany([Launch(each) for each in message.query]))
            if isinstance(message, FromAnalyst) and isinstance(message.query, list):
                return state, ToMechanism(Ask(1, AskMany(message.query)))
            return super().step(state, message, coins)

    q = tree(Splitting() @ FiltCon(PureDP(1)))
    alone = tree(Courier() @ FiltCon(PureDP(1)))
    size = Statistic(lambda rows: len(rows["age"]), l1=1, l2=1)
    word, refused, search = q.ask((WORD, Toy(MUCH), SparseVector(50, "1/2")))
    assert word == alone(WORD)
    assert isinstance(refused, Refused)
    assert search.ask(size) in (True, False)
    assert {type(each) for each in q.ask([size, size, size])} <= {bool, Refused}
    assert q.privacy_loss() == PureDP("51/100")


REFINING: dict[str, Any] = {
    "Brownian": lambda: BrownianNoiseReduction() @ FiltCon(ZCDP(1)),
    "Doubling": lambda: Doubling(500) @ FiltCon(ZCDP(1)),
}


@pytest.mark.parametrize("name", REFINING)
def test_persons_that_refine_pass_launches_on_and_answer_one_by_one(name: str) -> None:
    size = Statistic(lambda rows: len(rows["age"]), l1=1, l2=1)
    together, alone = (tree(REFINING[name]()) for _ in range(2))
    asks = [Until(RelativeError("1/4"), [900, 100, 20]), Latest(), Refine(5)]
    if name == "Doubling":
        asks = [Until(RelativeError("1/4")), Latest(), Refine()]
    estimates = [q(Open(size)) for q in (together, alone)]
    assert estimates[0].ask_many(asks) == tuple(estimates[1].ask(each) for each in asks)
    words = together.launch_many([RandomWord(ZCDP("1/100")), RandomBits(ZCDP("1/100"))])
    assert words[0] == alone(RandomWord(ZCDP("1/100")))
    assert words[1].ask("bits") == alone(RandomBits(ZCDP("1/100"))).ask("bits")
    assert together.privacy_loss() == alone.privacy_loss()
    assert together.view.exchanges == alone.view.exchanges


def test_multiplicative_weights_and_reductions_answer_one_by_one() -> None:
    queries = [LinearQuery([1, 0, 0, 0]), LinearQuery([1, 1, 0, 0]), LinearQuery([0, 0, 1, 1])]
    weights = PrivateMultiplicativeWeights(
        4, records=40, epsilon=5, threshold=3, updates=2
    ) @ FiltCon(PureDP(5))
    data = [0] * 30 + [1, 2] * 5
    assert tree(weights, data=data).ask_many(queries) == tuple(
        map(asked_alone(tree(weights, data=data)), queries)
    )
    reduction = LaplaceNoiseReduction(Count(), scales=[50, 20, 10])
    steps = [Refine(), Refine(20), Latest(), Refine(), Refine()]
    some = tree(ExPost(PureDP(1)))(reduction).ask_many(steps)
    assert some == tuple(map(asked_alone(tree(ExPost(PureDP(1)))(reduction)), steps))
    assert isinstance(some[-1], Refused)


def asked_alone(handle: Queryable) -> Any:
    """Ask one query; a refusal becomes its value."""

    def ask(query: Any) -> Any:
        try:
            return handle.ask(query)
        except QueryRefusedError as error:
            return Refused(error.reason)

    return ask


def test_several_statistics_are_released_like_each_alone() -> None:
    data = Table({"age": [31, 47, 62, 50] * 50})
    statistics = [Count(), Count(column("age") >= 50), Mean("age", 0, 100)]
    together, alone = (tree(FiltCon(ZCDP(1)), data=data) for _ in range(2))
    some = together.release_many(statistics, loss=ZCDP("1/10"), names=["n", None, "mean"])
    each = [
        alone.release(statistic, loss=ZCDP("1/10"), name=name)
        for statistic, name in zip(statistics, ["n", None, "mean"], strict=True)
    ]
    assert all(isinstance(one, Released) for one in some)
    assert [str(one) for one in some] == [str(one) for one in each]
    assert list(together.ledger())[-1].total == list(alone.ledger())[-1].total
    within = together.release_many(statistics[:2], within=20, confidence="0.9")
    assert [one.interval("0.9") for one in within]
    assert together.release_many([Count()], loss=ZCDP("1/10"), names=["n"])[0] is some[0]


def test_several_statistics_of_blocks_are_released_like_each_alone() -> None:
    """Each block is charged for each of them; a block that is not there is a wrong query."""
    statistics, budget = [Count(), Count(column("age") >= 50)], Blocks(FiltCon(ZCDP("1/4")))
    together, alone = (tree(budget, data={"age": []}) for _ in range(2))
    for q in (together, alone):
        for name, ages in (("monday", [31, 47]), ("tuesday", [62]), ("wednesday", [50, 51])):
            q.feed({"age": ages}, block=name)
            q.feed.close(name)
    for blocks in (["monday", "wednesday"], Last(2)):
        some = together.release_many(
            statistics, loss=ZCDP("1/20"), names=[str(blocks), None], blocks=blocks
        )
        each = [
            alone.release(statistic, loss=ZCDP("1/20"), name=name, blocks=blocks)
            for statistic, name in zip(statistics, [str(blocks), None], strict=True)
        ]
        assert [str(one) for one in some] == [str(one) for one in each]
    spent = [each.spent for each in together.ask(BlocksQuery())]
    assert spent == [ZCDP("1/10"), ZCDP("1/10"), ZCDP("1/5")]
    assert spent == [each.spent for each in alone.ask(BlocksQuery())]
    first, last = together.release_many([Count(), Count()], loss=ZCDP("1/20"), blocks=Last(1))
    assert (type(first), type(last)) == (Released, Refused)
    with pytest.raises(QueryError, match="entry 0: "):
        together.release_many(statistics, loss=ZCDP("1/100"), blocks=["sunday"])
    with pytest.raises(QueryError, match="which names blocks"):
        together.release_many(statistics, loss=ZCDP("1/100"))


def test_a_wrong_release_names_its_place() -> None:
    """Nothing has been read or charged."""
    q = tree(FiltCon(ZCDP(1)), data=Table({"age": [31, 47]}))
    for wrong in (
        3,
        Laplace(Count(), epsilon=1),
        Statistic(len, l1=1, l2=1),
        Count(column("x") > 1),
    ):
        with pytest.raises(QueryError, match="entry 1: "):
            q.release_many([Count(), wrong], loss=ZCDP("1/10"))
    for options in ({}, {"within": 3, "loss": ZCDP(1)}):
        with pytest.raises(QueryError, match="exactly one"):
            q.release_many([Count()], **options)
    with pytest.raises(QueryError, match="nothing launches here"):
        q(Toy(ZCDP("1/10"))).release_many([Count()], loss=ZCDP("1/10"))
    assert q.privacy_loss() == ZCDP("1/10")
