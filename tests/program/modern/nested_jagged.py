import torch

a = torch.ones(2, 3, requires_grad=True)
b = torch.full((4, 3), 2.0, requires_grad=True)
nested = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
out = torch.nn.functional.relu(nested * 3)
out.values().sum().backward()
print(a.grad.sum(), b.grad.sum())
