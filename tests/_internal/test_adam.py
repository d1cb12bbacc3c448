"""The numbers of torch's own Adam."""

import numpy as np
import pytest

from fewsolves._internal.adam import Adam

pytestmark = pytest.mark.portable


def parameters():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(9, 5)), rng.normal(size=9)]


def slope(parameter, step):
    """Some gradient; the second parameter has none at every third step."""
    return None if parameter.ndim == 1 and step % 3 == 0 else np.sin(7 * parameter + step)


@pytest.mark.parametrize("eps", [1e-8, 1e-30])
def test_adam_the_numbers_are_those_of_torch(eps):
    torch = pytest.importorskip("torch")
    ours = parameters()
    theirs = [torch.tensor(one, requires_grad=True) for one in parameters()]
    adam, referee = Adam(ours, 0.01, eps=eps), torch.optim.Adam(theirs, lr=0.01, eps=eps)
    for step in range(50):
        adam.learning_rate = referee.param_groups[0]["lr"] = 0.01 / (1 + step)
        adam.step([slope(one, step) for one in ours])
        for parameter in theirs:
            found = slope(parameter.detach().numpy(), step)
            parameter.grad = None if found is None else torch.as_tensor(found)
        referee.step()
        assert all(np.allclose(a, b.detach().numpy(), rtol=1e-13) for a, b in zip(ours, theirs, strict=True)), step


def test_adam_changes_arrays_in_place_and_keeps_their_precision():
    single = np.ones(3, dtype=np.float32)
    Adam([single], 0.1).step([np.ones(3, dtype=np.float32)])
    assert single.dtype == np.float32 and np.allclose(single, 0.9)


def test_adam_a_restored_one_goes_on_as_before():
    ours = parameters()
    adam = Adam(ours, 0.01)
    for step in range(5):
        if step == 3:
            again = [one.copy() for one in ours]
            restored = Adam(again, 0.01)
            restored.restore(adam.state)
        gradients = [slope(one, step) for one in ours]
        adam.step(gradients)
        if step >= 3:
            restored.step(gradients)
    assert all(np.array_equal(a, b) for a, b in zip(ours, again, strict=True))


def test_adam_a_state_of_other_parameters_is_refused():
    adam = Adam(parameters(), 0.01)
    adam.step([slope(one, 1) for one in adam.parameters])
    with pytest.raises(ValueError, match="parameter 0 has another shape"):
        Adam([np.zeros(4), np.zeros(9)], 0.01).restore(adam.state)


def test_adam_nothing_moves_without_a_gradient():
    ours = parameters()
    adam, before = Adam(ours, 0.01), [one.copy() for one in ours]
    adam.step([None, None])
    assert all(np.array_equal(a, b) for a, b in zip(ours, before, strict=True)) and not adam.state
