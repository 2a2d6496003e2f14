import warnings

import torch

warnings.simplefilter("ignore")
dense = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
csr = dense.to_sparse_csr()
x = torch.ones(2, 1, requires_grad=True)
(csr @ x).sum().backward()
print(x.grad)
