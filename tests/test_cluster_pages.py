"""The scripts of docs/cluster.md, with stand-ins for the commands of a cluster."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "cluster.md").read_text()
STAND_INS = {
    "scontrol": '#!/bin/bash\n[ "$*" = "show hostnames" ] && printf "node1\\nnode2\\nnode3\\nnode4\\n"',
    "srun": '#!/bin/bash\nexec "$@"',
    "ray": '#!/bin/bash\necho "ray $*" >> "$LOG"\nwhile [ "$1" != "--" ]; do shift; done; shift\nexec "$@"',
}


def test_the_job_for_slurm_starts_ray_with_a_token_and_hands_its_address_to_the_script(tmp_path):
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", PAGE, flags=re.S)
    for name, text in STAND_INS.items():
        (tmp_path / name).write_text(text + "\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    (tmp_path / "train.py").write_text("import os; print(os.environ['HEAD'], os.environ['RAY_AUTH_MODE'])\n")
    (tmp_path / "job.sh").write_text(script)
    given = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "LOG": str(tmp_path / "log"),
        "HOME": str(tmp_path),
    }
    done = subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=given, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["node1:6379", "token"], done.stderr
    asked = (tmp_path / "log").read_text()
    assert asked.startswith("ray symmetric-run --address node1:6379 --min-nodes 4 --num-cpus 32 -- python train.py")
