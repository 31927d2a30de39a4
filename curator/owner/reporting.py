"""The owner's reports: what a data set was asked, by whom and when, for a data protection officer.

Responsible for the report of a root on a ledger, without its data and without its key.
"""

from pathlib import Path

from curator.codec import Codec
from curator.ledgers import Ledger, LedgerError
from curator.views import view

FORMATS = ("md", "html", "csv", "xlsx")


def reported(ledger: Ledger, root: str, codec: Codec, form: str, out: str) -> str:
    """The report of a root as text; or where it was written, if `out` names a file.

    Args:
        form: one of `FORMATS`; "" for that of the file's name, or Markdown.

    Raises:
        LedgerError: there is no such root, or the form is unknown.
    """
    if form not in ("", *FORMATS):
        raise LedgerError(f"give --format {' or '.join(FORMATS)}: it is {form!r}")
    report = view(ledger, root, codec=codec).report()
    if not out:
        if form == "xlsx":
            raise LedgerError("give a file for Excel: -o report.xlsx")
        texts = {"": report.to_markdown, "md": report.to_markdown}
        texts |= {"html": report.to_html, "csv": report.to_csv}
        return texts[form]()
    named = Path(out).suffix.removeprefix(".").lower()
    if form and form != named:
        raise LedgerError(f"name the file {Path(out).with_suffix('.' + form)}, for {form}")
    report.write(out)
    count = len(report.questions)
    return f"{out} has the report of {root}: {count:,} question{'s' * (count != 1)}"
