"""Lock files with hashes: what `pip install fewsolves[cli,fast,report,parquet]` brings, as constraints.txt pins it.

    python .ci/lock.py 3.11 > locks/linux-3.11.txt     # and 3.12, 3.13
    python .ci/lock.py check                           # against constraints.txt; exit code 1 at a difference

    pip install --require-hashes --no-deps -r locks/linux-3.12.txt

They are for Linux on x86-64. torch is left out, with the packages for GPUs that it brings: wheels for CPUs are on an
index of its own. Install it first, as in the Makefile; what else it needs is locked.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "locks"
VERSIONS = ("3.11", "3.12", "3.13")
EXTRAS = ("cli", "fast", "report", "parquet")
OF_TORCH = ("filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
LINE = re.compile(r"([A-Za-z0-9._-]+)==(\S+) --hash=sha256:([0-9a-f]{64})")


def lock(version):
    """Lines of the lock file of one version of Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [one for one in project["dependencies"] if not one.startswith("torch>")]
    wanted += [one for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        platforms = [f"--platform={name}" for name in PLATFORMS]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary=:all:", f"--python-version={version}", *platforms, f"--target={folder}/none"]
        command += [f"--report={report}", f"--constraint={ROOT / 'constraints.txt'}", *wanted, *OF_TORCH]
        subprocess.run(command, check=True)
        found = json.loads(report.read_text())["install"]
    lines = []
    for one in found:
        digest = one["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{one['metadata']['name'].lower()}=={one['metadata']['version']} --hash=sha256:{digest}")
    return sorted(lines)


def pinned(text):
    """Versions by name, as PyPI writes names."""
    found = (line.strip().partition("==") for line in text.splitlines() if "==" in line and line[0] != "#")
    return {_name(name): version.split()[0] for name, _, version in found}


def _name(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def differences():
    """Lines of lock files that are malformed, or that constraints.txt does not have."""
    constraints = pinned((ROOT / "constraints.txt").read_text())
    for version in VERSIONS:
        for line in (LOCKS / f"linux-{version}.txt").read_text().splitlines():
            found = LINE.fullmatch(line)
            if not found and not line.startswith("#"):
                yield f"{version}: {line}"
            elif found and constraints.get(_name(found[1])) != found[2]:
                yield f"{version}: {found[1]}=={found[2]}, constraints.txt has {constraints.get(_name(found[1]))}"


def main():
    if sys.argv[1:] == ["check"]:
        found = list(differences())
        sys.exit("\n".join(found) if found else 0)
    if len(sys.argv) != 2 or sys.argv[1] not in VERSIONS:
        sys.exit(__doc__)
    print(f"# python .ci/lock.py {sys.argv[1]}")
    print("\n".join(lock(sys.argv[1])))


if __name__ == "__main__":
    main()
