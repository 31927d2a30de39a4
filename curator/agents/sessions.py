"""A session of an agent as a text: what was said, and which tools were called.

One message of JSON a line. The curator answers with noise, so a session states no noisy numbers:
its texts quote them, and its claims are compared with intervals (`quoting`). Responsible for
reading; `replaying` makes the calls.

    {"role": "user", "text": "Which clinic has more visits?"}
    {"role": "agent", "text": "I count them.", "calls": [{"tool": "ask", "arguments": {"query":
        "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", "zcdp": "1/200"}}]}
    {"role": "agent", "text": "Graz has {Graz.n}, more than Lyon.", "claims": ["Graz.n > Lyon.n"]}
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs

from curator.agents.quoting import require_claim
from queryable.wording.quoting import quoted

_KINDS: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}


@attrs.frozen
class AgentCall:
    """A call of a tool.

    Attributes:
        tool: its name.
        arguments: by name.
        expects: parts of the reply that noise does not change. A text is found in the reply's, and
            anything else is equal. A reply is an error if, and only if, an error is expected.
    """

    tool: str
    arguments: Mapping[str, Any] = attrs.Factory(dict)
    expects: Mapping[str, Any] = attrs.Factory(dict)


@attrs.frozen
class AgentMessage:
    """What was said, and what was called then.

    Attributes:
        role: user or agent.
        text: with numbers of the last answer as `{Graz.n}`.
        calls: of tools, one after another.
        claims: what the text says of such numbers, as `Graz.n > Lyon.n`.
    """

    role: str
    text: str
    calls: tuple[AgentCall, ...] = ()
    claims: tuple[str, ...] = ()


def read_session(text: str) -> tuple[AgentMessage, ...]:
    """The messages of a session, one a line; empty lines are left out.

    Raises:
        ValueError: a line is no message, or there is none. It names the line.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(_message(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number} of the session: {error}") from error
    if not found:
        raise ValueError("the session has no messages")
    return tuple(found)


def _message(value: Any) -> AgentMessage:
    given = _fields("a message", value, {"role": str, "text": str}, {"calls": list, "claims": list})
    if given["role"] not in ("user", "agent"):
        raise ValueError(f"role is {quoted(given['role'])}; it should be user or agent")
    if given["role"] == "user" and len(given) > 2:
        raise ValueError("a user has no calls and no claims")
    for claim in given.get("claims", ()):
        require_claim(claim)
    return AgentMessage(
        given["role"],
        given["text"],
        tuple(_call(each) for each in given.get("calls", ())),
        tuple(given.get("claims", ())),
    )


def _call(value: Any) -> AgentCall:
    return AgentCall(
        **_fields("a call", value, {"tool": str}, {"arguments": dict, "expects": dict})
    )


def _fields(
    what: str, value: Any, required: Mapping[str, type], optional: Mapping[str, type]
) -> dict[str, Any]:
    """The fields of an object of JSON, each of its type.

    Raises:
        ValueError: one is missing, not known, or of another type.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{what} should be an object, and not {quoted(value)}")
    kinds = {**required, **optional}
    for name in [*required, *value]:
        if name not in kinds:
            raise ValueError(f"{what} has no field {quoted(name)}; it has {', '.join(kinds)}")
        if not isinstance(value.get(name), kinds[name]):
            raise ValueError(f"{name} of {what} should be {_KINDS[kinds[name]]}")
    return value
