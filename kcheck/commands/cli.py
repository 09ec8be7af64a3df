"""The command line: first what takes no time, then click's commands.

Importing click takes twice as long as starting Python, 40 ms; the typing module half as long.
"""

from __future__ import annotations

import atexit
import gc
import sys

from kcheck import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcheck.commands.group import COMMANDS, cli

__all__ = ["COMMANDS", "cli", "main"]


def __getattr__(name: str) -> object:
    """`cli` and `COMMANDS`, which bring click with them."""
    if name not in ("cli", "COMMANDS"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from kcheck.commands import group

    return getattr(group, name)


_STORED = frozenset({"check", "fix", "capacity", "show", "simulate"})
"""Commands whose output is stored where they only read and print."""
_HELP = frozenset({"-h", "--help"})


def main() -> None:
    """Run kcheck. Exits with 0 clean, 1 findings, 2 wrong use, 3 a bug in kcheck."""
    arguments = sys.argv[1:]
    try:
        if arguments and arguments[0] in _STORED and not _HELP.intersection(arguments):
            from kcheck.commands import result_cache

            result_cache.run(arguments, _is_answered, _run)
        elif not _is_answered(arguments):
            _run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        sys.exit(130)


def _run(arguments: list[str]) -> None:
    """Run a command."""
    from kcheck.commands import letters

    letters.show_all()
    gc.disable()  # nearly all that a run makes lives until its end: looking for cycles would take a third of the time
    atexit.register(gc.freeze)  # nor does Python look for them when it ends: a twentieth of checking one manifest
    if not _is_clean(arguments):
        from kcheck.commands import group

        group.run()


def _is_answered(arguments: list[str]) -> bool:
    """Answer `--version`, and `check` where there is nothing to check."""
    try:
        if arguments == ["--version"]:
            sys.stdout.write(f"kcheck, version {__version__}\n")
            sys.stdout.flush()
            return True
        if arguments[:1] == ["check"]:
            from kcheck.commands import first_look

            return first_look.is_nothing(arguments[1:])
    except Exception:  # click's way meets it again, and reports it
        return False
    return False


def _is_clean(arguments: list[str]) -> bool:
    """Answer `check` where nothing is found."""
    try:
        if arguments[:1] == ["check"]:
            from kcheck.commands import first_look

            if first_look.trees:
                from kcheck.commands import clean_check

                return clean_check.is_clean(arguments[1:])
    except Exception:  # click's way meets it again, and reports it
        return False
    return False
