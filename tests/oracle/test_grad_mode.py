import pytest
import torch

from fewsolves.oracle.grad_mode import keeping_grad_mode


def switching(rows):
    try:
        for row in rows:
            torch.set_grad_enabled(False)
            yield row
    finally:
        CLOSED.append(True)


CLOSED: list[bool] = []


def test_grad_mode_is_what_it_was_after_each_answer():
    for _ in keeping_grad_mode(switching)([1, 2]):
        assert torch.is_grad_enabled()
    with torch.no_grad():
        assert list(keeping_grad_mode(switching)([1, 2])) == [1, 2]
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_grad_mode_is_what_it_was_after_an_error_or_an_early_end():
    def failing(rows):
        torch.set_grad_enabled(False)
        raise RuntimeError
        yield rows

    with pytest.raises(RuntimeError):
        list(keeping_grad_mode(failing)([1]))
    assert torch.is_grad_enabled()
    CLOSED.clear()
    calls = keeping_grad_mode(switching)([1, 2])
    next(calls)
    calls.close()
    assert CLOSED == [True]
    assert torch.is_grad_enabled()
