import torch


@torch.compile
def f(x):
    return torch.sin(x) ** 2 + torch.cos(x) ** 2 * x


x = torch.tensor([1.0, 2.0], requires_grad=True)
f(x).sum().backward()
print(x.grad)
