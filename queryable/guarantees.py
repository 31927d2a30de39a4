"""What a mechanism guarantees, in words, read off its docstring.

Responsible for finding the "Privacy:" section that every mechanism's docstring has, so that what is
explained to an analyst is what its author wrote and a test checks. Knows no mechanism.
"""

import inspect
import re

import attrs

_ENTRY = re.compile(r"^(\s*)(Claim|Theorem|Assumes|Checked by):\s*(.*)$")


@attrs.frozen
class Guarantee:
    """In words: what it is, what is claimed, by which theorem, under which assumptions.

    A part that nobody has written is empty.
    """

    summary: str = ""
    claim: str = ""
    theorem: str = ""
    assumes: str = ""


def documented(kind: type) -> Guarantee:
    """The guarantee as written in a class's docstring; what it leaves out, in its bases'."""
    found: dict[str, str] = {}
    for each in kind.__mro__:
        doc = each.__dict__.get("__doc__")
        if isinstance(doc, str):
            found = _entries(inspect.cleandoc(doc)) | found
    summary = kind.__doc__ if isinstance(kind.__doc__, str) else ""
    first = inspect.cleandoc(summary).split("\n\n")[0] if summary else ""
    return Guarantee(
        _plain(first),
        *(found.get(name, "") for name in ("Claim", "Theorem", "Assumes")),
    )


def _entries(doc: str) -> dict[str, str]:
    """The entries of the Privacy section; an entry goes on while lines are indented deeper."""
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
    return {n: _plain(" ".join(lines)).split(" The proof")[0] for n, lines in entries.items()}


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").split())
