import warnings

import torch

warnings.simplefilter("ignore")
a = torch.ones(2, requires_grad=True)
b = torch.ones(3, requires_grad=True)
nested = torch.nested.as_nested_tensor([a, b])
torch.nested.to_padded_tensor(nested * 2, 0.0).sum().backward()
print(a.grad, b.grad)
