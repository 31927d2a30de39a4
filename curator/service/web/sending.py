"""Replies on their way: a turn lasts until its reply is sent, and nobody's replies wait for ever.

Responsible for what the front holds for clients that do not read. A reply is given to its
connection in pieces, each once the last ones are on their way. A client that takes nothing of a
reply for some time is cut off. What was answered is in the ledger, and a message that is sent again
gets its answer.
"""

import asyncio
from contextlib import AbstractContextManager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONNECTION = "curator.connection"
"""In the scope of a request: the connection, which has `flow` and `transport`."""

WHOLE = "curator.whole"
"""In the scope of a request whose body has arrived."""

_HELD = "curator.held"
_PIECE = 1 << 16
_SECONDS = 30.0  # for a client to take a piece


class Sending:
    """An application whose replies leave in pieces, and whose turns last until they have left."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        connection = scope.get(CONNECTION)
        if connection is None:
            await self._application(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            body = message.get("body", b"")
            if len(body) <= _PIECE:
                await _room(connection)
                await send(message)
                return
            more, whole = message.get("more_body", False), memoryview(body)
            for start in range(0, len(body), _PIECE):
                piece = bytes(whole[start : start + _PIECE])
                follows = more or start + _PIECE < len(body)
                await _room(connection)
                await send({**message, "body": piece, "more_body": follows})

        held: list[AbstractContextManager[object]] = []
        scope[_HELD] = held
        try:
            await self._application(scope, receive, sent)
            await _room(connection)
        finally:
            for turn in held:
                turn.__exit__(None, None, None)


async def _room(connection: Any) -> None:
    """Wait until what was given to a connection is on its way; cut it off if nobody reads."""
    if connection.flow.write_paused:
        try:
            async with asyncio.timeout(_SECONDS):
                await connection.flow.drain()
        except TimeoutError:
            connection.transport.abort()


class UntilSent:
    """A block with a turn that lasts until the reply is sent; where nobody sends it, as the block.

    If the block raises, the turn ends with it.

    Args:
        turn: what ends raises nothing.
    """

    __slots__ = ("_scope", "_turn")

    def __init__(self, scope: Scope, turn: AbstractContextManager[object]) -> None:
        self._scope, self._turn = scope, turn

    def __enter__(self) -> None:
        self._turn.__enter__()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        held = None if kind is not None else self._scope.get(_HELD)
        if held is not None:
            held.append(self._turn)
        else:
            self._turn.__exit__(None, None, None)
