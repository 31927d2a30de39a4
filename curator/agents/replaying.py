"""A session of an agent, replayed without a model: its calls are made again at a server.

The replies are those of the curator that is asked. What the session expects of them, and what its
texts say of their numbers, is compared.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs

from curator.agents.quoting import about, holds, interval, quoting
from curator.agents.sessions import AgentCall, AgentMessage


@attrs.frozen
class ReplayedMessage:
    """A message of a session, with what was replied now.

    Attributes:
        message: of the session.
        text: its text, with the numbers that it quotes.
        replies: to its calls.
        differences: what was expected or claimed and is not so; empty if the message holds.
    """

    message: AgentMessage
    text: str
    replies: tuple[Mapping[str, Any], ...]
    differences: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.message.role}: {self.text}"]
        for call, reply in zip(self.message.calls, self.replies, strict=True):
            given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            lines += [f"  {call.tool}({given})", *(f"    {each}" for each in in_lines(reply))]
        return "\n".join([*lines, *(f"  DIFFERS: {each}" for each in self.differences)])


def replay_session(session: Sequence[AgentMessage], server: Any) -> tuple[ReplayedMessage, ...]:
    """Make all calls of a session, one after another, and compare.

    A question that was not asked before with the server's token is asked, and charged.

    Args:
        session: what `read_session` gives.
        server: what `mcp.Client` takes, such as `mcp.StdioServerParameters` with `curator mcp ..`.

    Raises:
        ModuleNotFoundError: the extra mcp is missing.
    """
    try:
        from mcp import Client, MCPError
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("agents need the extra mcp: pip install '.[mcp]'") from error

    async def reply(client: Client, call: AgentCall) -> dict[str, Any]:
        """What a tool replies; what the SDK refuses, such as a wrong type, is an error too."""
        try:
            result = await client.call_tool(call.tool, dict(call.arguments))
        except MCPError as error:
            return {"error": str(error)}
        if result.is_error:
            return {"error": " ".join(each.text for each in result.content if each.type == "text")}
        return dict(result.structured_content or {})

    async def replies() -> list[list[dict[str, Any]]]:
        async with Client(server) as client:
            return [[await reply(client, call) for call in each.calls] for each in session]

    with ThreadPoolExecutor(1) as own:  # the thread of a notebook runs a loop already
        told = own.submit(lambda: asyncio.run(replies())).result()
    return tuple(_compared(session, told))


def _compared(
    session: Sequence[AgentMessage], told: Sequence[Sequence[Mapping[str, Any]]]
) -> Iterator[ReplayedMessage]:
    answer: Mapping[str, Any] = {}
    for message, replies in zip(session, told, strict=True):
        text, differences = _said(message, answer)
        for call, reply in zip(message.calls, replies, strict=True):
            differences += _unexpected(call, reply)
            answer = reply if "rows" in reply else answer
        yield ReplayedMessage(message, text, tuple(replies), tuple(differences))


def _said(message: AgentMessage, answer: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text with its numbers; the claims that do not hold, and numbers that are not there."""
    text, differences = message.text, []
    try:
        text = quoting(text, answer) if message.role == "agent" else text
    except LookupError as error:
        differences.append(str(error.args[0]))
    for claim in message.claims:
        try:
            if not holds(claim, answer):
                differences.append(f"{claim}: the intervals do not say so")
        except LookupError as error:
            differences.append(f"{claim}: {error.args[0]}")
    return text, differences


def _unexpected(call: AgentCall, reply: Mapping[str, Any]) -> Iterator[str]:
    for name, expected in call.expects.items():
        value = reply.get(name)
        part = isinstance(expected, str) and isinstance(value, str) and expected in value
        if not (part or (name in reply and value == expected)):
            yield f"{call.tool} replied {name} {value!r}; expected {expected!r}"
    if "error" in reply and "error" not in call.expects:
        yield f"{call.tool} replied an error: {reply['error']}"


def in_lines(reply: Mapping[str, Any]) -> Iterator[str]:
    """A reply in lines for people; numbers of rows are without the digits that noise may change."""
    for row in reply.get("rows", ()):
        yield ", ".join(_cells(row, reply["columns"]))
    if reply.get("rows") == []:
        yield "no rows"
    for name, value in reply.items():
        if value == [] or ("rows" in reply and name in _OF_ROWS):
            continue
        if not (isinstance(value, list) and isinstance(value[0], Mapping)):
            yield f"{name}: {value}"
            continue
        yield f"{name}:"
        for each in value:
            lines = [*in_lines(each)]
            yield from (
                f"  {line}" for line in (lines if len(lines) > len(each) else [", ".join(lines)])
            )


_OF_ROWS = ("rows", "columns", "confidence", "note")


def _cells(row: Sequence[Any], columns: Sequence[str]) -> Iterator[str]:
    """The cells of a row by their names; the ends of an interval are left out."""
    answer = {"columns": columns, "rows": [row]}
    for name, cell in zip(columns, row, strict=True):
        try:
            yield f"{name} {about(*interval(name, answer))}"
        except LookupError:
            if not any(name in (f"{each}_low", f"{each}_high") for each in columns):
                yield f"{name} {cell}"
