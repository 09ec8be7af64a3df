"""Base of all errors that users see, and the description of unexpected ones."""


class Error(Exception):
    """Wrong use, or a file that cannot be written: the error and its remedy."""


class FailedError(Error):
    """A failure that is not a usage error, so that no help on the command is shown."""


def description(error: BaseException) -> str:
    """Format an error with its last stack frames in kcheck."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__}: {error} ({places})"
