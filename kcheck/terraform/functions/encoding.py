"""Functions that encode text and compute digests."""

from __future__ import annotations

import base64  # PyYAML brings it
from functools import partial

from kcheck.terraform.functions.signature import Table, anything, text
from kcheck.text.need import NotKnown
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Unknown, Unrendered

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


@TABLE.function(text)
def _urlencode(value: str) -> str:
    from urllib.parse import quote_plus

    return quote_plus(value, safe="-_.~")


@TABLE.function(text, text)
def _uuidv5(space: str, name: str) -> str:
    import uuid

    known = {
        "dns": uuid.NAMESPACE_DNS,
        "url": uuid.NAMESPACE_URL,
        "oid": uuid.NAMESPACE_OID,
        "x500": uuid.NAMESPACE_X500,
    }
    try:
        return str(uuid.uuid5(known.get(space) or uuid.UUID(space), name))
    except ValueError as error:
        raise EvaluationError(f'"{space}" is not a UUID namespace') from error


def _codec(name: str) -> str:
    """Return Python's name for an IANA encoding."""
    import codecs

    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError) as error:
        raise EvaluationError(f'"{name}" is not an encoding that can be used') from error
    if not found._is_text_encoding:
        raise EvaluationError(f'"{name}" is not an encoding of text')
    return found.name


@TABLE.function(text, text)
def _textencodebase64(value: str, encoding: str) -> str:
    codec = _codec(encoding)
    try:
        data = ("\ufeff" + value).encode("utf-16-be") if codec == "utf-16" else value.encode(codec)
        return base64.b64encode(data).decode()
    except UnicodeEncodeError as error:
        raise EvaluationError(f"the text cannot be written in {encoding}") from error


@TABLE.function(text, text)
def _textdecodebase64(value: str, encoding: str) -> str:
    try:
        data, codec = base64.b64decode(value, validate=True), _codec(encoding)
    except ValueError as error:
        raise EvaluationError("textdecodebase64() needs base64") from error
    marked = data[:2] in (b"\xfe\xff", b"\xff\xfe")
    try:
        return data.decode("utf-16-be" if codec == "utf-16" and not marked else codec)
    except ValueError as error:  # Terraform marks what cannot be read in its own way
        raise NotKnown(Unknown(f"the text is not in {encoding}")) from error
