# Questions about tensors that are no leaves, and so get no gradient or cannot be optimized.

# ======== https://github.com/pytorch/pytorch/issues/2677
# asked = "y.requires_grad is True, so why is y.grad None after backward?"
# accepted = """Gradients of intermediate tensors are not stored, to save memory. Ask for them \
#   with retain_grad() or a hook."""
# shows = "None"
# answers = ["none.non-leaf"]
# says = ["features", "leaf", "retain_grad"]
# --------
import torch
from torch import nn

torch.manual_seed(1)
image = torch.rand(2, 1, 4, 4, requires_grad=True)
features = nn.Conv2d(1, 1, 3)(image)
total = features.sum()
total.backward()
print(image.grad is None, features.requires_grad)
print(features.grad)

# ======== https://github.com/pytorch/pytorch/issues/91851
# asked = "I gave requires_grad=True. Why does multiplying by a number make .grad None?"
# accepted = """The name stands for the product, which is no leaf; the leaf has no name. Multiply \
#   first and set requires_grad afterwards."""
# shows = "None"
# answers = ["none.non-leaf"]
# says = ["rate", "leaf", "line 3", "requires_grad*"]
# --------
import torch

rate = torch.tensor(4.0, requires_grad=True) * 0.25
base = torch.tensor(3.0, requires_grad=True)
result = rate * base
result.backward()
print(rate.grad, base.grad)

# ======== https://github.com/pytorch/pytorch/issues/7335
# asked = "The tensor was made with requires_grad=True and then moved. Why does it get no gradient?"
# accepted = """The conversion creates a second tensor; the gradient goes to the first one, which \
#   has lost its name. Pass dtype and device when the tensor is created."""
# shows = "True None"
# answers = ["none.non-leaf"]
# says = ["weights", "leaf", [".to(", "ToCopy*"], "line 4", ["requires_grad_", "dtype"]]
# --------
import numpy as np
import torch

weights = torch.tensor(np.array([0.5, 1.5]), requires_grad=True).to(torch.float32)
signal = torch.ones(2)
value = weights @ signal
value.backward()
print(weights.requires_grad, weights.grad)

# ======== https://github.com/pytorch/pytorch/issues/140469
# asked = "Why can the optimizer not optimize my image, a random tensor with requires_grad=True?"
# accepted = """image is the result of the multiplication and so no leaf. Scale first, then set \
#   requires_grad."""
# shows = "can't optimize a non-leaf Tensor"
# answers = ["leaf.optimizer"]
# says = ["image", "line 4", "leaf", "requires_grad*"]
# --------
import torch

torch.manual_seed(0)
image = torch.randn(3, 3, requires_grad=True) * 0.01
optimizer = torch.optim.SGD([image], lr=0.1, momentum=0.5)
optimizer.zero_grad()
image.pow(2).sum().backward()
optimizer.step()

# ======== https://github.com/vinsis/ternary-quantization/issues/4
# asked = "Scaling factors made with requires_grad=True and .to(device) cannot be optimized: why?"
# accepted = """The result of .to() is a new tensor computed from the leaf. Give dtype or device \
#   to torch.ones itself."""
# shows = "can't optimize a non-leaf Tensor"
# answers = ["leaf.optimizer"]
# says = ["line 3", "leaf", [".to(", "requires_grad=True"]]
# --------
import torch

factors = [torch.ones(2, requires_grad=True).to(torch.float64) for _ in range(3)]
optimizer = torch.optim.Adam(factors, lr=0.01)
loss = sum(f.sum() for f in factors)
loss.backward()
optimizer.step()

# ======== https://github.com/pytorch/pytorch/issues/4957
# asked = """itertools.chain of the network's parameters and one more variable gives an error of \
#   the optimizer that I do not understand."""
# accepted = """chain iterates over the tensor itself, which gives its rows: views, no leaves. Put \
#   the tensor into a list."""
# shows = "can't optimize a non-leaf Tensor"
# answers = ["leaf.optimizer"]
# says = ["extra", "row", "[extra]"]
# --------
import itertools

import torch

net = torch.nn.Linear(2, 1)
extra = torch.zeros(2, 1, requires_grad=True)
optimizer = torch.optim.Adam(itertools.chain(net.parameters(), extra))
