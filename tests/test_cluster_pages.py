"""The scripts of docs/cluster.md, with stand-ins for the commands of a cluster.

With Ray itself in place of its stand-in they run in `faults/test_ray_start.py`, of the long tier.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

PAGE = (Path(__file__).parents[1] / "docs" / "cluster.md").read_text()
STAND_INS = {
    "scontrol": '#!/bin/bash\n[ "$*" = "show hostnames" ] && printf "node1\\nnode2\\nnode3\\nnode4\\n"',
    "srun": '#!/bin/bash\nexec "$@"',
    "ray": '#!/bin/bash\necho "ray $*" >> "$LOG"\nwhile [ "$1" != "--" ]; do shift; done; shift\nexec "$@"',
}


def stand_ins(place, texts):
    """Commands of a cluster in `place`, and the environment in which they are the first to be found."""
    python = f'#!/bin/bash\nexec {sys.executable} "$@"'  # a link would not find its environment
    for name, text in (texts | {"python": python}).items():
        (place / name).write_text(text + "\n")
        (place / name).chmod(0o755)
    found = {"PATH": f"{place}:{os.environ['PATH']}", "LOG": str(place / "log"), "HOME": str(place)}
    return os.environ | found


(SLURM,) = re.findall(r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", PAGE, flags=re.S)
(MANIFEST,) = re.findall(r"```yaml\n(apiVersion: ray.io/v1\n.*?)```", PAGE, flags=re.S)
(COMMANDS,) = re.findall(r"```bash\n(kubectl .*?)```", PAGE, flags=re.S)


def test_cluster_pages_the_job_for_slurm_starts_ray_with_a_token_and_hands_its_address_to_the_script(tmp_path):
    (tmp_path / "train.py").write_text("import os; print(os.environ['HEAD'], os.environ['RAY_AUTH_MODE'])\n")
    (tmp_path / "job.sh").write_text(SLURM)
    given = stand_ins(tmp_path, STAND_INS)
    done = subprocess.run(["bash", "job.sh"], cwd=tmp_path, env=given, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["node1:6379", "token"], done.stderr
    logged = (tmp_path / "log").read_text()
    assert logged.startswith("ray symmetric-run --address node1:6379 --min-nodes 4 --num-cpus 32 -- python train.py")


KUBECTL = """#!/bin/bash
# What the operator does with a job: its entry point runs where RAY_ADDRESS says which cluster it is for.
echo "kubectl $*" >> "$LOG"
if [ "$1" = apply ]; then
  entry=$(sed -n 's/^  entrypoint: //p' "$3")
  RAY_ADDRESS=${CLUSTER:-10.0.0.1:6379} RAY_AUTH_MODE=token bash -c "${entry//\\/app/$APP}" > "$APP/said"
fi
"""
TRAIN = """
from fewsolves.execution.ray import _starts_here
assert not _starts_here("ray"), "that of the job is joined, none is started"
print("joined")
"""


def test_cluster_pages_the_manifest_for_kubernetes_is_one_and_its_entry_point_joins_the_cluster_of_the_job(tmp_path):
    spec = yaml.safe_load(MANIFEST)["spec"]
    cluster = spec["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    pods = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    images = {one["image"] for pod in pods for one in pod["template"]["spec"]["containers"]}
    assert len(images) == 1, "the same Python and packages everywhere"
    head = cluster["headGroupSpec"]["template"]["spec"]
    mounted = {mount["name"] for mount in head["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in head["volumes"]} == {"ledger"}
    (tmp_path / "job.yaml").write_text(MANIFEST)
    (tmp_path / "train.py").write_text(TRAIN)
    given = stand_ins(tmp_path, {"kubectl": KUBECTL}) | {"APP": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-ec", COMMANDS], cwd=tmp_path, env=given, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "said").read_text() == "joined\n", done.stderr
    assert (tmp_path / "log").read_text().splitlines()[1].startswith("kubectl wait --timeout=7d rayjob/train --for=")
