"""Replies on their way: a turn lasts until its reply is sent, and nobody's replies wait for ever.

Responsible for what the front holds for clients that do not read. A reply is given to its
connection in pieces, each once the last ones are on their way. A client that takes nothing of a
reply for some time is cut off. What was answered is in the ledger, and a message that is sent again
gets its answer.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONNECTION = "curator.connection"
"""In the scope of a request: the connection, which has `flow` and `transport`."""

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

        with ExitStack() as held:
            scope[_HELD] = held
            await self._application(scope, receive, sent)
            await _room(connection)


async def _room(connection: Any) -> None:
    """Wait until what was given to a connection is on its way; cut it off if nobody reads."""
    if connection.flow.write_paused:
        try:
            async with asyncio.timeout(_SECONDS):
                await connection.flow.drain()
        except TimeoutError:
            connection.transport.abort()


@contextmanager
def until_sent(scope: Scope, turn: AbstractContextManager[object]) -> Iterator[None]:
    """Enter a turn that lasts until the reply is sent; where nobody sends it, until the block ends.

    If the block raises, the turn ends with it.
    """
    with ExitStack() as own:
        own.enter_context(turn)
        yield
        held = scope.get(_HELD)
        if held is not None:
            held.push(own.pop_all())
