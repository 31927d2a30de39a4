"""What is found out about every message of a root before it is held.

Responsible for the check that a root's coins decide all noise of a message. With other coins than
the system's, an answer looks as if it could be computed again; noise that is drawn elsewhere could
not. Reads no data.
"""

from collections.abc import Callable
from typing import Any

from queryable.checks.held import held, once, require_nested
from queryable.errors import ForeignNoiseError
from queryable.messages import Launch
from queryable.optional import tosses_elsewhere
from queryable.randomness.coins import Coins, SystemCoins

Check = Callable[[tuple[Any, ...], Any], None]
"""Takes the children that a message is sent through, and the message."""


def check_with(coins: Coins) -> Check:
    """The check of every message of a root with these coins: that it is not nested too deep.

    With other coins than the system's also that these decide all noise in it.
    """
    return require_nested if isinstance(coins, SystemCoins) else _require_own_noise


def _require_own_noise(path: tuple[Any, ...], message: Any) -> None:
    """Check a message, or the mechanism of a root, before anything is charged.

    Raises:
        ForeignNoiseError: it holds a mechanism whose noise does not come from coins.
    """
    require_nested(path, message)
    inner = message.mechanism if type(message) is Launch else message  # which may be remembered
    if once(inner, _is_foreign):
        raise ForeignNoiseError


def _is_foreign(value: Any) -> bool:
    return any(map(tosses_elsewhere, held(value)))
