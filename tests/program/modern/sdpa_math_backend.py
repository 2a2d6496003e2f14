import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(0)
q, k, v = (torch.randn(1, 2, 4, 8, requires_grad=True) for _ in range(3))
with sdpa_kernel(SDPBackend.MATH):
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)
out.sum().backward()
print(v.grad.sum(), q.grad.abs().max())
