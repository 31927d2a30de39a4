"""`Configuration`: a ledger, its key, and the data sets with their budgets, from one TOML file.

Responsible for reading and checking the file, and for opening a data set as it says. Relative paths
start at the folder of the file. Nothing is opened, and no data are read, until a data set is. The
keys `listen`, `page`, `tls`, `tick`, `deadline`, `steps`, `growth` and `per_hour` are for a server;
they are checked here.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import attrs

from composition import FiltCon
from curator.access import ROOT as ACCESS
from curator.access import access_of
from curator.codec import CODEC, Codec, with_site
from curator.leases import lease_of
from curator.ledgers import chained, ledger_of
from curator.logs.batch_files import BatchFolder
from curator.logs.batches import Updates
from curator.logs.journal import TTL
from curator.logs.story import TRIES
from curator.replaying import Replayed, recalled, replay
from curator.root import open as open_root
from curator.settings.datasets import ENV, Dataset, dataset_of, key_place, of_environment, seconds
from curator.settings.file_errors import in_words
from curator.settings.sections import Section, mapping, natural_number, read_file, text, texts
from mechanisms import Table
from queryable.handle import Queryable
from queryable.wording.quoting import quoted

NAME = "curator.toml"
"""The name of the file in the folder that `curator init` makes."""

REPORTED = (
    "data_curator",
    "description",
    "intended_use",
    "data_product_region",
    "data_product_sector",
    "publication_date",
    "data_domain",
    "preprocessing_and_hyperparameter_tuning",
    "justification",
    "additional_information",
    "evidence_sources",
    "registry_authors",
)
"""What the owner may tell reviewers in the table `[report]`, for `curator report`."""

_LEDGERS = ("postgresql", "postgres")


@attrs.frozen
class Tls:
    """The files of a server's certificate and of its key."""

    certificate: Path
    key: Path


@attrs.frozen
class Configuration:
    """What a configuration says.

    Attributes:
        file: its path.
        ledger: the path of the ledger's file, or a `postgresql://` address.
        key: the path of the key's file, or "env:NAME".
        datasets: the data sets by name.
        anchor: the path of the anchor's file; None for none.
        mechanisms: the entry points of a site's own mechanisms.
        listen: where a server answers: "unix:PATH" or "HOST:PORT".
        page: where it also shows its pages to browsers: "HOST:PORT"; None for nowhere else.
        tls: of the server; None for none.
        lease: seconds after which another machine may take a data set over.
        report: what only the owner can tell a reviewer, by the names in `REPORTED`.
    """

    file: Path
    ledger: str = attrs.field(repr=False)  # an address may have a password
    key: str
    datasets: Mapping[str, Dataset]
    anchor: Path | None
    mechanisms: tuple[str, ...]
    listen: str
    page: str | None
    tls: Tls | None
    lease: Fraction
    report: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def codec(self) -> Codec:
        """The codec of queries and answers, with the mechanisms of the site."""
        return with_site(list(self.mechanisms)) if self.mechanisms else CODEC

    def key_of(self, name: str) -> str:
        """The key of a root. A root that is no data set of this file has the file's key."""
        return self.datasets[name].key if name in self.datasets else self.key

    def dataset(self, name: str) -> Dataset:
        """The data set of a name.

        Raises:
            ConfigurationError: there is none.
        """
        if name not in self.datasets:
            there = ", ".join(self.datasets) or "none"
            raise Section(self.file, ("datasets",), {}).wrong(
                f"there is no data set {quoted(name)}; there are: {there}"
            )
        return self.datasets[name]

    def batches(self, name: str) -> Updates:
        """The batches of a data set that grows; none for others."""
        folder = self.dataset(name).batches
        return () if folder is None else BatchFolder(folder)

    def open_dataset(
        self, name: str, on_misread: Callable[[Any], object] | None = None
    ) -> tuple[Table, FiltCon]:
        """The data of a data set, and the filter that guards it.

        Args:
            on_misread: as for `Table`.

        Raises:
            ConfigurationError: the data cannot be opened as the file says.
        """
        stated = self.dataset(name)
        section = Section(self.file, ("datasets", name), {})
        try:
            with section.checked():
                return stated.opened(on_misread), stated.budget
        except (OSError, ImportError) as error:
            missing = isinstance(error, FileNotFoundError)
            where = "; paths start at the folder of this configuration" if missing else ""
            raise section.wrong(in_words(error) + where) from error

    def open(
        self,
        name: str,
        *,
        updates: Updates | None = None,
        on_fault: Callable[[BaseException], object] | None = None,
        charge_to_anchor: bool = False,
        give_up: bool = False,
        on_misread: Callable[[Any], object] | None = None,
    ) -> tuple[Table, Queryable]:
        """Open a data set on the ledger, or go on with it: see `curator.open`.

        Args:
            updates: by default the files in the folder `batches` of the data set.

        Returns:
            The table, whose methods make questions, and the queryable that answers them.

        Raises:
            LedgerError: there is no ledger; only `curator init` makes one. Other errors as in
                `curator.open`.
            ConfigurationError: the data cannot be opened as the file says.
        """
        rows, budget = self.open_dataset(name, on_misread)
        try:
            with closing(ledger_of(self.ledger, make=False)) as ledger:
                access = access_of(chained(ledger.read(ACCESS)))
            root = open_root(
                self.ledger,
                budget,
                rows,
                name=name,
                updates=self.batches(name) if updates is None else updates,
                key=self.key_of(name),
                codec=self.codec,
                on_fault=on_fault,
                anchor=self.anchor,
                charge_to_anchor=charge_to_anchor,
                give_up=give_up,
                tries=lambda message: max(TRIES, access.tries(name, message)),
                lease=float(self.lease),
            )
        except BaseException:
            rows.close()
            raise
        return rows, root

    def replay(self, name: str, *, updates: Updates | None = None) -> Replayed:
        """Run the whole analysis of a data set again, and compare it with its log.

        See `curator.replay`.
        """
        rows, budget = self.open_dataset(name)
        with rows:
            return replay(
                self.ledger,
                budget,
                rows,
                name=name,
                updates=self.batches(name) if updates is None else updates,
                key=self.key_of(name),
                codec=self.codec,
            )

    @contextmanager
    def recalled(
        self, name: str, *, updates: Updates | None = None
    ) -> Iterator[tuple[Replayed, Queryable | None]]:
        """The analysis of a data set again in memory, as its owner's, while its data are open.

        See `curator.replaying.recalled`.
        """
        rows, budget = self.open_dataset(name, on_misread=lambda _: None)
        with rows:
            yield recalled(
                self.ledger,
                budget,
                rows,
                name=name,
                updates=self.batches(name) if updates is None else updates,
                key=self.key_of(name),
                codec=self.codec,
            )


def read_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read and check a configuration. Opens neither the ledger nor data.

    Args:
        path: the file, or the folder that `curator init` made.

    Raises:
        ConfigurationError: it is wrong.
        FileNotFoundError: there is no file.
    """
    file = Path(path)
    file = file / NAME if file.is_dir() else file
    folder = file.absolute().parent
    whole = read_file(file)

    def at(value: Any) -> Path:
        return folder / text(value)

    given = whole.read(
        {
            "ledger": lambda value: _ledger(value, folder),
            "key": lambda value: key_place(value, folder),
            "anchor": at,
            "mechanisms": texts,
            "listen": lambda value: _listen(value, folder),
            "page": _tcp,
            "tls": mapping,
            "tick": seconds,
            "deadline": seconds,
            "steps": natural_number,
            "growth": natural_number,
            "per_hour": natural_number,
            "lease": lambda value: lease_of(seconds(value)),
            "report": mapping,
            "datasets": mapping,
        },
        ("ledger", "key"),
    )
    if "report" in given:
        given["report"] = whole.inner("report").read(dict.fromkeys(REPORTED, text))
    if "tls" in given:
        names = ("certificate", "key")
        given["tls"] = Tls(**whole.inner("tls").read(dict.fromkeys(names, at), names))
    listen = given.setdefault("listen", f"unix:{folder / 'curator.sock'}")
    if not listen.startswith("unix:") and "tls" not in given and not _is_loopback(listen):
        raise whole.wrong(
            f'listen is "{listen}", which other machines reach: add [tls] with certificate and '
            'key, or listen on "127.0.0.1:PORT" or "unix:PATH"'
        )
    page = given.setdefault("page", None)
    if page is not None and "tls" not in given and not _is_loopback(page):
        raise whole.wrong(
            f'page is "{page}", which other machines reach: add [tls] with certificate and key, '
            'or show it on "127.0.0.1:PORT"'
        )
    of_all = ("tick", "deadline", "steps", "growth", "per_hour")
    times = {name: given.pop(name, None) for name in of_all}
    datasets = whole.inner("datasets") if "datasets" in given else whole
    given["datasets"] = {
        name: dataset_of(datasets.inner(name), name, folder, {"key": given["key"], **times})
        for name in given.get("datasets", ())
    }
    given.setdefault("anchor", None)
    given.setdefault("tls", None)
    given.setdefault("lease", Fraction(TTL))
    given["mechanisms"] = tuple(given.get("mechanisms", ()))
    return Configuration(file=file, **given)


def open_configured(
    path: str | os.PathLike[str],
    name: str,
    *,
    on_fault: Callable[[BaseException], object] | None = None,
) -> tuple[Table, Queryable]:
    r"""Open a data set of a configuration on its ledger, or go on with it.

    Args:
        path: the configuration, as `curator init` writes it.
        name: the data set.
        on_fault: as in `Queryable`.

    Returns:
        The table, whose methods make questions, and the queryable that answers them.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import curator
        >>> from curator.keys import make_key
        >>> from queryable import ZCDP
        >>> folder = tempfile.TemporaryDirectory()
        >>> stated, rows, key = (Path(folder.name, name) for name in ("c.toml", "v.csv", "v.key"))
        >>> _ = make_key(key), rows.write_text("patient,age\n1,31\n1,47\n2,62\n")
        >>> _ = stated.write_text('''
        ... ledger = "ledger.db"
        ... key = "v.key"
        ... [datasets.visits]
        ... source = "v.csv"
        ... privacy_unit = "patient"
        ... max_rows = 1
        ... budget = { zcdp = "1/10" }
        ... ''')
        >>> curator.SQLiteLedger(Path(folder.name, "ledger.db")).close()  # `curator init` makes it
        >>> visits, table = curator.open_configured(stated, "visits")
        >>> noisy = table.release(visits.count(), loss=ZCDP("1/50"))
        >>> visits, table = curator.open_configured(stated, "visits")
        >>> print(table.privacy_loss())
        ZCDP(rho=0.02)
        >>> folder.cleanup()
    """
    return read_configuration(path).open(name, on_fault=on_fault)


def _ledger(value: Any, folder: Path) -> str:
    place = text(value)
    if place.startswith(ENV):
        place = of_environment(place)
    scheme, colon, _ = place.partition("://")
    if not colon:
        return str(folder / place)
    if scheme not in _LEDGERS:
        raise ValueError(f"it is a {scheme}:// address; it should be a path or postgresql://..")
    return place


def _listen(value: Any, folder: Path) -> str:
    place = text(value)
    if place.startswith("unix:") and place != "unix:":
        return f"unix:{folder / place.removeprefix('unix:')}"
    return _tcp(value, '"unix:PATH" or "HOST:PORT"')


def _tcp(value: Any, wanted: str = '"HOST:PORT"') -> str:
    place = text(value)
    host, colon, port = place.rpartition(":")
    if not (colon and host and port.isascii() and port.isdecimal() and 0 < int(port) < 2**16):
        raise ValueError(f'it is "{place}"; it should be {wanted}')
    return place


def _is_loopback(listen: str) -> bool:
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
