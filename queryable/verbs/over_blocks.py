"""Launches over blocks of growing data: what the handle has for them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar, overload

from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import Launch
from queryable.streams.blocks import BlockName, Last, LaunchOver

A = TypeVar("A")


def launch_of(
    mechanism: InteractiveMechanism[Any], blocks: Sequence[BlockName] | Last | None
) -> Launch | LaunchOver:
    """A launch; over blocks, if some are named."""
    return Launch(mechanism) if blocks is None else LaunchOver(mechanism, _as_now(blocks))


def _as_now(blocks: Any) -> Any:
    """The blocks as a value: a list might change later."""
    return tuple(blocks) if type(blocks) is list else blocks


class OverBlocks(ABC):
    """The methods of `Queryable` for blocks of data."""

    __slots__ = ()

    @abstractmethod
    def _launched(self, launch: Launch | LaunchOver, name: str | None) -> Any:
        """What the analyst gets for a launch."""

    @overload
    def launch_over(
        self,
        mechanism: Measurement[A],
        blocks: Sequence[BlockName] | Last,
        d_out: Loss | None = None,
        *,
        name: str | None = None,
    ) -> A: ...
    @overload
    def launch_over(
        self,
        mechanism: InteractiveMechanism[Any],
        blocks: Sequence[BlockName] | Last,
        d_out: Loss | None = None,
        *,
        name: str | None = None,
    ) -> Any: ...
    def launch_over(
        self,
        mechanism: InteractiveMechanism[Any],
        blocks: Sequence[BlockName] | Last,
        d_out: Loss | None = None,
        *,
        name: str | None = None,
    ) -> Any:
        """Launch a mechanism on the union of closed blocks of the data, which `Blocks` runs over.

        Each of the blocks is charged the whole loss. If one cannot pay, none is charged.

        Args:
            blocks: the names of the blocks, each once; or `Last(7)` for the last seven. A launch
                with a `name` happens once, even if there are new blocks since.
            d_out, name: as for `launch`.

        Raises: as `launch`; a refusal names the blocks that cannot pay.
        """
        return self._launched(LaunchOver(mechanism, _as_now(blocks), d_out), name)
