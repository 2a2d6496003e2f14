import warnings

import torch

warnings.simplefilter("ignore")


@torch.jit.script
def f(x, n: int):
    for _ in range(n):
        x = x * x
    return x


x = torch.tensor(1.1, requires_grad=True)
f(x, 3).backward()
print(x.grad)
