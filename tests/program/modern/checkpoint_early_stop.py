import torch
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop


def block(x):
    return (x.exp() + 1).log()


x = torch.tensor([0.0, 1.0], requires_grad=True)
with set_checkpoint_early_stop(False):
    y = checkpoint(block, x, use_reentrant=False)
y.sum().backward()
print(x.grad)
