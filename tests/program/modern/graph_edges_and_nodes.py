import torch
from torch.autograd.graph import get_gradient_edge

x = torch.tensor(2.0, requires_grad=True)
y = x * x
edge = get_gradient_edge(y)
z = y * 3
(g,) = torch.autograd.grad(z, edge)
print(g, edge.node.name(), z.grad_fn.next_functions[0][0].name())
