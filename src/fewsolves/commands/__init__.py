"""Commands of `fewsolves` that are more than a call: one file each."""
