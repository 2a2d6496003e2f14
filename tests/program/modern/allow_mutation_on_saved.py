import torch

with torch.autograd.graph.allow_mutation_on_saved_tensors():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a = x * 1
    b = a.sin()
    a.mul_(10)
    b.sum().backward()
print(x.grad)
