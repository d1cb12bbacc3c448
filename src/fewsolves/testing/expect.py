"""Assertion of the contracts: what was expected, and what came instead."""


def expect(holds: bool, what: str, got: object) -> None:
    """Raise AssertionError where it does not hold."""
    if not holds:
        raise AssertionError(f"expected {what}; got {got}")
