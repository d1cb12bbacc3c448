"""What the worked examples gain on new rows, at their full size, one after the other.

    python -m fewsolves_studies.measure.examples               all, some minutes each; writes results/examples.json
    python -m fewsolves_studies.measure.examples 03 08         these only; the others keep their results
    python -m fewsolves_studies.measure.examples 03 --predictor network    writes results/examples-network.json: what
                                                               `auto` should have chosen

Each example compares its model with prediction alone on rows that neither has seen (`fs.compare`).
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import tempfile
import time
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

from fewsolves.comparing import ModelComparison
from fewsolves_studies.commit import code_commit

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
FILE = ROOT / "results" / "examples.json"


def record(compared: ModelComparison, seconds: float) -> dict[str, object]:
    """Regrets of both models, and their difference with its interval."""
    plain, model = compared.lines
    assert model.interval is not None
    return {
        "commit": code_commit(),
        "before": plain.mean_regret,
        "after": model.mean_regret,
        "difference": model.difference,
        "low": model.interval[0],
        "high": model.interval[1],
        "rows": len(compared.rows),
        "seconds": round(seconds),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", help="of examples; all by default")
    parser.add_argument("--predictor", help="in place of that of the example")
    given = parser.parse_args(arguments)
    options = {} if given.predictor is None else {"predictor": given.predictor}
    file = FILE if given.predictor is None else FILE.with_stem(f"{FILE.stem}-{given.predictor}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for path in EXAMPLES:
        if given.numbers and path.stem[:2] not in given.numbers:
            continue
        began = time.process_time()
        with tempfile.TemporaryDirectory() as empty, chdir(empty):
            compared = runpy.run_path(str(path))["main"](**options)
        found = json.loads(file.read_text()) if file.exists() else {}
        found[path.stem] = record(compared, time.process_time() - began)
        file.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
        print(path.name, found[path.stem], flush=True)


if __name__ == "__main__":
    main()
