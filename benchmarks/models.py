"""Networks that others draw and record, of the real shape, with random weights.

GPT-2 (https://github.com/openai/gpt-2), a Llama (https://arxiv.org/abs/2302.13971) and a UNet
(https://arxiv.org/abs/2006.11239) in plain torch; resnet and ViT are torchvision's.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GPT2Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * width, width),
            nn.Dropout(dropout),
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.c_attn(self.ln_1(x)).split(width, dim=2)
        )
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop(self.c_proj(y))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """With the sizes of GPT-2 small; the weights of `wte` and `lm_head` are tied."""

    def __init__(
        self,
        vocabulary: int = 50257,
        length: int = 1024,
        width: int = 768,
        heads: int = 12,
        blocks: int = 12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(GPT2Block(width, heads, dropout) for _ in range(blocks))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        for weight in (self.wte.weight, self.wpe.weight):
            nn.init.normal_(weight, std=0.02)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.wte(tokens) + self.wpe(positions))
        for block in self.h:
            x = block(x)
        logits: Tensor = self.lm_head(self.ln_f(x))
        return logits


class LlamaAttention(nn.Module):
    """Queries in groups share their keys and values; positions turn pairs of features."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, groups * self.size, bias=False)
        self.v_proj = nn.Linear(width, groups * self.size, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, width = x.shape

        def split(y: Tensor) -> Tensor:
            return y.view(batch, length, -1, self.size).transpose(1, 2)

        def turned(y: Tensor) -> Tensor:
            a, b = y.chunk(2, dim=-1)
            return y * cos + torch.cat((-b, a), dim=-1) * sin

        q, k, v = turned(split(self.q_proj(x))), turned(split(self.k_proj(x))), self.v_proj(x)
        each = self.heads // self.groups
        k, v = (y.repeat_interleave(each, dim=1) for y in (k, split(v)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.o_proj(y.transpose(1, 2).reshape(batch, length, width))
        return out


class LlamaMLP(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class LlamaLayer(nn.Module):
    def __init__(self, width: int, inner: int, heads: int, groups: int) -> None:
        super().__init__()
        self.self_attn, self.mlp = LlamaAttention(width, heads, groups), LlamaMLP(width, inner)
        self.input_layernorm = nn.RMSNorm(width, eps=1e-5)
        self.post_attention_layernorm = nn.RMSNorm(width, eps=1e-5)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class Llama(nn.Module):
    """A Llama of 16 layers, as many as the 1B has, and a quarter of its width."""

    def __init__(
        self,
        vocabulary: int = 32000,
        width: int = 512,
        inner: int = 1408,
        heads: int = 8,
        groups: int = 4,
        layers: int = 16,
    ) -> None:
        super().__init__()
        self.size = width // heads
        self.embed_tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(LlamaLayer(width, inner, heads, groups) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed_tokens(tokens)
        position = torch.arange(tokens.shape[1], device=x.device)[:, None]
        pairs = torch.arange(0, self.size, 2, device=x.device)[None]
        angles = (position * 10000.0 ** (-pairs / self.size)).repeat(1, 2)
        cos, sin = angles.cos(), angles.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        logits: Tensor = self.lm_head(self.norm(x))
        return logits


class ResBlock(nn.Module):
    def __init__(self, inside: int, out: int, time: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, inside), nn.Conv2d(inside, out, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, out), nn.Conv2d(out, out, 3, padding=1)
        self.time = nn.Linear(time, out)
        self.shortcut = nn.Conv2d(inside, out, 1) if inside != out else nn.Identity()

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(t))[:, :, None, None]
        out: Tensor = self.conv2(F.silu(self.norm2(h))) + self.shortcut(x)
        return out


class UNet(nn.Module):
    """A UNet of diffusion models: what a level computes on the way down is used on the way up."""

    def __init__(self, width: int = 32, levels: int = 4, colours: int = 3) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(levels)]
        self.width, time = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(colours, width, 3, padding=1)
        pairs = list(zip([width, *widths], widths, strict=False))
        self.down = nn.ModuleList(ResBlock(a, b, time) for a, b in pairs)
        self.smaller = nn.ModuleList(nn.Conv2d(b, b, 3, 2, 1) for b in widths[:-1])
        self.middle = ResBlock(widths[-1], widths[-1], time)
        self.up = nn.ModuleList(ResBlock(2 * b, a, time) for a, b in reversed(pairs))
        self.norm, self.last = nn.GroupNorm(8, width), nn.Conv2d(width, colours, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        halves = torch.arange(self.width // 2, device=x.device)
        angles = t[:, None] * 10000.0 ** (-halves / halves.numel())
        t = self.time(torch.cat((angles.sin(), angles.cos()), dim=1))
        x, kept = self.first(x), []
        for level, block in enumerate(self.down):
            x = block(x, t)
            kept.append(x)
            if level < len(self.smaller):
                x = self.smaller[level](x)
        x = self.middle(x, t)
        for block in self.up:
            x = block(torch.cat((x, kept.pop()), dim=1), t)
            if kept:
                x = F.interpolate(x, scale_factor=2.0)
        out: Tensor = self.last(F.silu(self.norm(x)))
        return out
