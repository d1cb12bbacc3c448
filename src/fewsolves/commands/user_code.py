"""Running code of the user on the command line: what it raises becomes one line that names its file and line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from fewsolves._internal.text import clean
from fewsolves.errors import FewsolvesError
from fewsolves.ledger.identity.objects import STANDARD_LIBRARY
from fewsolves.ledger.identity.source import LIBRARY_FOLDERS

LONGEST_ERROR = 500  # characters of what the user's code said


@contextmanager
def user_code(failed: str, advice: str = "") -> Iterator[None]:
    """Raise a ClickException in the place of whatever the user's code raises, `sys.exit` included.

    Args:
        failed: What did not work, as the beginning of the message.
        advice: What to do, as its end.
    """
    try:
        yield
    except (FewsolvesError, click.ClickException, KeyboardInterrupt):
        raise
    except BaseException as error:
        said = clean(_text_of(error), LONGEST_ERROR)
        named = type(error).__name__ + (f": {said}" if said else "")
        raise click.ClickException(clean(f"{failed}: {named}{_place_of(error)}{advice}")) from error


def _text_of(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    try:
        return str(error)
    except Exception:  # an error of the user may fail to say anything
        return ""


def _place_of(error: BaseException) -> str:
    """File and line of the user's code, where it is known."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f" ({error.filename}, line {error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and STANDARD_LIBRARY not in file.parents and LIBRARY_FOLDERS.isdisjoint(file.parts):
            return "" if file.parent == Path(__file__).parent else f" ({frame.filename}, line {frame.lineno})"
    return ""
