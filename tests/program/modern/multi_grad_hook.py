import torch
from torch.autograd.graph import register_multi_grad_hook

x = torch.ones(2, requires_grad=True)
a, b = x * 2, x * 3
register_multi_grad_hook(
    [a, b], lambda grads: print([None if g is None else g.sum() for g in grads])
)
(a + b).sum().backward()
print(x.grad)
