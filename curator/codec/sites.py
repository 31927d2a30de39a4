"""Classes of a site, which join the schema by entry points.

A package of the site declares its classes in its `pyproject.toml`:

    [project.entry-points."queryable.mechanisms"]
    "acme.median/1" = "acme.mechanisms:Median"

The name is the tag and has a dot, so that no tag of ours can ever be equal to it. The class is a
frozen attrs class whose values are written by its fields. Only the entry points that the curator's
configuration names are imported, and none while a text is read.

Analysts may send values of all of them, and fill their fields with anything that the annotations
admit. So a constructor has to check all that the claim of its class relies on.
"""

from collections.abc import Iterable
from importlib.metadata import entry_points

from curator.codec.entries import Entry, entry_of
from queryable.wording.quoting import quoted

GROUP = "queryable.mechanisms"


def site_entries(names: Iterable[str]) -> tuple[Entry, ...]:
    """The entries of these entry points.

    Raises:
        ValueError: one is not installed, or its name is no tag of a site.
    """
    if isinstance(names, str):
        raise TypeError(f"names is {quoted(names)}; it should be a list of entry points")
    return tuple(_entry(name) for name in names)


def _entry(name: str) -> Entry:
    found = entry_points(group=GROUP)
    if name not in found.names:
        there = ", ".join(sorted(found.names)) or "none"
        raise ValueError(f"install {quoted(name)}: the entry points of {GROUP} are {there}")
    if "." not in name.partition("/")[0]:
        raise ValueError(f'name it "yoursite.name/1", with a dot, not {quoted(name)}')
    return entry_of(name, found[name].load())
