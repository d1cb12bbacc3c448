"""The oldest versions that pyproject.toml allows, as constraints for pip; and the bill of materials of constraints.txt.

    python .ci/versions.py oldest > oldest.txt        # each dependency of the package and its extras at its lower bound
    python .ci/versions.py oldest torch==2.13.0       # but this one: the oldest torch for Linux is gigabytes, for GPUs
    python .ci/versions.py newest torch==2.13.0       # this one alone: the newest of all others is what pip takes
    python .ci/versions.py materials > bom.json       # CycloneDX 1.5: name, version, licence of each pinned package

The workflow `test` runs the tests with both (`make versions`).
"""

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTED = (
    "torch",
    "fast",
    "cli",
    "report",
    "parquet",
)  # extras whose tests run with the oldest versions; Ray and solvers follow their own


def oldest(project, kept=()):
    """Lines `name==version` of the lower bounds; of those `kept`, which are given, as they are."""
    listed = [*project["dependencies"], *(one for extra in TESTED for one in project["optional-dependencies"][extra])]
    found = (re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)(?:,.*)?", one) for one in listed)
    bounds = {bound[1]: f"{bound[1]}=={bound[2]}" for bound in found if bound}
    return sorted((bounds | {line.partition("==")[0]: line for line in kept}).values())


def materials(pinned):
    """The CycloneDX document of lines `name==version`."""
    components = []
    for line in pinned:
        name, _, version = line.partition("==")
        component = {"type": "library", "name": name, "version": version}
        if licence := _licence(name):
            component["licenses"] = [{"license": {"name": licence}}]
        components.append(component)
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


def _licence(name):
    """As the installed package tells, in one line."""
    try:
        facts = metadata(name)
    except PackageNotFoundError:
        return None
    classified = [one.rpartition(" :: ")[2] for one in facts.get_all("Classifier", []) if one.startswith("License ::")]
    said = facts.get("License-Expression") or ", ".join(classified) or facts.get("License") or ""
    return said.splitlines()[0][:100] if said else None


def main():
    if sys.argv[1:2] == ["oldest"]:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        print("\n".join(oldest(project, sys.argv[2:])))
    elif sys.argv[1:2] == ["newest"]:
        print("\n".join(sys.argv[2:]))
    elif sys.argv[1:] == ["materials"]:
        lines = (ROOT / "constraints.txt").read_text().splitlines()
        print(json.dumps(materials([line.strip() for line in lines if "==" in line and line[0] != "#"]), indent=1))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
