import torch
from torch.func import grad, vmap


def loss(w, x, y):
    return ((x @ w - y) ** 2).mean()


torch.manual_seed(0)
w, x, y = torch.ones(3), torch.randn(5, 3), torch.randn(5)
print(vmap(grad(loss), in_dims=(None, 0, 0))(w, x, y))
