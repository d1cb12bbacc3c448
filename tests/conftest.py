import sys
from pathlib import Path

import torch
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
torch.set_num_threads(1)  # the suite runs in several processes side by side
settings.register_profile("suite", deadline=None, derandomize=True)  # the same cases on every machine, loaded or not
settings.load_profile("suite")
