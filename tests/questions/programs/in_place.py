# Questions about values that were changed in place.

# ======== https://github.com/pytorch/pytorch/issues/9391
# asked = """Assigning to an element of sigmoid's result raises in backward; with 1/(1+exp(-a)) it \
#   does not. Why the difference?"""
# accepted = """sigmoid saves its result for backward, and that result was changed; a division or \
#   an addition does not need its own result. Clone before assigning."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["gate", "line 5", ["result", "output"], "clone"]
# --------
import torch

a = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
gate = a.sigmoid()
gate[1] = 0.0
gate.sum().backward()

# ======== https://github.com/AggMan96/RK-Net/issues/9
# asked = "The borders of an attention map are set to 0 after a ReLU, and backward fails."
# accepted = """relu saved its result, and the assignments change it. Work on a clone: heat = \
#   heat.clone()."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["heat", ["line 6", "line 7"], "relu*", "clone"]
# --------
import torch

torch.manual_seed(0)
weight = torch.randn(4, 4, requires_grad=True)
heat = torch.relu(weight * 2.0)
heat[:, 0] = 0.0
heat[:, -1] = 0.0
heat.sum().backward()

# ======== https://github.com/lyongo/NWPU-MOC/issues/4
# asked = """No layer is inplace, yet 'output 0 of ReluBackward0 is at version 1'. Where does it \
#   change?"""
# accepted = "+= changes the ReLU's result in place; write laterals[0] = laterals[0] + laterals[1]."
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["line 9", "relu*", ["+=", "laterals[0] = laterals[0] + ", "without +=", "add*"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
coarse = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
fine = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
x = torch.randn(2, 3)
laterals = [fine(x), coarse(x)]
laterals[0] += laterals[1]
laterals[0].mean().backward()

# ======== https://github.com/osmr/imgclsmob/issues/13
# asked = "Why do in-place ReLUs break the backward of a network with branches?"
# accepted = """inplace=True overwrites its input, which tanh has saved for backward. Remove \
#   inplace=True."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["squeezed", "line 7", "tanh*", "inplace=True"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
first, activation = nn.Linear(3, 3), nn.ReLU(inplace=True)
squeezed = torch.tanh(first(torch.randn(2, 3)))
opened = activation(squeezed)
(opened + squeezed).sum().backward()

# ======== https://github.com/BierOne/bottom-up-attention-vqa/issues/6
# asked = "A classifier with ReLU and dropout fails in backward: what is modified in place?"
# accepted = """Dropout with inplace=True changes the ReLU's result, which ReLU's backward needs. \
#   Use inplace=False."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["dropout*", "relu*", ["inplace=False", "inplace=True"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
dropout = nn.Dropout(0.5, inplace=True)
classifier = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), dropout, nn.Linear(6, 2))
answer = classifier(torch.randn(3, 4))
answer.sum().backward()

# ======== https://github.com/pytorch/pytorch/issues/5687
# asked = "Adding to the result of an in-place ReLU gives wrong results or an error: is that a bug?"
# accepted = "No: relu needs its result in backward, and += has changed it. Write y = y + x."
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["y", "line 6", "relu*", ["y = y + x", "+="]]
# --------
import torch
import torch.nn.functional as F

x = torch.tensor([[-1.0, 2.0]], requires_grad=True)
y = F.relu(x * 3.0, inplace=True)
y += x
y.sum().backward()

# ======== https://github.com/pytorch/pytorch/issues/727
# asked = "relu(x, inplace=True) followed by dropout breaks: why?"
# accepted = "x is a leaf that requires grad and must not be changed in place; drop inplace."
# shows = "a leaf Variable that requires grad is being used in an in-place operation"
# answers = ["error", "inplace.leaf"]
# says = ["x", "line 6", "leaf", "inplace"]
# --------
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(3, 4, requires_grad=True)
F.relu(x, inplace=True)
x.sum().backward()

# ======== https://github.com/Atcold/NYU-DLSP20/issues/765
# asked = "Filling an embedding's weight with sines fails. Is torch.no_grad the right cure?"
# accepted = """Yes: setting initial values is no part of what is differentiated. Assign under \
#   torch.no_grad()."""
# shows = "a view of a leaf Variable that requires grad is being used in an in-place operation"
# answers = ["error", "inplace.view", "inplace.leaf"]
# says = ["weight", "line 6", "no_grad"]
# --------
import torch
from torch import nn

positions = nn.Embedding(6, 4)
angles = torch.arange(6.0).unsqueeze(1) * torch.tensor([1.0, 0.1])
positions.weight[:, 0::2] = torch.sin(angles)
positions.weight[:, 1::2] = torch.cos(angles)

# ======== https://github.com/NVlabs/VILA/pull/199
# asked = """text_embeds += something fails with an error about leaf variables. How else can it be \
#   added?"""
# accepted = "+= changes the leaf itself. Write x = x + …, which makes a new tensor."
# shows = "a leaf Variable that requires grad is being used in an in-place operation"
# answers = ["error", "inplace.leaf"]
# says = ["line 5", "leaf", ["mixed = mixed + ", "mixed + ", "embeds + ", "x = x + "]]
# --------
import torch

embeds = torch.zeros(3, 2, requires_grad=True)
mixed = embeds
mixed += 0.0 * torch.ones(3, 2)
mixed.sum().backward()

# ======== https://github.com/pytorch/pytorch/issues/61519
# asked = "A full backward hook on a model with in-place ReLU raises. How can I get the gradient?"
# accepted = """The hook's input is a view made for it and must not be changed in place. Use \
#   inplace=False, or a tensor hook on the output."""
# shows = "is a view and is being modified inplace"
# answers = ["error", "inplace.views"]
# says = ["hook", ["inplace=False", "inplace=True", "in place"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=True))
model[1].register_full_backward_hook(lambda module, grad_in, grad_out: None)
model(torch.ones(1, 2)).sum().backward()

# ======== https://github.com/pytorch/pytorch/issues/6990
# asked = "What is the difference between .data and .detach(), if both share the values?"
# accepted = """Autograd does not notice a change made through .data, so sigmoid's backward uses \
#   the zeros and the gradient is wrong. Through detach() it raises an error."""
# shows = "tensor([0., 0., 0.])"
# answers = ["inplace.unseen"]
# also = ["zero.flat"]
# says = [
#   ".data",
#   "line 6",
#   ["wrong", "not notice", "does not see", "unnoticed", "not know"],
#   ["detach*", "clone"],
# ]
# --------
import torch

a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
out = a.sigmoid()
c = out.data
c.zero_()
out.sum().backward()
print(a.grad)
