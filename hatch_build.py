"""The hook that compiles the rules and profiles when a wheel is built; an editable install reads the YAML."""

import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def unsupported() -> str:
    """Why kcheck cannot be installed on this platform, and what to do; empty where it can be."""
    if sysconfig.get_platform() == "win-arm64":
        return "Windows on ARM; install the 64-bit (x64) build of Python, which runs there too"
    if "musl" in str(sysconfig.get_config_var("SOABI")):
        return "Linux with musl, such as Alpine; use an image with glibc, such as python:3.12-slim"
    return ""


class CompiledData(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `kcheck/_data/compiled` to the wheel."""

    def dependencies(self) -> list[str]:
        """Nothing more; asked before anything is installed, so that pip does not look for what there is not.

        Raises:
            SystemExit: cel-expr-python has no build for this platform.
        """
        if why := unsupported():
            sys.exit(f"kcheck cannot be installed here: cel-expr-python has no build for {why}")
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a folder outside of the source."""
        if version == "editable":
            return
        sys.path[:0] = [self.root, f"{self.root}/scripts"]
        from compile_data import compile_data

        self.folder = tempfile.TemporaryDirectory()
        compile_data(Path(self.folder.name))
        build_data["force_include"][self.folder.name] = "kcheck/_data/compiled"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the folder again."""
        if version != "editable":
            self.folder.cleanup()
