"""Texts as Markdown that shows them as they are: no character of a text is read as markup.

Characters with a meaning in Markdown become character references, which every reader of Markdown
takes as text, or have a backslash before them. Nothing becomes a link.
"""

from collections.abc import Iterable, Sequence

_REFERENCES = {each: f"&#{ord(each)};" for each in "&<>|~$@"}
_ESCAPED = {each: f"\\{each}" for each in "\\`*_[]"}
_MARKUP = str.maketrans(_REFERENCES | _ESCAPED)


def markdown_text(text: str) -> str:
    """A text on one line, in which nothing is markup."""
    line = "".join(each if each.isprintable() else " " for each in text)
    plain = line.translate(_MARKUP)
    return plain.replace("://", "&#58;//").replace("www.", "www&#46;").replace("WWW.", "WWW&#46;")


def as_markdown_table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    heads = [*map(markdown_text, head)]
    lines = [heads, ["---"] * len(heads), *([*map(markdown_text, row)] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
