import torch
from torch.func import grad, vmap


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 3 * x**2


print(vmap(grad(Cube.apply))(torch.tensor([1.0, 2.0, 3.0])))
x = torch.tensor(2.0, requires_grad=True)
Cube.apply(x).backward()
print(x.grad)
