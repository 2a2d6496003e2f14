import torch
from torch import Tensor


@torch.library.custom_op("probe::scaled_sin", mutates_args=())
def scaled_sin(x: Tensor, scale: float) -> Tensor:
    return torch.sin(x) * scale


@scaled_sin.register_fake
def _(x, scale):
    return torch.empty_like(x)


def setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * torch.cos(x) * ctx.scale, None


scaled_sin.register_autograd(backward, setup_context=setup)
x = torch.linspace(0.0, 1.0, 4, requires_grad=True)
y = scaled_sin(x, 2.0)
y.sum().backward()
print(x.grad)
