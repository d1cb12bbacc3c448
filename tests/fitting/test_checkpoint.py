import json
from hashlib import sha256

import numpy as np
import pytest
from safetensors.numpy import save

from fewsolves.errors import FewsolvesWarning
from fewsolves.fitting.checkpoint import Checkpoints

pytestmark = pytest.mark.portable


@pytest.mark.parametrize("number", ["Infinity", "NaN", '"one"', "null", "[]"])
def test_checkpoint_with_an_odd_number_is_not_used(tmp_path, number):
    packed, content = save({"a": np.ones(1)}), f'{{"call": "this", "number": {number}, "facts": {{}}}}'
    digests = {"sha256": sha256(packed).hexdigest(), "content_sha256": sha256(content.encode()).hexdigest()}
    (tmp_path / "checkpoint-0.safetensors").write_bytes(packed)
    (tmp_path / "checkpoint-0.json").write_text(json.dumps(digests | {"content": content}))
    with pytest.warns(FewsolvesWarning, match="damaged and not used"):
        assert Checkpoints(tmp_path, "this").load() == []
