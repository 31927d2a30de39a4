"""A session that is replayed: what is read, what is quoted and claimed, and what differs."""

import json
import sys
from math import nan
from typing import Any

import pytest

from curator.agents.quoting import about, holds, interval, quoting
from curator.agents.replaying import ReplayedMessage, replay_session
from curator.agents.serving import server_of
from curator.agents.sessions import AgentCall, AgentMessage, read_session

pytest.importorskip("mcp")

ANSWER = {
    "columns": ["clinic", "n", "n_low", "n_high"],
    "rows": [["Graz", 24_027, 23_988, 24_066], ["Lyon", 12_014, 11_975, 12_053], ["Oslo", 1, 0, 2]],
    "notes": [],
    "charged": "yes",
}
QUERY = {"query": "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", "zcdp": "1/200"}


class Scripted:
    """Tools that answer the same to everybody."""

    def __init__(self, **replies: Any) -> None:
        self.asked: list[tuple[str, tuple[str, ...], dict[str, Any]]] = []
        self._replies = replies

    def __getattr__(self, tool: str) -> Any:
        def run(*given: str, **how: Any) -> Any:
            self.asked.append((tool, given, {name: each for name, each in how.items() if each}))
            return self._replies[tool]

        return run


def replayed(*messages: AgentMessage, **replies: Any) -> tuple[ReplayedMessage, ...]:
    tools: Any = Scripted(**replies)
    return replay_session(messages, server_of(tools))


def asking(**expects: Any) -> AgentMessage:
    return AgentMessage("agent", "I ask.", (AgentCall("ask", QUERY, expects),))


def test_a_session_is_read() -> None:
    lines = [
        {"role": "user", "text": "How many?"},
        {
            "role": "agent",
            "text": "So {n}.",
            "calls": [{"tool": "ask", "arguments": QUERY, "expects": {"charged": "yes"}}],
            "claims": ["a.n > b.n"],
        },
        {"role": "agent", "text": "", "calls": [{"tool": "describe"}]},
    ]
    text = "\n" + "\n\n".join(map(json.dumps, lines)) + "\n"
    assert read_session(text) == (
        AgentMessage("user", "How many?"),
        AgentMessage(
            "agent", "So {n}.", (AgentCall("ask", QUERY, {"charged": "yes"}),), ("a.n > b.n",)
        ),
        AgentMessage("agent", "", (AgentCall("describe"),)),
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "Expecting property name"),
        ("[" * 100_000, "recursion"),
        ("[]", "a message should be an object, and not"),
        ('{"role": "user"}', "text of a message should be a text"),
        ('{"role": "user", "text": 7}', "text of a message should be a text"),
        ('{"role": "tool", "text": ""}', "role is 'tool'; it should be user or agent"),
        ('{"role": "user", "text": "", "call": []}', "a message has no field 'call'; it has role,"),
        ('{"role": "user", "text": "", "calls": []}', "a user has no calls"),
        ('{"role": "agent", "text": "", "calls": {}}', "calls of a message should be a list"),
        ('{"role": "agent", "text": "", "calls": [{}]}', "tool of a call should be a text"),
        (
            '{"role": "agent", "text": "", "calls": [{"tool": "ask", "arguments": []}]}',
            "arguments of a call should be an object",
        ),
        (
            '{"role": "agent", "text": "", "calls": [{"tool": "ask", "expect": {}}]}',
            "a call has no field 'expect'",
        ),
        *(
            (json.dumps({"role": "agent", "text": "", "claims": [claim]}), "should be as Graz.n >")
            for claim in ("n", "n >", "a > b > c", "a < b", 7)
        ),
    ],
)
def test_what_is_no_message_is_refused_with_its_line(line: str, what: str) -> None:
    good = '{"role": "user", "text": ""}'
    with pytest.raises(ValueError, match=what) as error:
        read_session(f"{good}\n{line}\n{good}")
    assert str(error.value).startswith("line 2 of the session: ")


def test_a_session_has_messages() -> None:
    with pytest.raises(ValueError, match="no messages"):
        read_session("\n \n")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ((24_027, 23_988, 24_066), "about 24,000"),
        ((24_027, 24_017, 24_037), "about 24,000"),
        ((24_027, 24_026, 24_028), "about 24,030"),
        ((3.14159, 3.1409, 3.1421), "about 3.14"),
        ((-24_027, -24_066, -23_988), "about -24,000"),
        ((17, -22, 56), "about 0"),
        ((17, 17, 17), "17"),
        ((1_234.5, 1_234.5, 1_234.5), "1,234.5"),
    ],
)
def test_digits_that_noise_may_change_are_left_out(
    number: tuple[float, float, float], text: str
) -> None:
    assert about(*number) == text


def test_numbers_are_quoted_from_their_row() -> None:
    assert quoting("{Graz.n} and {Lyon.n}, {}", ANSWER) == "about 24,000 and about 12,000, {}"
    alone = {"columns": ["n", "n_low", "n_high"], "rows": [[7, 7, 7]]}
    assert quoting("{n}", alone) == "7"
    dotted = {**ANSWER, "rows": [["St. Pauli", 9, 9, 9]]}
    assert quoting("{St. Pauli.n}", dotted) == "9"


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("Graz.m", "no number m with an interval"),
        ("Graz.clinic", "no number clinic with an interval"),
        ("Rome.n", "Rome.n is in 0 rows"),
        ("n", "n is in 3 rows"),
        ("", "no number  with"),
    ],
)
def test_a_number_that_is_not_there(place: str, what: str) -> None:
    with pytest.raises(LookupError, match=what):
        interval(place, ANSWER)
    with pytest.raises(LookupError, match="with an interval"):
        interval("Graz.n", {})
    for cell in (None, "nan", "Graz"):
        with pytest.raises(LookupError, match="is no number"):
            interval("n", {"columns": ["n", "n_low", "n_high"], "rows": [[cell, 1, 2]]})


@pytest.mark.parametrize(
    ("low", "high", "larger"), [(11, 10, True), (10, 10, False), (9, 10, False), (nan, 10, False)]
)
def test_a_number_is_larger_if_the_intervals_do_not_overlap(
    low: float, high: float, larger: bool
) -> None:
    rows = [["a", 12, low, 13], ["b", 9, 8, high]]
    assert holds("a.n > b.n", {**ANSWER, "rows": rows}) is larger


def test_a_session_that_holds() -> None:
    user = AgentMessage("user", "What is {n}?")
    said = AgentMessage("agent", "Graz has {Graz.n}.", (), ("Graz.n > Lyon.n", "Lyon.n > Oslo.n"))
    tools: Any = Scripted(ask=ANSWER, left={"left": "ZCDP(rho=0.02)"})
    left = AgentMessage(
        "agent",
        "",
        (AgentCall("left", {"data_set": "v"}, {"left": "rho=0.02"}),),
        ("Graz.n>Oslo.n",),
    )
    found = replay_session((user, asking(charged="yes", notes=[]), said, left), server_of(tools))
    assert [each.differences for each in found] == [(), (), (), ()]
    assert found[0].text == "What is {n}?"
    assert found[1].replies == (ANSWER,)
    assert found[2].text == "Graz has about 24,000."
    assert tools.asked == [
        ("ask", (QUERY["query"],), {"zcdp": "1/200"}),
        ("left", ("v",), {}),
    ]


@pytest.mark.parametrize(
    ("expects", "difference"),
    [
        ({"charged": "nothing"}, "ask replied charged 'yes'; expected 'nothing'"),
        ({"notes": [""]}, "ask replied notes []; expected ['']"),
        ({"left": None}, "ask replied left None; expected None"),  # there is no such part
        ({"error": "no"}, "ask replied error None; expected 'no'"),
    ],
)
def test_another_reply_differs(expects: dict[str, Any], difference: str) -> None:
    [found] = replayed(asking(**expects), ask=ANSWER)
    assert found.differences == (difference,)


def test_an_error_is_expected_or_differs() -> None:
    reply = {"error": "the budget is used up", "charged": "nothing"}
    [expected] = replayed(asking(error="used up"), ask=reply)
    [not_expected] = replayed(asking(charged="nothing"), ask=reply)
    assert expected.differences == ()
    assert not_expected.differences == ("ask replied an error: the budget is used up",)


@pytest.mark.parametrize(
    "call", [AgentCall("drop"), AgentCall("ask"), AgentCall("ask", {"query": 7})], ids=str
)
def test_what_the_server_does_not_take_is_an_error(call: AgentCall) -> None:
    [found] = replayed(AgentMessage("agent", "", (call,)), ask=ANSWER)
    [difference] = found.differences
    assert difference.startswith(f"{call.tool} replied an error: ")


def test_claims_and_quotations_that_do_not_hold_differ() -> None:
    said = AgentMessage(
        "agent", "{Rome.n}", (), ("Lyon.n > Graz.n", "Rome.n > Graz.n", "Graz.n > Lyon.n")
    )
    _, found = replayed(asking(), said, ask=ANSWER)
    assert found.text == "{Rome.n}"
    assert found.differences == (
        "Rome.n is in 0 rows of the answer; it should be in one",
        "Lyon.n > Graz.n: the intervals do not say so",
        "Rome.n > Graz.n: Rome.n is in 0 rows of the answer; it should be in one",
    )
    [first] = replayed(AgentMessage("agent", "{n}"))
    assert first.differences == ("the answer has no number n with an interval",)


def test_an_error_keeps_the_answer_before_it() -> None:
    calls = (AgentCall("ask", QUERY), AgentCall("left", {"data_set": "v"}))
    said = AgentMessage("agent", "{Graz.n}")
    *_, found = replayed(AgentMessage("agent", "", calls), said, ask=ANSWER, left={"error": "no"})
    assert found.text == "about 24,000"


def test_a_replay_is_told_in_lines() -> None:
    described = {
        "data_sets": [
            {"name": "visits", "columns": [{"name": "age", "type": "integer"}], "left": "all"}
        ]
    }
    calls = (AgentCall("describe"), AgentCall("ask", {"query": "q"}, {"charged": "no"}))
    empty = {"columns": ["k", "n", "n_low", "n_high"], "rows": [], "charged": "yes"}
    found = replayed(
        AgentMessage("agent", "I look.", calls), asking(), describe=described, ask=empty
    )
    assert str(found[0]).splitlines() == [
        "agent: I look.",
        "  describe()",
        "    data_sets:",
        "      name: visits",
        "      columns:",
        "        name: age, type: integer",
        "      left: all",
        "  ask(query='q')",
        "    no rows",
        "    charged: yes",
        "  DIFFERS: ask replied charged 'yes'; expected 'no'",
    ]
    lows = {"columns": ["k_low", "n", "n_low", "n_high"], "rows": [["a", 24_027, 23_988, 24_066]]}
    [told] = replayed(asking(), ask={**lows, "confidence": 0.95, "note": "noisy", "notes": []})
    assert str(told).splitlines()[2:] == ["    k_low a, n about 24,000"]


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ModuleNotFoundError, match="extra mcp"):
        replay_session((asking(),), None)
