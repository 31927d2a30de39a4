"""Values as HTML, by the templates of this package.

Templates escape every value. A page loads only the two assets, and has no script and no style of
its own, so that the policy in `HEADERS` can forbid these.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined

HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""The headers of every page."""

_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@attrs.frozen
class Asset:
    """A file that pages load."""

    body: bytes
    media_type: str

    @property
    def version(self) -> str:
        """Digits that change with the file."""
        return sha256(self.body).hexdigest()[:12]


@cache
def assets() -> Mapping[str, Asset]:
    """The assets by name."""
    folder = files(__package__ or "").joinpath("assets")
    return {name: Asset(folder.joinpath(name).read_bytes(), kind) for name, kind in _TYPES.items()}


def asset_address(name: str) -> str:
    """Where a browser finds an asset; it may keep it."""
    return f"/assets/{name}?v={assets()[name].version}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = asset_address
    environment.filters["width"] = _width
    return environment


def _width(share: float) -> str:
    return f"{100 * share:.4g}%"


def rendered(template: str, **values: Any) -> bytes:
    """The text of a template with values in it."""
    text = _environment().get_template(template).render(values)
    return text.encode(errors="replace")  # a name may hold half of a pair of surrogates
