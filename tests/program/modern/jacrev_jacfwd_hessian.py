import torch
from torch.func import hessian, jacfwd, jacrev

f = lambda x: torch.stack([x.prod(), (x**2).sum()])
x = torch.tensor([1.0, 2.0, 3.0])
print(jacrev(f)(x))
print(jacfwd(f)(x))
print(hessian(lambda x: x.prod())(x))
