import torch
from torch.nn.attention.flex_attention import flex_attention

torch.manual_seed(0)
q, k, v = (torch.randn(1, 1, 4, 8) for _ in range(3))


def relative(score, b, h, i, j):
    return score + (i - j)


print(flex_attention(q, k, v, score_mod=relative).sum())
