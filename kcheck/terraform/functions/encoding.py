"""Functions that encode text and compute digests."""

from __future__ import annotations

import base64  # PyYAML brings it
from functools import partial

from kcheck.terraform.functions.signature import Table, anything, text
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Unrendered

TABLE = Table()


@TABLE.function(anything)
def _base64encode(value: Datum) -> str | Datum:
    """base64encode(); partly unknown text stays plain, so that its known parts can be read."""
    return value if isinstance(value, Unrendered) else base64.b64encode(text(value).encode()).decode()


@TABLE.function(text)
def _base64decode(value: str) -> str:
    try:
        bare = value.replace("\r", "").replace("\n", "")  # line ends may stand anywhere
        return base64.b64decode(bare, validate=True).decode()
    except ValueError as error:
        raise EvaluationError("base64decode() needs base64 of UTF-8 text") from error


DIGESTS = ("md5", "sha1", "sha256", "sha512", "base64sha256", "base64sha512")


def digest(name: str, data: bytes) -> str:
    """Compute one of DIGESTS: in hexadecimal or, if its name says so, in base64."""
    import hashlib

    bare = name.removeprefix("base64")
    found = hashlib.new(bare, data, usedforsecurity=False)
    return found.hexdigest() if bare == name else base64.b64encode(found.digest()).decode()


def _digest_of_text(name: str, value: str) -> str:
    return digest(name, value.encode())


TABLE.add(text, **{name: partial(_digest_of_text, name) for name in DIGESTS})
