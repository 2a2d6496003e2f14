import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


x = torch.ones(2, requires_grad=True)
with Count() as count:
    y = (x * 3).exp().sum()
    y.backward()
print(count.names)
print(x.grad)
