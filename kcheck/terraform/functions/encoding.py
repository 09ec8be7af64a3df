"""Functions that encode text and compute digests."""

from __future__ import annotations

from kcheck.terraform.functions.signature import NotKnownError, Table, anything, text
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Unrendered

TABLE = Table()


@TABLE.function(anything)
def _base64encode(value: Datum) -> str | Datum:
    """A text of which a part is not known stays readable: nobody could decode it."""
    import base64

    return value if isinstance(value, Unrendered) else base64.b64encode(text(value).encode()).decode()


@TABLE.function(text)
def _base64decode(value: str) -> str:
    import base64

    try:
        bare = value.replace("\r", "").replace("\n", "")  # line ends may stand anywhere
        return base64.b64decode(bare, validate=True).decode()
    except ValueError as error:
        raise EvaluationError("base64decode() needs base64 of UTF-8 text") from error


def _digest(name: str, value: str) -> bytes:
    import hashlib

    return hashlib.new(name, value.encode(), usedforsecurity=False).digest()


@TABLE.function(text)
def _md5(value: str) -> str:
    return _digest("md5", value).hex()


@TABLE.function(text)
def _sha1(value: str) -> str:
    return _digest("sha1", value).hex()


@TABLE.function(text)
def _sha256(value: str) -> str:
    return _digest("sha256", value).hex()


@TABLE.function(text)
def _sha512(value: str) -> str:
    return _digest("sha512", value).hex()


@TABLE.function(text)
def _base64sha256(value: str) -> str:
    import base64

    return base64.b64encode(_digest("sha256", value)).decode()


@TABLE.function(text)
def _base64sha512(value: str) -> str:
    import base64

    return base64.b64encode(_digest("sha512", value)).decode()


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
    """Python's name for an encoding of the IANA register."""
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
    import base64

    codec = _codec(encoding)
    try:
        data = ("\ufeff" + value).encode("utf-16-be") if codec == "utf-16" else value.encode(codec)
        return base64.b64encode(data).decode()
    except UnicodeEncodeError as error:
        raise EvaluationError(f"the text cannot be written in {encoding}") from error


@TABLE.function(text, text)
def _textdecodebase64(value: str, encoding: str) -> str:
    import base64

    try:
        data, codec = base64.b64decode(value, validate=True), _codec(encoding)
    except ValueError as error:
        raise EvaluationError("textdecodebase64() needs base64") from error
    marked = data[:2] in (b"\xfe\xff", b"\xff\xfe")
    try:
        return data.decode("utf-16-be" if codec == "utf-16" and not marked else codec)
    except ValueError as error:  # Terraform marks what cannot be read in its own way
        raise NotKnownError(f"the text is not in {encoding}") from error
