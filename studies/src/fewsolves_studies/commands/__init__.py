"""Commands that this package adds to `fewsolves`, one file each; pyproject.toml names them as entry points."""
