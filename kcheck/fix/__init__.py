"""Turn findings into edited files, each proved by a second run."""
