"""What a handle needs of the root of its tree: one verb, `tell`, and the view read back.

A handle does not know where its tree runs. `queryable.running.root` has the root that keeps
everything in memory. Another root may keep a durable log, or send messages to another process.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from queryable.checks.protection import Protected
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Query
from queryable.randomness.coins import ChildId
from queryable.running.handles import Handles, Path
from queryable.running.log import Record
from queryable.view import Exchange


class Root(Protocol):
    """The root of a running tree."""

    @property
    def mechanism(self) -> InteractiveMechanism[Any]:
        """The mechanism at the root."""

    @property
    def opening(self) -> Answer:
        """Its opening answer."""

    @property
    def protects(self) -> Protected:
        """Who is protected, in words."""

    @property
    def layout(self) -> str:
        """The columns of the data with their types, in words; empty if they are not known."""

    @property
    def outline(self) -> Any:
        """What makes statistics of the data without their rows; None if nothing does."""

    @property
    def people(self) -> Mapping[ChildId, str]:
        """Who has which child of the root, as far as it is known here."""

    def time_of(self, entry: int) -> int | None:
        """The second, since 1970, in which the message of an entry came; None if it is unknown."""

    @property
    def handles(self) -> Handles[Any]:
        """The handles of this tree by path."""

    def tell(self, path: Path, query: Query, names: tuple[str | None, ...] = ()) -> Answer:
        """Send a query to the mechanism at `path`, and return the answer.

        A query in an `Ask` is sent to the child that it names, as if the path had named it.
        A launch whose name was used at this path is not sent; the old answer is returned. The
        answer to `LaunchMany` and `AskMany` is a tuple with an answer for each entry.

        Args:
            names: the name of the launch, or of each of several; () if none has a name.

        Raises:
            QueryError: the query is wrong; nothing has changed.
        """

    def exchanges(self) -> Iterator[Exchange]:
        """The exchanges that are kept, in order."""

    def record(self) -> tuple[Record, Mapping[int, str]]:
        """The log as of now, and the names of launches by the number of their exchange."""
