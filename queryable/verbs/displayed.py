"""What a handle shows of its tree of mechanisms: the view, and what follows from it.

Responsible for the tree, the ledger, the explanation and the report from a handle down. They are
functions of the recorded exchanges: nothing is asked, and nothing is charged.
"""

from typing import TYPE_CHECKING, Any

from queryable.running.handles import Path
from queryable.running.roots import Root
from queryable.view import View

if TYPE_CHECKING:
    from queryable.display.ledger import LedgerRows
    from queryable.display.nodes import TreeNode
    from queryable.display.report import UsageReport


class Displayed:
    """The methods of `Queryable` that show what happened at it and below it."""

    __slots__ = ()

    opening: Any
    _root: Root
    _path: Path

    @property
    def view(self) -> View:
        """The exchanges at or below this queryable, in order.

        The view keeps every exchange that was charged, changed a state or was random. Answers of
        `can_afford` and of a compositor's `privacy_loss` follow from these, so only the last
        thousand of such polls are kept, and the last report of each mechanism. Queries that a
        person in the middle answers are not polls.
        """
        depth = len(self._path)
        below = (each for each in self._root.exchanges() if each.path[:depth] == self._path)
        return View(self.opening, tuple(below))

    @property
    def node(self) -> "TreeNode":
        """The tree of mechanisms from here down, as the data that `tree` prints."""
        from queryable.display.history import TreeHistory

        root = self._root
        return TreeHistory.of(root.mechanism, root.opening, *root.record()).at(self._path)

    def ledger(self) -> "LedgerRows":
        """Every launch at or below this queryable, with its claim, its charge and the total."""
        from queryable.display.ledger import ledger_of

        return ledger_of(*self._root.record(), self._path)

    def tree(self) -> str:
        """The tree of mechanisms from here down, as text to print.

        Like `ledger`, it is a function of the view: nothing is asked and nothing is charged.
        """
        from queryable.display.text import as_text

        return as_text(self.node, self._root.protects)

    def explain(self) -> str:
        """The guarantee in plain words, with its theorem and its assumptions."""
        from queryable.display.explanation import explained

        return explained(self.node, self._root.protects, nested=self._path != ())

    def report(self) -> "UsageReport":
        """A report for a data protection officer: who is protected and how, and who asked what.

        It has the questions with their answers, costs and totals, and on a ledger the time of each
        and who asked. `to_markdown()`, `to_html()` and `to_csv()` are texts, and `write("a.xlsx")`
        writes a file.
        """
        from queryable.display.report import report_of

        root = self._root
        record, names = root.record()
        return report_of(
            *(self.node, root.protects, record, names),
            layout=root.layout,
            people=root.people,
            time_of=root.time_of,
            path=self._path,
        )

    def _repr_html_(self) -> str:
        from queryable.display.html import as_html

        return as_html(self.node, self._root.protects)
