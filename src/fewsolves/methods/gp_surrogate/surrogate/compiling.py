"""Machine code of the Gaussian processes, made ahead: `python -m fewsolves.methods.gp_surrogate.surrogate.compiling`.

The first fit of a `gp-surrogate` on a machine compiles what it uses, for a quarter of a minute, and keeps it on disk
(`methods.gp_surrogate.gp.lanes`). To avoid that wait, for example in a container image, this command
compiles everything in advance. The default method uses none of it.
"""

from __future__ import annotations

import numpy as np

from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs
from fewsolves.methods.gp_surrogate.surrogate.samples import Samples
from fewsolves.methods.gp_surrogate.surrogate.smoothing import smooth

M, D = 5, 3


def compile_all() -> None:
    """Use every compiled function once; what is on disk already is only loaded."""
    rng, everyone = np.random.default_rng(0), np.arange(M)
    points, targets = rng.normal(size=(2, M, D)), rng.normal(size=(2, M))
    for pooled in (True, False):
        gps = GPs(M, D, GPConfig(pooled=pooled))
        for x, y in zip(points, targets, strict=True):
            gps.add(everyone, x, y)
            gps.evaluated(x, everyone, slopes=True)
            gps.fit()
        gps.set_targets(everyone, targets.T.ravel())
        gps.log_posterior()
        GPs.from_state(gps.state())
    samples = Samples(M, D)
    samples.add(everyone, points[0], targets[0], points[0], np.ones(D))
    smooth(samples, everyone, 0.1, "samples")


if __name__ == "__main__":
    compile_all()
