"""`Written`: the text of a message's query, which is written once.

The coins of a message and its event in the ledger have the same text of its query, and an analyst
has sent that text already. Responsible for that text of the message that is under way. Does not
know what becomes of it.
"""

from typing import Any

from curator.codec import Codec


class Written:
    """Writes values with a codec.

    A text is found again by the identity of its query. Whoever is asked for a message's coins
    calls `canonical` first, so a query that has changed since another message is written anew.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._sent: tuple[Any, str] | None = None
        self._last: tuple[Any, str] | None = None

    def send(self, query: Any, text: str | None) -> None:
        """Note the text with which a query was sent, until the next call; None if it is another."""
        self._sent = None if text is None else (query, text)

    def canonical(self, value: Any) -> bytes:
        """The text of an answer, or of a pair of a path and a query, for `SealedCoins`.

        Raises:
            CodecError: it cannot be written.
        """
        if not (type(value) is tuple and len(value) == 2 and type(value[0]) is tuple):
            return self._codec.encode(value)
        path, query = value
        sent = self._sent
        text = sent[1] if sent is not None and sent[0] is query else self._text(query)
        self._last = query, text
        whole = f"[{self._text(path)},{text}]"
        self._codec.limits.check(whole)
        return whole.encode("ascii")

    def query(self, query: Any) -> str:
        """The text of the query of which `canonical` was last asked, or of another one."""
        last = self._last
        return last[1] if last is not None and last[0] is query else self._text(query)

    def _text(self, value: Any) -> str:
        return str(self._codec.encode(value), "ascii")
