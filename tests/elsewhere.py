"""The portable tests on a Linux that says it is macOS or Windows, without the modules and calls that these lack.

    python tests/elsewhere.py darwin
    python tests/elsewhere.py win32 tests/ledger -x     # arguments of pytest
    python tests/elsewhere.py darwin win32              # one after the other

It finds what needs Linux without a word. It does not stand for the machines themselves, on which the workflow runs the
same tests: paths, encodings and open files are those of Linux here.
"""

import os
import select
import signal
import sys

import matplotlib.font_manager
import numba
import numpy
import pandas
import pytest
import scipy.optimize
import scipy.stats
import sklearn.linear_model
import torch

LOADED = (matplotlib.font_manager, numba, numpy, pandas, scipy, sklearn, torch)  # before they could ask where they are
LACKING = {
    "darwin": {os: ("sched_getaffinity", "sched_setaffinity"), signal: ("SIGSTKFLT", "SIGPOLL")},
    "win32": {
        os: ("fork", "pread", "pwrite", "sched_getaffinity", "setsid", "getloadavg", "O_NOFOLLOW", "getuid", "killpg"),
        signal: ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGCHLD", "SIGSTOP", "set_wakeup_fd"),
        select: ("poll", "epoll"),
    },
}
BLOCKED = {"darwin": (), "win32": ("fcntl", "resource", "pwd", "grp", "termios")}


class Hides:
    """A plugin of pytest that does so before the first conftest.py is read."""

    def __init__(self, system):
        self.system = system

    def pytest_load_initial_conftests(self):
        sys.platform = self.system
        for module, names in LACKING[self.system].items():
            for name in names:
                if hasattr(module, name):
                    delattr(module, name)
        for name in BLOCKED[self.system]:
            sys.modules[name] = None  # an import of it raises ImportError


def main(arguments):
    """A process for each system, forked so that the modules are loaded once; the exit code is that of the worst."""
    systems = [system for system in arguments if system in LACKING]
    rest, worst = [one for one in arguments if one not in LACKING], 0
    for system in systems:
        child = os.fork()
        if not child:
            return pytest.main(["-m", "portable", *rest], plugins=[Hides(system)])
        worst = max(worst, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), key=abs)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
