"""The errors this package raises on purpose. Each says what was expected, what came, what to do."""


class SadsError(Exception):
    """Base of all errors raised on purpose; the command line shows it as one line."""


def brief(error: BaseException) -> str:
    """Kind and first line of an error that somebody else raised."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else 'no message'}"


class InputError(SadsError, ValueError):
    """An argument, option or specification that cannot be used."""


class NetworkError(SadsError):
    """A network whose geometry cannot be computed as asked."""


class ArtefactError(SadsError):
    """A file or directory that cannot be read or written as an artefact of this package."""
