"""What is found out about every message of a root before it is held.

Responsible for two checks, of which neither reads data: that it fits on the stack, and that the
root's coins decide all noise in it. With other coins than the system's, an answer looks as if it
could be computed again; noise that is drawn elsewhere could not.
"""

from typing import Any

from queryable.checks.held import held, require_nested
from queryable.errors import ForeignNoiseError
from queryable.optional import tosses_elsewhere
from queryable.randomness.coins import Coins, SystemCoins


def require_tellable(path: tuple[Any, ...], message: Any, coins: Coins) -> None:
    """Check a message before anything is charged.

    Args:
        path: the children that it is sent through.
        message: a query, or the mechanism of a root.
        coins: those of the root.

    Raises:
        QueryError: it is nested too deep; or it holds a mechanism whose noise does not come from
            coins, and these are not the system's.
    """
    require_nested(path, message)
    if not isinstance(coins, SystemCoins) and any(map(tosses_elsewhere, held(message))):
        raise ForeignNoiseError
