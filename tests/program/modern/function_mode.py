import torch
from torch.overrides import TorchFunctionMode


class Names(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


x = torch.ones(2, requires_grad=True)
with Names() as names:
    y = torch.sin(x) * 2
y.sum().backward()
print(names.names, x.grad)
