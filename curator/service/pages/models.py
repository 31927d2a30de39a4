"""What a page shows, put together from what workers say and from the access: values for templates.

Responsible for who asked, for times as texts, and for the rows that a filter keeps. Knows no HTML.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import attrs

OUTCOMES = ("charged", "answered", "refused", "failed", "halted")
"""The outcomes of messages, as a filter offers them."""

PAGE_ROWS = 50
"""How many messages a page shows at once."""

OWNER = "the owner"
_LONGEST = 200


@attrs.frozen
class Filter:
    """Which messages are shown; an empty field keeps all.

    Attributes:
        words: each of them occurs in a row, in capitals or not.
        outcome: one of `OUTCOMES`.
        who: an analyst's name, or `OWNER`.
        page: 1 for the newest messages, 2 for those before them, ...
    """

    words: str = ""
    outcome: str = ""
    who: str = ""
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Filter":
        """Read the parameters of an address; what is wrong filters nothing."""
        page = given.get("page", "")
        is_page = page.isascii() and page.isdecimal() and len(page) < 6
        outcome = given.get("outcome", "")
        return cls(
            given.get("words", "")[:_LONGEST].strip(),
            outcome if outcome in OUTCOMES else "",
            given.get("who", "")[:_LONGEST],
            max(int(page), 1) if is_page else 1,
        )

    def query(self, page: int | None = None) -> str:
        """The parameters of an address, with "?" if there are any.

        Args:
            page: another one than this.
        """
        number = self.page if page is None else page
        named = {"words": self.words, "outcome": self.outcome, "who": self.who}
        given = {name: value for name, value in named.items() if value}
        if number > 1:
            given["page"] = str(number)
        return f"?{urlencode(given)}" if given else ""

    @property
    def is_empty(self) -> bool:
        """Whether all messages are kept."""
        return not (self.words or self.outcome or self.who)

    def keeps(self, row: Mapping[str, Any]) -> bool:
        """Whether a row, as `shown_row` gives it, is shown."""
        if self.outcome and row["outcome"] != self.outcome:
            return False
        if self.who and row["who"] != self.who:
            return False
        return all(word in row["searched"] for word in self.words.casefold().split())


def time_of(on: int | None) -> tuple[str, str]:
    """A second as text for machines and for people, in UTC; empty if it is unknown."""
    if on is None:
        return "", ""
    try:
        moment = datetime.fromtimestamp(on, UTC)
    except (ValueError, OverflowError, OSError):
        return "", ""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}", f"{moment:%Y-%m-%d %H:%M:%S}"


def shown_row(row: Mapping[str, Any], people: Mapping[int | str, str] | None) -> dict[str, Any]:
    """A row of a page with who asked, and when, as texts.

    Args:
        people: who has which child of the root; None on an analyst's page, where nobody else asks.
    """
    path = row["path"]
    who = "" if people is None else people.get(path[0], "") if path else OWNER
    machine, moment = time_of(row["on"])
    where = "/" + "/".join(map(str, path))
    said = (who, where, moment, *(row[name] or "" for name in _SEARCHED))
    return {
        **row,
        "who": who,
        "where": where,
        "time": machine,
        "moment": moment,
        "searched": "\n".join(map(str, said)).casefold(),
    }


_SEARCHED = ("name", "asked", "outcome", "answer", "claim", "loss", "total")


@attrs.frozen
class Listed:
    """The messages that a page shows.

    Attributes:
        rows: newest first.
        found: how many the filter keeps, among the last `among` ones of `total`.
        page, pages: the number of this page, and of all.
    """

    rows: list[dict[str, Any]]
    found: int
    among: int
    total: int
    page: int
    pages: int


def listed(
    told: Mapping[str, Any], people: Mapping[int | str, str] | None, chosen: Filter
) -> Listed:
    """The messages of a page that a filter keeps."""
    rows = [shown_row(row, people) for row in reversed(told["rows"])]
    kept = [row for row in rows if chosen.keeps(row)]
    pages = max(-(-len(kept) // PAGE_ROWS), 1)
    page = min(chosen.page, pages)
    start = (page - 1) * PAGE_ROWS
    return Listed(
        kept[start : start + PAGE_ROWS], len(kept), len(rows), told["messages"], page, pages
    )


def with_places(node: dict[str, Any], place: str = "r") -> dict[str, Any]:
    """A tree in which each node has a place of its own, by which a browser knows it again."""
    below = node.get("children", ())
    children = [with_places(each, f"{place}-{_own(each, at)}") for at, each in enumerate(below)]
    return {**node, "place": place, "children": children}


def _own(node: Mapping[str, Any], at: int) -> str:
    path = node.get("path")
    return f"c{path[-1]}" if path else f"n{at}"


def granted(
    below: Iterable[Mapping[str, Any]], people: Mapping[int | str, str]
) -> list[dict[str, Any]]:
    """The grants of a data set, each with who has it."""
    return [{**each, "who": people[each["path"][0]]} for each in below if each["path"][0] in people]
