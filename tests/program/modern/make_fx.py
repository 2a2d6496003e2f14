import torch
from torch.fx.experimental.proxy_tensor import make_fx


def f(x):
    return torch.sin(x) * x


graph = make_fx(f)(torch.ones(3))
print([node.target.__name__ for node in graph.graph.nodes if node.op == "call_function"])
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
graph(x).sum().backward()
print(x.grad)
