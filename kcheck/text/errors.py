"""The base of all errors that users see."""

from __future__ import annotations


class Error(Exception):
    """Wrong use, or a file that cannot be written: the error and its remedy."""
