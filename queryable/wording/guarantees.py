"""The guarantee of a mechanism in words, read from its docstring.

Responsible for parsing the "Privacy:" section of mechanisms' docstrings. The explanation that an
analyst reads is therefore the text that a test checks.
"""

import inspect
import re

import attrs

_ENTRY = re.compile(r"^(\s*)(Claim|Theorem|Assumes|Checked by):\s*(.*)$")


@attrs.frozen
class Guarantee:
    """A summary of the mechanism, its claim, the theorem and the assumptions, in words.

    A part that the docstring does not have is empty. `growing` is the theorem for data that grow,
    where it is another one.
    """

    summary: str = ""
    claim: str = ""
    theorem: str = ""
    assumes: str = ""
    growing: str = ""


def documented(kind: type) -> Guarantee:
    """The guarantee in a class's docstring; missing parts come from its base classes."""
    found: dict[str, str] = {}
    for each in kind.__mro__:
        doc = each.__dict__.get("__doc__")
        if isinstance(doc, str):
            found = _entries(inspect.cleandoc(doc)) | found
    summary = kind.__doc__ if isinstance(kind.__doc__, str) else ""
    first = inspect.cleandoc(summary).split("\n\n")[0] if summary else ""
    return Guarantee(
        _one_line(first),
        *(found.get(name, "") for name in ("Claim", "Theorem", "Assumes")),
    )


def _entries(doc: str) -> dict[str, str]:
    """The entries of the Privacy section. Lines that are indented deeper continue an entry."""
    entries: dict[str, list[str]] = {}
    name, depth, inside = "", 0, False
    for line in doc.splitlines():
        if not line.startswith(" "):
            inside = line.strip().rstrip(":") == "Privacy" or (inside and not line.strip())
            continue
        if not inside:
            continue
        if (match := _ENTRY.match(line)) is not None:
            name, depth = match[2], len(match[1])
            entries[name] = [match[3]]
        elif name and len(line) - len(line.lstrip()) >= depth:
            entries[name].append(line)
    # a proof is for those who read the source
    return {n: _one_line(" ".join(lines)).split(" The proof")[0] for n, lines in entries.items()}


def _one_line(text: str) -> str:
    return " ".join(text.replace("`", "").split())
