import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

x = torch.tensor([1.0, 2.0], requires_grad=True)
packed = []
with saved_tensors_hooks(lambda t: packed.append(t.shape) or t * 1.0, lambda t: t):
    y = x.exp() * x
with save_on_cpu():
    z = (y * y).sum()
z.backward()
print(len(packed), x.grad)
