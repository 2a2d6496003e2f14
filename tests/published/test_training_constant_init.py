"""The network whose weights are all 0.1 in its three variants, with the numbers once published."""

import pytest
import torch
from torch import Tensor

from explorer.networks import problem
from explorer.training import Live

TODAY = "all weights 0.1"
OLD, DOUBLE = f"{TODAY}, early log-softmax", f"{TODAY}, float64"


def gradients(variant: str) -> tuple[Live, dict[str, Tensor]]:
    live = problem(variant).build()
    live.loss().backward()
    return live, {name: p.grad.clone() for name, p in live.parameters.items()}


def test_old_log_softmax_gives_the_published_numbers() -> None:
    live, grads = gradients(OLD)
    rows = [round(v, 4) for v in grads["conv1.weight"][0, 0, 0].tolist()]
    assert rows == [-0.0782, -0.0842, -0.0782]
    torch.optim.SGD(live.parameters.values(), lr=1.0).step()
    after = [round(v, 4) for v in live.parameters["conv1.weight"][0, 0, 0].tolist()]
    assert after == [0.1782, 0.1842, 0.1782]


def test_today_and_float64_show_it_was_rounding() -> None:
    _, today = gradients(TODAY)
    assert today["conv1.weight"].abs().max() < 1e-6
    assert today["conv1.weight"][0, 0, 0, 0].item() == pytest.approx(-2.4e-07, rel=0.02)
    _, double = gradients(DOUBLE)
    assert double["conv1.weight"].dtype == torch.float64
    assert double["conv1.weight"].abs().max() < 1e-12
    assert double["conv2.weight"].abs().max() < 1e-12


@pytest.mark.parametrize("variant", [TODAY, DOUBLE])
def test_the_last_layers_gradient_is_real(variant: str) -> None:
    _, grads = gradients(variant)
    rows = grads["linear.weight"].double()
    for row, smallest, largest in ((0, 0.6000, 1.944), (1, -36.936, -11.4000)):
        assert rows[row].min().item() == pytest.approx(smallest, rel=1e-5)
        assert rows[row].max().item() == pytest.approx(largest, rel=1e-5)


@pytest.mark.parametrize("variant", [TODAY, OLD, DOUBLE])
def test_new_is_old_minus_lr_times_grad_to_the_last_bit(variant: str) -> None:
    live, grads = gradients(variant)
    old = {name: p.detach().clone() for name, p in live.parameters.items()}
    torch.optim.SGD(live.parameters.values(), lr=1.0).step()
    for name, parameter in live.parameters.items():
        assert torch.equal(parameter, old[name] - 1.0 * grads[name])
