"""Signatures of reports by Ed25519, with the library `cryptography` (extra `sign`).

Responsible for keys and for what is signed: the format's name and the canonical text of the whole
document, with the heads of the ledger in it and without the signature. A private key is a file in
PEM that its owner alone may read.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curator.reports.pages import FORMAT, Document, ReportError, canonical

ALGORITHM = "Ed25519"
_MAKE = "openssl genpkey -algorithm ed25519 -out FILE && chmod 600 FILE"
_DIGITS = 64


def signed(document: Document, key: Path) -> Document:
    """A document with a signature by the private key in a file.

    Raises:
        ReportError: it is no such key, others may read it, or the library is missing.
    """
    with _library():
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    private = _loaded(_secret(key), key, private=True)
    if not isinstance(private, Ed25519PrivateKey):
        raise ReportError(f"{key} is no private key for Ed25519; make one: {_MAKE}")
    signature = {
        "algorithm": ALGORITHM,
        "public_key": private.public_key().public_bytes_raw().hex(),
        "value": private.sign(_message(document)).hex(),
    }
    return {**document, "signature": signature}


def signer_of(document: Document) -> str:
    """The public key that has signed a document, in hexadecimal digits.

    Raises:
        ReportError: it is not signed, the signature is not its own, or the library is missing.
    """
    signature = document["signature"]
    if signature is None:
        raise ReportError("the report is not signed: anybody may have written it")
    with _library():
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        algorithm, public, value = (
            signature[name] for name in ("algorithm", "public_key", "value")
        )
        if len(signature) != 3 or algorithm != ALGORITHM:
            raise ReportError(f"the signature is not one by {ALGORITHM}")
        Ed25519PublicKey.from_public_bytes(_bytes(public)).verify(_bytes(value), _message(document))
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError("the signature has a wrong part") from error
    except InvalidSignature:
        raise ReportError(
            "the signature is not that of this report: the report, its signature or the key in it "
            "was changed"
        ) from None
    return str(public)


def public_key(given: str) -> str:
    """A public key in hexadecimal digits, of these digits or of a file in PEM.

    Raises:
        ReportError: it is neither, or the library is missing.
    """
    if len(given) == _DIGITS and not set(given) - set("0123456789abcdef"):
        return given
    with _library():
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    public = _loaded(Path(given).read_bytes(), given, private=False)
    if not isinstance(public, Ed25519PublicKey):
        raise ReportError(f"{given} is no public key for {ALGORITHM}")
    return public.public_bytes_raw().hex()


def _message(document: Document) -> bytes:
    return f"{FORMAT}\n{canonical({**document, 'signature': None})}".encode("ascii")


def _bytes(digits: Any) -> bytes:
    """Bytes of lower hexadecimal digits, so that a signature has one text."""
    found = bytes.fromhex(digits)
    if found.hex() != digits:
        raise ValueError("these are no lower hexadecimal digits")
    return found


def _secret(path: Path) -> bytes:
    if not path.exists():
        raise ReportError(f"there is no key file {path}; make one: {_MAKE}")
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ReportError(
            f"others may read or change the key file {path}; let its owner alone: chmod 600 {path}"
        )
    return path.read_bytes()


def _loaded(text: bytes, place: object, *, private: bool) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        load_pem_private_key,
        load_pem_public_key,
    )

    try:
        return load_pem_private_key(text, None) if private else load_pem_public_key(text)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        kind = "private" if private else "public"
        raise ReportError(f"{place} is no {kind} key in PEM without a password") from None


@contextmanager
def _library() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ReportError(
            "signatures need the library cryptography: pip install '.[sign]' in a checkout"
        ) from error
