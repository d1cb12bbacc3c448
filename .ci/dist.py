"""Build the wheel and the sdist into dist/, and use them as somebody would who has nothing but Python.

    make dist

The wheel is built from the sdist, so that a file missing there is missed here; both must hold what version control has
under src/fewsolves, and nothing of tests, studies and results. Then the wheel is installed into an empty environment:
bare, for the command line and a fit, and with the extra `all`, for a report.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BESIDES = {"PKG-INFO", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "constraints.txt"}
LARGEST = 2**20  # bytes of an archive: it holds source text
DEFAULT = "staged"  # the method of a fit that names none
FIT = """
import sys
import numpy as np, fewsolves as fs
assert fs.__file__.startswith(sys.prefix), fs.__file__
X = np.random.default_rng(0).normal(size=(60, 2))
problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
model = fs.DecisionRegressor(problem, verbose=False).fit(X, X + 10)
assert model.run_.method == sys.argv[1], model.run_.method
print("decided", model.decide(X[:2]).tolist(), "after", model.calls_.total("solve"), "solves")
"""
PLANT = """
import numpy as np, fewsolves as fs
problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=(60, 2))
    np.savez("table.npz", X=X, Y=X + 10)
"""


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """What a command prints; this checkout is not on its path."""
    print("$", *(part for part in command if "\n" not in str(part)), flush=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\n{command[0]} ended with {done.returncode}")
    return done.stdout


def expect_same(what: str, found: set[str], expected: set[str]) -> None:
    if found != expected:
        sys.exit(f"{what} lacks {sorted(expected - found)} and should not have {sorted(found - expected)}")


def build() -> tuple[Path, Path]:
    """The sdist, and the wheel that was built from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def check_contents(sdist: Path, wheel: Path) -> None:
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src/fewsolves").split("\0")
    source = {name for name in listed if (ROOT / name).is_file()}
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive if member.isfile()} - {".gitignore"}
    expect_same(sdist.name, found, source | BESIDES)
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if not name.partition("/")[0].endswith(".dist-info")}
    expect_same(wheel.name, found, {name.removeprefix("src/") for name in source})
    for path in (sdist, wheel):
        if path.stat().st_size > LARGEST:
            sys.exit(f"{path.name} has {path.stat().st_size} bytes; what is in it?")
    data = sorted(name for name in found if not name.endswith(".py"))
    print(f"both have the {len(source)} files of src/fewsolves, data too: {', '.join(data)}")


def use(wheel: Path, folder: Path) -> None:
    """Install it into an environment below `folder`, and work there."""
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / "bin"
    pip = (binaries / "python", "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt")
    run(*pip, wheel, folder=folder)
    installed = run(*pip[:3], "list", "--format", "freeze", folder=folder)
    for extra in ("torch", "numba"):
        if f"\n{extra}==" in installed:
            sys.exit(f"{wheel.name} installs {extra}, which is an extra")
    version = run(binaries / "fewsolves", "--version", folder=folder)
    if wheel.name.split("-")[1] not in version:
        sys.exit(f"{wheel.name} says that it is {version}")
    listed = run(binaries / "fewsolves", "methods", folder=folder).splitlines()
    if [line.split()[0] for line in listed if line.endswith("(the default)")] != [DEFAULT]:
        sys.exit(f"`fewsolves methods` does not name {DEFAULT}, and it alone, as the default")
    print(run(binaries / "python", "-c", FIT, DEFAULT, folder=folder), end="")

    run(*pip, "torch", folder=folder)
    run(*pip, f"{wheel}[all]", folder=folder)
    (folder / "plant.py").write_text(PLANT)
    run(binaries / "python", "plant.py", folder=folder)
    own = ("plant:problem", "--data", "table.npz", "--x", "X", "--y", "Y")
    few = ("--method", "pfl", "--predictor", "linear", "--set", "start_epochs=5", "--out", "run")
    run(binaries / "fewsolves", "train", *own, *few, folder=folder)
    run(binaries / "fewsolves", "quote", *own, folder=folder)
    run(binaries / "fewsolves", "report", "run", folder=folder)
    if not (folder / "run" / "report.html").exists():
        sys.exit("`fewsolves report` wrote no page")


if __name__ == "__main__":
    made = build()
    check_contents(*made)
    with tempfile.TemporaryDirectory() as scratch:
        use(made[1], Path(scratch))
    print("these work:", *(path.relative_to(ROOT) for path in made))
