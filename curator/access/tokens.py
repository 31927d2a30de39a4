"""Tokens: 32 random bytes that are shown once. Only their SHA-256 is kept.

A token has 256 random bits, so its hash needs no salt and no slow function: nobody can try them.
"""

import base64
import hmac
from hashlib import sha256

from queryable.randomness.entropy import random_bytes

PREFIX = "qy_"
_BYTES = 32


def make_token() -> str:
    """A new token."""
    return PREFIX + base64.urlsafe_b64encode(random_bytes(_BYTES)).decode("ascii").rstrip("=")


def hash_of(token: str) -> str:
    """What is kept of a token, in hexadecimal digits."""
    return sha256(token.encode(errors="surrogatepass")).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Whether two hashes are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(one, other)
