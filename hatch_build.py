"""The hook that compiles the rules and profiles when a wheel is built; an editable install reads the YAML."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledData(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `kcheck/_data/compiled` to the wheel."""

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
