"""What the privacy map of a composition has given before.

Each composition evaluates the maps of the mechanisms in it several times, in several measures.
Without this, the time would grow exponentially with the levels that are nested in each other.
"""

from collections.abc import Callable

from queryable.effort import is_out, is_quick
from queryable.errors import PrivacyClaimError, UnprovenCompositionError
from queryable.losses import Loss, Measure

_MOST = 1024
_REFUSALS = (ValueError, PrivacyClaimError, UnprovenCompositionError)


class KnownMap:
    """The losses and the refusals of one privacy map, by records and measure."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[int, Measure | None, bool], Loss | Exception] = {}

    def __repr__(self) -> str:
        return "KnownMap()"

    def at(
        self, d_in: int, measure: Measure | None, stated: Callable[[int, Measure | None], Loss]
    ) -> Loss:
        """What `stated` gives at `d_in` records in a measure, evaluated once.

        Raises: as `stated`.
        """
        if type(d_in) is not int:  # 1.0 and True are equal to 1, and refused
            return stated(d_in, measure)
        key = d_in, measure, is_quick()  # what is refused there, is not elsewhere
        found = self._known.get(key)
        if found is None:
            try:
                found = stated(d_in, measure)
            except Exception as error:
                if type(error) in _REFUSALS and not is_out():
                    self._keep(key, type(error)(*error.args))
                raise
            self._keep(key, found)
        if isinstance(found, Exception):
            raise type(found)(*found.args)
        return found

    def _keep(self, key: tuple[int, Measure | None, bool], found: Loss | Exception) -> None:
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = found
