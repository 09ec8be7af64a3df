"""Run kcheck as `python -m kcheck`."""

from kcheck.commands.cli import main

main()
