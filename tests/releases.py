"""Build a release, and use it where the sources are not: `make dist`.

The source archive and the wheel are built from the checkout and once more from the source archive:
the bytes have to be equal. The wheel is installed into an empty environment, in which the README's
first example and tests run that take everything from the wheel. A bill of materials in CycloneDX is
written for each extra, from what pip would install for it, and docs/licences.md from these.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
LICENCES = ROOT / "docs" / "licences.md"
EXTRAS = (
    "",
    "audit",
    "plot",
    "excel",
    "demo",
    "table",
    "ibis",
    "postgres",
    "curator",
    "spark",
    "sign",
    "sql",
    "mcp",
    "opendp",
)
"""The extras that users install; "" is what everybody gets. Others are of this repository."""
TESTED = (
    "tests/test_api.py",
    "tests/unit/queryable/losses",
    "tests/unit/composition/rules",
    "tests/laws/test_laws.py",
)
NEEDED = ("pytest>=8.2", "hypothesis>=6.100", "mpmath>=1.3", "pandas>=2.1.4", "polars>=1.0")
OURS = "queryable-dp"
_EPOCH = "315532800"  # 1980, the first time that a zip file can state
_BUILD = "import sys; from hatchling import build as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


def build(source: Path, folder: Path, what: str) -> Path:
    """Build `sdist` or `wheel` of a source tree into a folder; its path."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": _EPOCH}
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, f"build_{what}", str(folder)],
        cwd=source,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return folder / done.stdout.split()[-1]


def built(folder: Path) -> tuple[Path, Path]:
    """The source archive and the wheel, in a folder, once they are known to be reproducible.

    Raises:
        SystemExit: they are not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sdist, wheel = (build(ROOT, folder, what) for what in ("sdist", "wheel"))
    with TemporaryDirectory() as name:
        elsewhere = Path(name)
        with tarfile.open(sdist) as archive:
            archive.extractall(elsewhere, filter="data")
        (unpacked,) = elsewhere.iterdir()
        for what, before in (("sdist", sdist), ("wheel", wheel)):
            again = elsewhere / "again"
            again.mkdir(exist_ok=True)
            after = build(unpacked, again, what)
            if after.name != before.name or after.read_bytes() != before.read_bytes():
                raise SystemExit(f"{before.name} is not built reproducibly from the source archive")
    return sdist, wheel


def empty_environment(folder: Path) -> Path:
    """Make an environment with nothing but a recent pip; its Python."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    install(python, "--upgrade", "pip")
    return python


def try_out(python: Path, wheel: Path, folder: Path) -> None:
    """Install a wheel into an empty environment, and run the README's example and tests there."""
    install(python, str(wheel))
    example = folder / "example.py"
    example.write_text(first_example((ROOT / "README.md").read_text(encoding="utf-8")))
    run(python, "-I", str(example), cwd=folder)
    for each in ("tests", "benchmarks"):  # and no package: those are the wheel's
        shutil.copytree(ROOT / each, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    install(python, f"{wheel}[curator,table]", *NEEDED)
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED, cwd=folder)


def first_example(text: str) -> str:
    """The first piece of Python in a Markdown text."""
    return text.partition("```python\n")[2].partition("```")[0]


def install(python: Path, *what: str) -> None:
    """Install packages with an environment's pip."""
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def run(python: Path, *arguments: str, cwd: Path | None = None) -> None:
    """Run a Python program that sees nothing of this one."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    subprocess.run([str(python), *arguments], cwd=cwd, env=environment, check=True)


# What an extra installs


def resolved(python: Path, wheel: Path, extra: str) -> list[dict[str, Any]]:
    """The metadata of the packages that pip would install for an extra, ours not among them.

    Args:
        python: of an environment with a recent pip, which reports what a package's licence is.
    """
    asked = f"{wheel}[{extra}]" if extra else str(wheel)
    command = ["install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", asked]
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *command], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)["install"]
    return [each for each in found if plain(each["metadata"]["name"]) != plain(OURS)]


def plain(name: str) -> str:
    """The name of a package as an index writes it."""
    return name.lower().replace("_", "-").replace(".", "-")


def licence(metadata: Mapping[str, Any]) -> str:
    """The licence of a package, as it states it in one line."""
    if stated := metadata.get("license_expression"):
        return str(stated)
    classified = [
        each.rpartition(" :: ")[2]
        for each in metadata.get("classifier", ())
        if each.startswith("License ::") and not each.endswith(":: OSI Approved")
    ]
    text = str(metadata.get("license") or "").strip()
    short = text.splitlines()[0] if text else ""
    return ", ".join(classified) or (short if 0 < len(short) <= 60 else "see the package")


def bill(name: str, version: str, packages: Iterable[Mapping[str, Any]]) -> str:
    """A bill of materials, as CycloneDX JSON. It has no time and no random number in it."""
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import DisjunctiveLicense
    from cyclonedx.output.json import JsonV1Dot5
    from packageurl import PackageURL

    def component(called: str, version: str, licences: Iterable[str], kind: Any) -> Component:
        url = PackageURL("pypi", name=plain(called), version=version)
        return Component(
            name=called,
            version=version,
            type=kind,
            purl=url,
            bom_ref=str(url),
            licenses=[DisjunctiveLicense(name=each) for each in licences],
        )

    bom = Bom()
    whole = component(name, version, ["Apache-2.0"], ComponentType.LIBRARY)
    bom.metadata.component = whole
    for each in packages:
        data = each["metadata"]
        stated = [licence(data)]
        part = component(data["name"], data["version"], stated, ComponentType.LIBRARY)
        bom.components.add(part)
        bom.register_dependency(whole, [part])
    written = json.loads(JsonV1Dot5(bom).output_as_string())
    written.pop("serialNumber", None)
    written["metadata"].pop("timestamp", None)
    return json.dumps(written, indent=1, sort_keys=True) + "\n"


def licences_page(packages: Mapping[str, list[dict[str, Any]]]) -> str:
    """The page of all packages, with their licences and the extras that install them."""
    found: dict[str, tuple[str, list[str]]] = {}
    for extra, several in packages.items():
        for each in several:
            data = each["metadata"]
            name = plain(data["name"])
            found.setdefault(name, (licence(data), []))[1].append(extra or "always")
    lines = [f"| {name} | {text} | {', '.join(by)} |" for name, (text, by) in sorted(found.items())]
    return "\n".join([*_PAGE, *lines, ""])


_PAGE = (
    "# Licences",
    "",
    "The packages that this one installs, with what they state as their licence. The last column",
    "says which extra installs them, directly or because another package needs them; `always` is",
    "what everybody gets. Versions and bills of materials are made with each release (`make dist`,",
    "which writes this page too). This project has the Apache License 2.0; KaTeX, of which the",
    "site has a copy, the MIT license.",
    "",
    "| Package | Licence | Extras |",
    "|---|---|---|",
)


def direct() -> Iterator[tuple[str, str]]:
    """The packages that pyproject.toml names for users, each with its extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in EXTRAS:
        stated = project["optional-dependencies"][extra] if extra else project["dependencies"]
        for each in stated:
            name = "".join(it if it.isalnum() or it in "-_." else " " for it in each).split()[0]
            if plain(name) != OURS:
                yield plain(name), extra


def main(*, bills: bool) -> None:
    """Build, compare, try out, and write what is in it.

    Args:
        bills: whether to ask what pip would install for each extra, and write that down.
    """
    shutil.rmtree(DIST, ignore_errors=True)
    sdist, wheel = built(DIST)
    with TemporaryDirectory() as name:
        python = empty_environment(Path(name))
        packages = {extra: resolved(python, wheel, extra) for extra in EXTRAS if bills}
        try_out(python, wheel, Path(name))
    version = wheel.name.split("-")[1]
    for extra, several in packages.items():
        text = bill(OURS, version, several)
        (DIST / f"sbom-{extra or 'always'}.cdx.json").write_text(text, encoding="utf-8")
    if bills:
        LICENCES.write_text(licences_page(packages), encoding="utf-8")
    for path in (sdist, wheel):
        told(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT)}")


def told(text: str) -> None:
    """Print a line."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(bills="--no-bills" not in sys.argv)
