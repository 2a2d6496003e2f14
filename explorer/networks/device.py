"""Where a network runs: on the CPU, unless there is another device and it is asked for."""

from __future__ import annotations

from functools import cache

import torch

from explorer.training.problem import Network, random_stream

CPU = "cpu"


@cache
def devices() -> tuple[str, ...]:
    """What a network can run on here: "cpu" first, then "cuda:0", "mps:0" and so on."""
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        return (CPU,)
    return (CPU, *(f"{kind.type}:{i}" for i in range(torch.accelerator.device_count())))


def on_device(network: Network, device: str) -> Network:
    """The network on one of `devices()`: its model is moved, its inputs are copied.

    It is the same network with the same numbers, within rounding: what is random in it was drawn
    on the CPU, and its loss is computed there from the output. Dropout draws on the device, from
    a seed that is the same every time.
    """
    if device == CPU:
        return network
    with random_stream(0):
        torch.manual_seed(0)  # of every device; the CPU's is put back
    inputs = (x.detach().to(device).requires_grad_(x.requires_grad) for x in network.inputs)
    criterion = network.criterion
    return Network(
        network.model.to(device), tuple(inputs), lambda output: criterion(output.to(CPU))
    )
