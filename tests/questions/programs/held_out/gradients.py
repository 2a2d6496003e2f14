# Questions set aside about gradients that are None or not what they should be.

# ======== https://forums.fast.ai/t/why-does-the-nll-has-grad-fn-while-accuracy-doesnt/50891
# asked = """The loss and the accuracy are computed from the same output. Why has only the loss a \
#   grad_fn?"""
# accepted = """argmax gives indices and has no derivative, so accuracy cannot be trained on; use \
#   a differentiable loss such as cross-entropy."""
# shows = "does not require grad"
# answers = ["history.none", "history.cut"]
# says = ["argmax*", "line 9", ["cross_entropy", "cross-entropy", "softmax*"]]
# --------
import torch
import torch.nn.functional as F

torch.manual_seed(3)
layer = torch.nn.Linear(4, 3)
batch, labels = torch.randn(6, 4), torch.tensor([0, 2, 1, 1, 0, 2])
scores = layer(batch)
print(F.cross_entropy(scores, labels).grad_fn is None)
accuracy = (scores.argmax(dim=1) == labels).float().mean()
(1 - accuracy).backward()

# ======== https://discuss.pytorch.org/t/trying-to-understand-why-output-of-nn-linear-for-output-layer-isnt-retaining/40116
# asked = """The weights get gradients. Why is .grad of the last layer's output None, when nothing \
#   comes after it?"""
# accepted = """Only leaf tensors keep .grad. The output of a layer was computed, so it is no \
#   leaf: call retain_grad() on it before backward."""
# shows = "None"
# answers = ["none.non-leaf"]
# says = ["output", "leaf", "retain_grad"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
hidden_to_out = nn.Linear(3, 2)
output = hidden_to_out(torch.ones(1, 3))
loss = (output - 1.0).pow(2).mean()
loss.backward()
print(hidden_to_out.weight.grad.shape)
print(output.grad)

# ======== https://github.com/pytorch/pytorch/issues/49236
# asked = "I detached b in place before backward. Why does a still receive a gradient?"
# accepted = """c was computed before and its graph stays as it is; detach_ only affects what is \
#   computed from b afterwards. Detach before using it."""
# shows = "tensor([3., 3.])"
# answers = ["history.late"]
# says = ["detach_", "line 6", ["before", "already"]]
# --------
import torch

a = torch.ones(2, requires_grad=True)
b = 3.0 * a
c = b.sum()
b.detach_()
c.backward()
print(a.grad)

# ======== https://discuss.pytorch.org/t/can-not-create-a-new-calculation-graph-after-the-backward-propagation/45026
# asked = """Several losses use the features of one shared network. The second backward fails: why \
#   is there no new graph?"""
# accepted = """Both losses share the features' part of the graph, which the first backward frees. \
#   Add the losses and call backward once, or retain the graph at the first call."""
# shows = "backward through the graph a second time"
# answers = ["twice.shared", "backward.twice"]
# says = ["features", ["critic_loss + actor_loss", "add*", "sum"], "retain_graph"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
shared = nn.Linear(4, 3)
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
features = torch.tanh(shared(torch.randn(5, 4)))
critic_loss = critic(features).pow(2).mean()
actor_loss = actor(features).mean()
critic_loss.backward()
actor_loss.backward()

# ======== https://github.com/pytorch/pytorch/issues/36470
# asked = """Each element of a tensor is computed from the one before and not changed later. Why \
#   is it 'modified by an inplace operation'?"""
# accepted = """All elements share one tensor: writing f[i] changes the tensor that was saved when \
#   f[i-1] was read. Collect the values in a list and torch.stack them."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["f", "line 7", ["list", "torch.stack"]]
# --------
import torch

x = torch.tensor(0.5, requires_grad=True)
f = torch.zeros(5)
f[0] = 1.0
for i in range(1, 5):
    f[i] = torch.sigmoid(f[i - 1] * x)
f.sum().backward()

# ======== https://github.com/pytorch/examples/pull/779
# asked = """p.add_(-lr * p.grad) raises 'a leaf Variable that requires grad': how does one update \
#   by hand?"""
# accepted = "The update must not be recorded: do it under torch.no_grad() (or use an optimizer)."
# shows = "a leaf Variable that requires grad is being used in an in-place operation"
# answers = ["error", "inplace.leaf"]
# says = [["p", "model.weight"], "line 8", "no_grad"]
# --------
import torch

torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
loss = model(torch.ones(3, 2)).pow(2).mean()
loss.backward()
for p in model.parameters():
    p.add_(p.grad, alpha=-0.1)

# ======== https://github.com/cybertronai/autograd-hacks/issues/8
# asked = "My model returns a vector, and I need the gradient of one element. How?"
# accepted = "Call backward on a scalar: output[i].backward(), or the sum, or pass gradient=."
# shows = "grad can be implicitly created only for scalar outputs"
# answers = ["backward.scalar"]
# says = ["output", "line 7", ["4", "(4,)"], ["sum", "output["]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 4)
output = model(torch.ones(3))
output.backward()

# ======== https://github.com/pytorch/pytorch/pull/79767
# asked = "A hook and retain_grad were set before an in-place change, and they disagree. Why?"
# accepted = """The hook belongs to the value before the change, retain_grad follows the tensor to \
#   the new value. Register hooks after in-place changes."""
# shows = "[tensor([2.])] tensor([1.])"
# answers = ["hooks.version"]
# says = ["hook", "line 5", "line 7", ["before", "old"]]
# --------
import torch

a = torch.tensor([1.0], requires_grad=True).clone()
seen = []
a.register_hook(seen.append)
a.retain_grad()
a.mul_(2)
out = (a + 1).sum()
out.backward()
print(seen, a.grad)

# ======== https://github.com/cwmok/DIRAC/issues/13
# asked = "Does the mask loss, which counts what lies above a threshold, take part in training?"
# accepted = """No: a comparison has no derivative and gives a tensor without history. Use \
#   something continuous, such as relu(flow.abs() - threshold)."""
# shows = "None False"
# answers = ["none.cut"]
# says = ["threshold", "line 6", ["compar*", ">"], ["relu*", "sigmoid", "continuous", "smooth"]]
# --------
import torch

torch.manual_seed(0)
flow = torch.randn(6, requires_grad=True)
threshold = torch.tensor(0.3, requires_grad=True)
occlusion = (flow.abs() > threshold).float().mean()
similarity = (flow - 1.0).pow(2).mean()
loss = similarity + occlusion
loss.backward()
print(threshold.grad, occlusion.requires_grad)

# ======== https://github.com/pytorch/pytorch/issues/7322
# asked = "With torch.ge in the middle of forward no gradient reaches the layers before. A bug?"
# accepted = "No: ge returns booleans, which cannot be differentiated. A sigmoid is a soft version."
# shows = "None"
# answers = ["none.cut"]
# says = ["first", "line 6", ["ge", "compar*"], ["sigmoid", "relu*", "smooth", "soft"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
first, last = nn.Linear(3, 4), nn.Linear(4, 1)
attention = torch.ge(first(torch.randn(5, 3)), 0.0).float()
loss = (last(attention) - 1.0).pow(2).mean()
loss.backward()
print(first.weight.grad)

# ======== https://github.com/NVlabs/diff-dope/issues/1
# asked = "With the mask as the only loss the pose gets no gradient. Is it the greater-than?"
# accepted = """Yes, the result of a comparison has no history. Use a differentiable mask such as \
#   a steep sigmoid."""
# shows = "does not require grad"
# answers = ["history.none", "history.cut"]
# says = ["mask", "line 5", ["compar*", ">"], ["sigmoid", "smooth", "soft", "relu*"]]
# --------
import torch

pose = torch.tensor([0.2, 0.6], requires_grad=True)
pixels = torch.stack([pose[0] * 2, pose[1] - 0.1, pose.sum()])
mask = (pixels > 0.5).float()
target = torch.tensor([1.0, 1.0, 0.0])
loss = (mask - target).abs().mean()
loss.backward()

# ======== https://github.com/pytorch/pytorch/issues/7860
# asked = "x.detach().zero_() also sets x to 0, and backward does not complain. Why?"
# accepted = """detach shares the memory, so x is changed. The multiplication has saved a and b, \
#   not its result, so backward can still run. Clone first."""
# shows = "tensor([0., 0.]"
# answers = ["inplace.unseen", "inplace.shared"]
# says = ["x", "line 6", ["same memory", "share", "also"], "clone"]
# --------
import torch

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([2.0, 3.0], requires_grad=True)
x = a * b
x.detach().zero_()
out = x.sum()
out.backward()
print(x, a.grad)

# ======== https://github.com/zergtant/pytorch-handbook/issues/69
# asked = "Should the backward of this multiplication not contain the constant?"
# accepted = """Yes: the derivative is the constant, so it must be grad_output * ctx.constant; the \
#   gradient is 5 times too small."""
# shows = "tensor([1., 1., 1.])"
# answers = ["function.wrong", "check.differs"]
# says = ["MulConstant", "backward", "5", "1"]
# --------
import torch

class MulConstant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None

a = torch.ones(3, requires_grad=True)
b = MulConstant.apply(a, 5.0)
b.sum().backward()
print(a.grad)
