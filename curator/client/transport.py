"""Requests to a curator: sent again until there is a reply, for a stated time.

Responsible for connections, their loss, and the order in which several curators of one ledger are
tried. A request may reach the curator twice. That is harmless: one that changes anything has a key.
"""

import time
import weakref
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException
from typing import Any

import attrs

from curator.client.replies import exchanged
from curator.client.urls import Address
from curator.wire import HEADER, VERSION, UnavailableError, WireError, error_of
from queryable.randomness.entropy import random_bytes

_AGAIN = (429, 502, 503, 504)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0
_SLACK = 10.0  # seconds beside a deadline, for the way and the opening of a data set
_READ = 60.0  # seconds for a reply to what asks no question
TIMEOUT = 120.0
"""Seconds to wait for one reply, if nothing else is stated."""

_UNTRUSTED = (
    "the certificate of the curator is not trusted here, so the token was not sent: {}. If its "
    "owner gave you a certificate, pass tls=ssl.create_default_context(cafile=PATH)"
)

_NO_CURATOR = (
    "{} does not speak the curator's protocol: its reply, with status {}, has no header "
    f"{HEADER}. Is this the address of its pages? Programs use that of `listen` in its "
    "configuration"
)


@attrs.frozen
class Patience:
    """How long to try.

    Attributes:
        seconds: how long to try again while there is no reply.
        timeout: how long to wait for one reply at most; None for ever. After the first reply that
            did not come in this time, all further ones are waited for as long as `seconds`.
        sleep, clock: of `time`.
    """

    seconds: float = 60.0
    timeout: float | None = TIMEOUT
    sleep: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic


class Transport:
    """Sends requests to a curator. Threads may share it.

    Args:
        addresses: those of one curator, or of several that share a ledger.
        token: the analyst's; None on the owner's socket.
        context: an `ssl.SSLContext`.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        token: str | None,
        patience: Patience,
        context: Any = None,
    ) -> None:
        self._addresses, self._patience, self._context = tuple(addresses), patience, context
        self._rest = (
            f"Accept-Encoding: identity\r\n{HEADER}: {VERSION}\r\n"
            "Content-Type: application/json\r\n"
        )
        if token is not None:
            self._rest += f"Authorization: Bearer {token}\r\n"
        self._waits = patience.timeout
        self._at = 0
        self._idle: list[tuple[int, HTTPConnection]] = []
        weakref.finalize(self, _closed, self._idle)

    def __repr__(self) -> str:
        return f"Transport({', '.join(each.text for each in self._addresses)})"

    def expect(self, deadline: float | None) -> None:
        """Wait for a reply to a message no longer than its curator may take.

        A message may wait for another one before it. If it waits longer, it is sent again under its
        key, and has its place.

        Args:
            deadline: seconds that the curator takes for a message at most; None for any time.
        """
        if deadline is not None:
            self._waits = _least(2 * deadline + _SLACK, self._patience.timeout)

    def get(self, target: str, seconds: float | None = None) -> bytes:
        """The body of a page.

        Args:
            seconds: how long to try again; None for as long as for messages.
        """
        return self._sent("GET", target, None, seconds)

    def post(self, target: str, body: bytes) -> bytes:
        """The body of the reply to a message."""
        return self._sent("POST", target, body, None)

    def turn(self) -> None:
        """Ask the next curator from now on."""
        self._at = (self._at + 1) % len(self._addresses)

    def close(self) -> None:
        """Close the connections; the next request makes a new one."""
        _closed(self._idle)

    def _sent(self, method: str, target: str, body: bytes | None, seconds: float | None) -> bytes:
        """The body of a reply with status 200.

        Raises:
            UnavailableError: there was none in time.
            InteractiveError: the curator refused the request.
        """
        patience, start, pause, tries = self._patience, None, _FIRST_PAUSE, 0
        most = patience.seconds if seconds is None else seconds
        longest = _least(_READ, patience.timeout) if method == "GET" else self._waits
        began, late = patience.clock(), False
        while True:
            wait, waits = 0.0, longest
            if late and start is not None:
                waits = _least(max(start + most - patience.clock(), _FIRST_PAUSE), longest)
            try:
                status, reply, wait = self._once(method, target, body, waits)
            except (OSError, HTTPException) as error:
                status, reply, why = None, b"", _why_it_failed(error, waits)
                late = late or isinstance(error, TimeoutError)
                if _is_untrusted(error) and len(self._addresses) == 1:
                    raise UnavailableError(why) from None  # it is the same a minute later
            if status == 200:
                return reply
            if status is not None and status not in _AGAIN:
                raise error_of(status, reply)
            if status is not None:
                why = str(error_of(status, reply))
            now = patience.clock()
            start = now if start is None else start
            tries += 1
            if tries % len(self._addresses):
                wait = 0.0  # the next one may answer
            else:
                wait = max(min(wait, _LONGEST_PAUSE), pause) * _jitter()
                pause = min(2 * pause, _LONGEST_PAUSE)
            if now + wait - start > most:
                tried = now - began if late else most
                raise UnavailableError(self._gave_up(method, tried, why)) from None
            self.turn()
            patience.sleep(wait)

    def _once(
        self, method: str, target: str, body: bytes | None, wait: float | None
    ) -> tuple[int, bytes, float]:
        """Status and body of the reply, and the seconds that the curator asks to wait."""
        at, connection = self._connection()
        connection.timeout = wait
        if connection.sock is not None:
            connection.sock.settimeout(wait)
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: {self._addresses[at].authority}\r\n{self._rest}"
        )
        if body is not None:
            head += f"Content-Length: {len(body)}\r\n"
        try:
            reply = exchanged(connection, method, f"{head}\r\n".encode("ascii"), body or b"")
            version = reply.headers.get(HEADER.lower())
            if version is None and reply.status not in _AGAIN:  # those may be a proxy's
                raise WireError(_NO_CURATOR.format(self._addresses[at].text, reply.status))
            if reply.status == 200:
                _require_version(version)
        except BaseException:  # also an interrupt: what comes next is not the reply to another
            connection.close()
            raise
        if reply.closes:
            connection.close()
        self._idle.append((at, connection))
        return reply.status, reply.body, _seconds(reply.headers.get("retry-after"))

    def _connection(self) -> tuple[int, HTTPConnection]:
        at = self._at
        while self._idle:
            try:
                where, connection = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if where == at:
                return at, connection
            connection.close()
        return at, self._addresses[at].connection(self._patience.timeout, self._context)

    def _gave_up(self, method: str, seconds: float, why: str) -> str:
        where = " or ".join(each.text for each in self._addresses)
        text = f"{where} did not answer for {seconds:.3g} seconds: {why}"
        if method == "GET":  # nothing was asked
            return text
        return (
            f"{text}. The message may have been answered; send it again on this handle, and it is "
            "asked once"
        )


def _closed(idle: list[tuple[int, HTTPConnection]]) -> None:
    while idle:
        idle.pop()[1].close()


def _require_version(text: str | None) -> None:
    """Check the version of a reply.

    Raises:
        WireError: it is another one.
    """
    if text != str(VERSION):
        raise WireError(
            f"the reply is not of version {VERSION} of the curator's protocol, which this library "
            f"speaks: its header {HEADER} is {text!r}. Use a version of queryable like the "
            "curator's"
        )


def _is_untrusted(error: BaseException) -> bool:
    """Whether an error is an `ssl.SSLCertVerificationError`."""
    return hasattr(error, "verify_message")


def _why_it_failed(error: BaseException, waited: float | None) -> str:
    if _is_untrusted(error):
        return _UNTRUSTED.format(error.verify_message)  # type: ignore[attr-defined]
    if isinstance(error, TimeoutError) and waited is not None:
        return (
            f"the last try timed out after {waited:.3g} seconds. It hangs, or works on something "
            "long, perhaps for others; connect(.., timeout=SECONDS) waits longer"
        )
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _least(seconds: float, most: float | None) -> float:
    return seconds if most is None else min(seconds, most)


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))  # in this order, what is no number is 0
    except ValueError:
        return 0.0


def _jitter() -> float:
    """A factor from 0.5 to 1.5, so that clients do not come back all at once."""
    return 0.5 + random_bytes(1)[0] / 255
