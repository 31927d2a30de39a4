"""Hooks of the site generator, for `make docs`.

They add the README, the changelog and the notebooks as pages, rewrite the links between them,
format the privacy claims of docstrings, and keep the sites of earlier versions. They write nothing
into the repository.
"""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from griffe import (
    Attribute,
    Class,
    ExprCall,
    ExprKeyword,
    Extension,
    Function,
    Module,
    Object,
    Parameter,
    ParameterKind,
    Parameters,
)
from jinja2 import DictLoader
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

ROOT = Path(__file__).parent.parent
FRONT = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s#:]+)(#[^()\s]*)?\)")
_TEMPLATE = """{% extends "markdown/index.md.j2" %}
{% block stream %}
``` { .text .output }
{{ output.text | trim("\n") }}
```
{% endblock stream %}
{% block data_text %}
``` { .text .output }
{{ output.data["text/plain"] | trim("\n") }}
```
{% endblock data_text %}
"""
_SECTION = re.compile(r"\n+((?:Args|Attributes|Raises|Returns):\n)")
_CLAIMS = re.compile(r"^(\s+)(Claim|Theorem|Assumes|Checked by):", flags=re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Build the present version beside earlier ones."""
    config.site_dir = str(Path(config.site_dir) / present())
    return config


def present() -> str:
    """The version in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def on_post_build(config: MkDocsConfig) -> None:
    """List the versions that are there, for the menu, and lead to the latest one."""
    site = Path(config.site_dir).parent
    found = sorted((each.parent.name for each in site.glob("*/index.html")), key=_in_order)
    versions = [{"version": each, "title": each, "aliases": []} for each in reversed(found)]
    (site / "versions.json").write_text(json.dumps(versions), encoding="utf-8")
    (site / "index.html").write_text(_TO.format(found[-1]), encoding="utf-8")


def _in_order(version: str) -> tuple[tuple[int, str], ...]:
    """What versions are sorted by: their numbers, and whatever else they have."""
    parts = re.findall(r"\d+|[a-z]+", version)
    return tuple((int(each), "") if each.isdigit() else (-1, each) for each in parts)


_TO = (
    '<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">{0}</a>'
)


def sources() -> dict[str, str]:
    """Map each file of the repository to its place in the site."""
    docs = {path: path.relative_to("docs") for path in below("docs", "**/*.md")}
    notebooks = {path: path.with_suffix(".md") for path in below("notebooks", "*.ipynb")}
    charts = {path: path for path in below("benchmarks", "**/*.svg")}
    found = docs | notebooks | charts
    return FRONT | {path.as_posix(): place.as_posix() for path, place in found.items()}


def below(folder: str, pattern: str) -> Iterator[Path]:
    """Return matching files of a folder, relative to the root."""
    return (path.relative_to(ROOT) for path in sorted((ROOT / folder).glob(pattern)))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in this folder."""
    for source, place in sources().items():
        path = ROOT / source
        if path.suffix == ".ipynb":
            for name, content in converted(path, place).items():
                files.append(File.generated(config, name, content=content))
        elif not source.startswith("docs/"):
            files.append(File.generated(config, place, content=path.read_bytes()))
    return files


def converted(notebook: Path, place: str) -> dict[str, str | bytes]:
    """Convert a notebook to a page and its pictures."""
    exporter = MarkdownExporter(
        template_file="site.md.j2", extra_loaders=[DictLoader({"site.md.j2": _TEMPLATE})]
    )
    body, resources = exporter.from_filename(str(notebook))
    stem = posixpath.splitext(posixpath.basename(place))[0]
    pictures = {}
    for name, content in resources["outputs"].items():
        pictures[posixpath.join(posixpath.dirname(place), f"{stem}_{name}")] = content
        body = body.replace(f"({name})", f"({stem}_{name})")
    return {place: body, **pictures}


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    places = sources()
    here = next((each for each, place in places.items() if place == page.file.src_uri), None)
    if here is None:
        return markdown

    def moved(link: re.Match[str]) -> str:
        picture, text, target, anchor = link.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        if path in places:
            there = posixpath.relpath(places[path], posixpath.dirname(page.file.src_uri) or ".")
            return f"{picture}[{text}]({there}{anchor or ''})"
        is_elsewhere = not path.startswith("docs/")  # files in docs/ are copied into the site
        return text if is_elsewhere and (ROOT / path).exists() else link.group()

    return LINK.sub(moved, markdown)


class Docstrings(Extension):
    """Tell griffe, which reads the source, about privacy claims and the fields of attrs classes."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Put claim, theorem, assumptions and test of a Privacy section into paragraphs."""
        if obj.docstring is not None and "Privacy:\n" in obj.docstring.value:
            parted = _CLAIMS.sub(r"\n\1**\2:**", _SECTION.sub(r"\n\n\1", obj.docstring.value))
            obj.docstring.value = parted.replace("Privacy:\n\n", "Privacy:\n")

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Add an `__init__` whose parameters are the fields of an attrs class."""
        for cls in list(_classes(pkg)):
            if "__init__" not in cls.members and _is_attrs(cls):
                function = Function("__init__", parameters=Parameters(*_fields(cls)))
                cls.set_member("__init__", function)


def _classes(module: Module) -> Iterator[Class]:
    for member in module.members.values():
        if isinstance(member, Module):
            yield from _classes(member)
        elif isinstance(member, Class):
            yield member


def _is_attrs(cls: Class) -> bool:
    return any(
        str(each.value).startswith(("attrs.frozen", "attrs.define")) for each in cls.decorators
    )


def _fields(cls: Class) -> Iterator[Parameter]:
    """Return the fields of a class and its bases, each where it is first declared."""
    fields = {
        name: member
        for each in (*reversed(cls.mro()), cls)
        if _is_attrs(each)
        for name, member in each.members.items()
        if isinstance(member, Attribute) and _is_field(member)
    }
    yield Parameter("self", kind=ParameterKind.positional_or_keyword)
    for name, member in fields.items():
        options = _options(member.value)
        if str(options.get("init", "")) == "False":
            continue
        keyword = str(options.get("kw_only", "")) == "True"
        kind = ParameterKind.keyword_only if keyword else ParameterKind.positional_or_keyword
        default = options.get("default", "..." if "factory" in options else None)
        yield Parameter(name, annotation=member.annotation, kind=kind, default=default)


def _is_field(member: Attribute) -> bool:
    return (
        member.annotation is not None
        and "property" not in member.labels
        and not str(member.annotation).startswith("ClassVar")
    )


def _options(value: Any) -> dict[str, Any]:
    """Return the keywords of `attrs.field`, or the plain default of a field."""
    if isinstance(value, ExprCall) and str(value.function) == "attrs.field":
        return {each.name: each.value for each in value.arguments if isinstance(each, ExprKeyword)}
    return {} if value is None else {"default": value}
