import torch
import torch.nn.functional as F

torch.manual_seed(0)
q, k, v = (torch.randn(1, 2, 5, 8, requires_grad=True) for _ in range(3))
out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
out.square().mean().backward()
print(q.grad.norm(), k.grad.norm(), v.grad.norm())
