from functools import partial

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def policy(ctx, op, *args, **kwargs):
    keep = op == torch.ops.aten.mm.default
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE


def block(x, w):
    return torch.sigmoid(torch.mm(x, w)).sin()


x = torch.ones(2, 3, requires_grad=True)
w = torch.full((3, 3), 0.5, requires_grad=True)
contexts = partial(create_selective_checkpoint_contexts, policy)
y = checkpoint(block, x, w, use_reentrant=False, context_fn=contexts)
y.sum().backward()
print(x.grad, w.grad.sum())
