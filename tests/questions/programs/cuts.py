# Questions about gradients that never arrive: the history is cut, or the tensor is no leaf.

# ======== https://discuss.pytorch.org/t/gradient-is-lost-when-use-torch-tensor-t1-t2/23261
# asked = "Adding two results gives gradients, putting them into one torch.tensor does not: why?"
# accepted = """torch.tensor copies the values of its arguments and forgets how they were \
#   computed. torch.stack joins tensors and keeps their history."""
# shows = "does not require grad"
# answers = ["history.none", "history.cut"]
# says = ["torch.tensor", "line 5", "torch.stack"]
# --------
import torch

width = torch.tensor(0.5, requires_grad=True)
height = torch.tensor(2.0, requires_grad=True)
sides = torch.tensor([torch.sin(width), height.exp()])
area = sides.prod()
area.backward()
print(width.grad)

# ======== https://github.com/pytorch/pytorch/issues/61410
# asked = "Why does a tensor made of a list of parameters not require grad?"
# accepted = """The constructor copies numbers out of the parameters, so the result has no \
#   history; torch.stack or torch.cat keeps it."""
# shows = "does not require grad"
# answers = ["history.none", "history.cut"]
# says = [["torch.Tensor", "Tensor(["], "line 6", ["torch.stack", "torch.cat"]]
# --------
import torch
from torch import nn

gain = nn.Parameter(torch.tensor([1.5]))
offset = nn.Parameter(torch.tensor([0.25]))
line = torch.Tensor([gain, offset])
print(line.requires_grad)
error = (line[0] * 3.0 + line[1] - 2.0) ** 2
error.backward()

# ======== https://github.com/MRsources/pulseq-zero/issues/20
# asked = """A constant and a tensor are put into one tensor. Why is the operation not \
#   differentiable, although the new tensor requires grad?"""
# accepted = """torch.tensor makes a new leaf of copied values. Stack tensors instead: \
#   torch.stack([torch.as_tensor(v) for v in values])."""
# shows = "None"
# answers = ["none.cut"]
# says = ["amplitude", "torch.tensor", "line 4", "torch.stack"]
# --------
import torch

amplitude = torch.tensor(3.0, requires_grad=True)
ramp = torch.tensor([0.0, amplitude, 0.0], requires_grad=True)
energy = (ramp**2).sum()
energy.backward()
print(ramp.grad)
print(amplitude.grad)

# ======== https://github.com/jankrepl/deepdow/pull/106
# asked = "Why do the distribution's parameters get no gradient from a sample?"
# accepted = """sample() draws without history; rsample() is reparameterized and lets gradients \
#   through."""
# shows = "does not require grad"
# answers = ["history.none", "history.cut"]
# says = ["sample", "line 5", "rsample"]
# --------
import torch

mean = torch.tensor([0.5, -0.5], requires_grad=True)
noise = torch.distributions.Normal(mean, torch.ones(2))
draw = noise.sample()
loss = (draw**2).sum()
loss.backward()

# ======== https://github.com/nyukat/breast_cancer_classifier/issues/56
# asked = """The predictions are averaged in numpy and made a tensor that requires grad. Can one \
#   still train the model?"""
# accepted = """No: a detached numpy array has no history, and requires_grad on a new tensor \
#   starts at that tensor. Average with torch instead."""
# shows = "None"
# answers = ["none.cut"]
# also = ["optimizer.skipped"]
# says = [
#   "model",
#   ["numpy", "detach*"],
#   "line 9",
#   ["torch.mean", ".mean(", "torch's", "torch operation", "torch function"],
# ]
# --------
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
views = torch.randn(4, 3)
averaged = np.mean(model(views).detach().numpy(), axis=0)
prediction = torch.tensor(averaged, requires_grad=True)
loss = ((prediction - torch.ones(2)) ** 2).mean()
loss.backward()
optimizer.step()
print(model.weight.grad)

# ======== https://github.com/speechbrain/speechbrain/issues/735
# asked = """Without Variable(loss, requires_grad=True) I get 'does not require grad'; with it, is \
#   that correct?"""
# accepted = """It only silences the error: the network ran without recording, so nothing reaches \
#   its weights. Remove the cut, not the message."""
# shows = "None"
# answers = ["none.cut", "history.rebuilt"]
# also = ["optimizer.skipped", "none.unused"]
# says = ["no_grad", ["line 8", "line 9"], "net"]
# --------
import torch
from torch import nn
from torch.autograd import Variable

torch.manual_seed(0)
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
with torch.no_grad():
    prediction = net(torch.ones(4, 2))
loss = (prediction - 1.0).abs().mean()
loss = Variable(loss, requires_grad=True)
loss.backward()
optimizer.step()
print(net.weight.grad)

# ======== https://github.com/rll-research/cic/issues/5
# asked = "The observations are encoded inside torch.no_grad: are the encoder's weights updated?"
# accepted = """No: nothing is recorded inside no_grad, so no gradient reaches the encoder. Encode \
#   outside of it."""
# shows = "None"
# answers = ["none.cut"]
# also = ["optimizer.skipped"]
# says = ["encoder", "no_grad", ["line 8", "line 9"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
encoder, actor = nn.Linear(4, 3), nn.Linear(3, 1)
optimizer = torch.optim.Adam([*encoder.parameters(), *actor.parameters()], lr=0.01)
observations = torch.randn(8, 4)
with torch.no_grad():
    state = encoder(observations)
loss = (actor(state) - 1.0).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(encoder.weight.grad)

# ======== https://github.com/qubvel-org/segmentation_models.pytorch/pull/611
# asked = """The Dice loss does not require grad after thresholding; is torch.tensor(…, \
#   requires_grad=True) the cure?"""
# accepted = """No: the new tensor is a leaf of its own, and the network gets nothing. Compute the \
#   loss from the probabilities."""
# shows = "None"
# answers = ["none.cut"]
# also = ["optimizer.skipped"]
# says = ["net", "line 7", ["torch.tensor", ">", "compar*"], ["p", "probabilit*", "sigmoid"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
p = torch.sigmoid(net(torch.randn(4, 3)))
hard = torch.tensor((p > 0.5).type(p.dtype), requires_grad=True)
truth = torch.ones(4, 2)
dice = 1 - 2 * (hard * truth).sum() / (hard.sum() + truth.sum())
dice.backward()
print(net.weight.grad)

# ======== https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4
# asked = "loss.backward() works with the outputs before this point and not after it: is it argmax?"
# accepted = "Yes: argmax is not differentiable; take the loss before it."
# shows = "does not require grad"
# answers = ["history.none", "history.cut"]
# says = ["argmax*", "line 7", ["before", "softmax*", "cross_entropy", "scores"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
heads = nn.Linear(6, 8)
x, y = heads(torch.randn(3, 6)).chunk(2, dim=1)
coordinates = torch.stack([x.argmax(dim=1), y.argmax(dim=1)], dim=1).float()
loss = (coordinates / 3.0 - 0.5).pow(2).mean()
loss.backward()

# ======== https://github.com/rasbt/LLMs-from-scratch/issues/277
# asked = "The weight was detached before it was made a Parameter. Why does it require grad?"
# accepted = """detach only cuts it off from the embedding. A Parameter requires grad unless \
#   requires_grad=False is passed."""
# shows = "True None"
# answers = ["none.cut", "none.unused"]
# says = ["embedding.weight", "line 6", ["Parameter", "detach*"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
embedding, linear = nn.Embedding(4, 3), nn.Linear(4, 3, bias=False)
linear.weight = nn.Parameter(embedding.weight.T.detach())
loss = linear(torch.eye(4)).pow(2).sum()
loss.backward()
print(linear.weight.requires_grad, embedding.weight.grad)

# ======== https://github.com/oreilly-japan/deep-learning-from-scratch-4/issues/13
# asked = "next_q.detach() is to cut the target off the graph. Is that line right?"
# accepted = "No: detach returns a new tensor, which is not kept: next_q = next_q.detach()."
# shows = "False"
# answers = ["result.dropped"]
# says = ["next_q", "line 10", "next_q = next_q.detach()"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
qnet, target_net = nn.Linear(3, 2), nn.Linear(3, 2)

def update(state, next_state):
    q = qnet(state).max(dim=1).values
    next_q = target_net(next_state).max(dim=1).values
    next_q.detach()
    loss = (q - (1.0 + 0.9 * next_q)).pow(2).mean()
    loss.backward()

update(torch.randn(4, 3), torch.randn(4, 3))
print(target_net.weight.grad is None)
