import torch

x = torch.tensor([1.0, 2.0, 3.0])
print(torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)))
print(torch.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x)))
