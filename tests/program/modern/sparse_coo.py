import torch

i = torch.tensor([[0, 1, 1], [2, 0, 2]])
v = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
s = torch.sparse_coo_tensor(i, v, (2, 3))
d = torch.ones(3, 2, requires_grad=True)
torch.sparse.mm(s, d).sum().backward()
print(v.grad, d.grad)
