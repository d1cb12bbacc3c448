"""For pytest: `-p without_numba` runs tests as where numba cannot be imported."""

import sys

sys.modules["numba"] = None  # type: ignore[assignment]
