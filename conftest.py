import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from fewsolves._internal.platform import LINUX
from fewsolves.oracle import recheck

HERE = Path(__file__).parent
# what tests share; and `tests.x.y`, as worker processes know the tests
sys.path[:0] = [str(HERE / "tests"), str(HERE / "studies" / "tests"), str(HERE)]
sys.path.append(str(HERE / "docs" / "site"))  # for `import browser`
settings.register_profile("suite", deadline=None, derandomize=True)  # the same cases on every machine, loaded or not
settings.load_profile("suite")
# a shell starts what it runs in the background, by `&` or nohup, with SIGINT ignored; tests send it, also to children
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path):
    """Elsewhere than on Linux, modules that are not portable are not even imported: they need what is not there."""
    if not LINUX and collection_path.match("test_*.py"):
        return "pytest.mark.portable" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_modifyitems(items):
    """One thread for torch: the suite runs in several processes side by side. The one that hands out tests has none.

    Slow tests come first: else one process would end with such a test, long after the other.
    """
    import torch

    torch.set_num_threads(1)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    """Text as a pipe gets it: processes of the suite have the width of the terminal that it was started in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def no_second_look(monkeypatch):
    """Where calls are counted one by one: without those that look whether a ledger still holds."""
    monkeypatch.setattr(recheck, "CHECKED", 0)


@pytest.fixture(scope="session")
def quick():
    """Settings of a fit that is over in a moment; `quick | {...}` for others. Helpers of a module import `QUICK`."""
    from problems_of_users import QUICK

    return dict(QUICK)
