import torch
from torch.func import grad
from torch.fx.experimental.proxy_tensor import make_fx

graph = make_fx(grad(lambda x: (x**3).sum()))(torch.ones(2))
print(graph(torch.tensor([1.0, 2.0])))
