"""Find the programs that flags ask for, never in the repository that is checked."""

import os
import shutil

from kcheck.config.config import ConfigError
from kcheck.text.files.boundary import contains_path, repository


def find(name: str, flag: str) -> str:
    """Return the absolute path of a program.

    Windows searches the working directory before the PATH, and so does a PATH with a relative folder. Raises
    ConfigError if it is not on the PATH, or is in the repository being checked.
    """
    found = shutil.which(name)
    if found is None:
        raise ConfigError(f"{flag} needs {name}, which is not installed, or not on the PATH")
    top = repository(".")
    if not os.path.isabs(found) or (top and any(contains_path(top, path) for path in (os.path.dirname(found), found))):
        raise ConfigError(
            f"{flag}: {found} is in the repository that is checked; put {name} from elsewhere on the PATH"
        )
    return found
