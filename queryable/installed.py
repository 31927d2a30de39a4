"""Whether the packages of this project are the ones that Python finds.

Responsible for the four import names, which other projects use too. Two distributions that have a
package of one name overwrite each other's files; the first folder on the path hides the others.
"""

import warnings
from importlib.util import find_spec

DISTRIBUTION = "queryable-dp"
PACKAGES = ("queryable", "mechanisms", "composition", "curator")
MARK = f'__distribution__ = "{DISTRIBUTION}"'
"""The line that each package's `__init__.py` has."""


def stranger(name: str) -> str | None:
    """Where Python finds another project's package of this name, or None if it finds ours or none.

    The package is not imported.
    """
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # a module in `sys.modules` without a spec
        return "sys.modules"
    if spec is None:
        return None
    source = getattr(spec.loader, "get_source", lambda _: None)(name) or ""
    return None if MARK in source else str(spec.origin or spec.submodule_search_locations)


def require_own(name: str) -> None:
    """Check that Python finds this project's package of a name, which another one needs.

    Raises:
        ImportError: it finds another project's.
    """
    if (place := stranger(name)) is not None:
        raise ImportError(_words(name, place))


def warn_of_strangers() -> None:
    """Warn if Python finds another project's package of one of our names."""
    for name in PACKAGES:
        if (place := stranger(name)) is not None:
            warnings.warn(_words(name, place), UserWarning, stacklevel=3)


def _words(name: str, place: str) -> str:
    return (
        f"`{name}` on the path is another project's ({place}), not the one of {DISTRIBUTION}. "
        f"Install {DISTRIBUTION} in an environment of its own, and start Python in another folder "
        "if the file is in this one"
    )
