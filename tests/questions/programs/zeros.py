# Questions about gradients that are zero.

# ======== https://github.com/pytorch/pytorch/issues/31396
# asked = "The gradients of a softmax classifier are all 0 on these data. I cannot see why."
# accepted = """Prediction and target are equal already: the loss is at its minimum, and a \
#   gradient of 0 is correct there."""
# shows = "0.0 tensor([[0., 0.]"
# answers = ["zero.minimum", "zero.flat"]
# says = ["minimum", ["equal", "equals", "target"]]
# --------
import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=-1))
with torch.no_grad():
    model[0].weight.copy_(torch.tensor([[-30.0, -30.0], [30.0, 30.0]]))
    model[0].bias.zero_()
probabilities = model(torch.tensor([2.0, 3.0]))
loss = nn.BCELoss()(probabilities, torch.tensor([0.0, 1.0]))
loss.backward()
print(loss.item(), model[0].weight.grad)

# ======== https://github.com/pytorch/pytorch/issues/184574
# asked = "relu6 is clamp to [0, 6]. Why do they disagree about the gradient at 6?"
# accepted = """The function has a corner there, and neither slope is wrong: each operation has \
#   its own convention, 0 for relu6 and 1 for clamp."""
# shows = "tensor(0.) tensor(1.)"
# answers = ["corner", "zero.flat", "zero.corner"]
# says = [
#   ["corner", "bend", "kink"],
#   ["clamp", "relu6"],
#   ["convention", "chooses", "either", "between"],
# ]
# never = ["lies outside", "is 6, outside"]
# --------
import torch
import torch.nn.functional as F

a = torch.tensor(6.0, requires_grad=True)
F.relu6(a).backward()
b = torch.tensor(6.0, requires_grad=True)
torch.clamp(b, 0.0, 6.0).backward()
print(a.grad, b.grad)

# ======== https://github.com/pytorch/pytorch/issues/184572
# asked = "maximum(x, 0) gives gradient 0.5 at 0, relu gives 0: which one is right?"
# accepted = """There is a corner at 0. For a tie, maximum shares the gradient between both \
#   inputs; relu uses 0 by convention."""
# shows = "tensor(0.5000)"
# answers = ["corner.tie", "zero.corner"]
# says = ["maximum", ["tie", "equal"], ["half", "shared", "share", "0.5"]]
# --------
import torch

x = torch.tensor(0.0, requires_grad=True)
hinge = torch.maximum(x, torch.tensor(0.0))
hinge.backward()
print(x.grad)

# ======== https://github.com/yz93/LAVT-RIS/issues/25
# asked = "The gate's last layer starts at zero. Do the layers before it get any gradient?"
# accepted = """With both layers at zero each layer's gradient is multiplied by the other's zeros, \
#   and none of them learns. Only one of them may start at zero."""
# shows = "tensor(0.) tensor(0.)"
# answers = ["zero.weights", "zero.flat"]
# says = [
#   ["weight is 0", "weights are 0", "weights are all 0", "all zero", "is zero", "are zero", "zeros"],
#   ["random*", "initial*"],
# ]
# never = ["cancel"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
gate = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 2, bias=False), nn.Tanh())
nn.init.zeros_(gate[0].weight)
nn.init.zeros_(gate[2].weight)
loss = (gate(torch.randn(5, 3)) - 1.0).pow(2).mean()
loss.backward()
print(gate[0].weight.grad.abs().max(), gate[2].weight.grad.abs().max())

# ======== https://github.com/smallflyingpig/universal_adversarial_perturbation_generative_network_for_speaker_recognition/issues/4
# asked = "If the last layer starts with zero weights, are the gradients of all layers zero?"
# accepted = """Only those before it, as their gradient is multiplied by the zero weights. The \
#   last layer learns at the first step, the others afterwards."""
# shows = "[0., 0.]"
# answers = ["zero.weights", "zero.flat"]
# says = ["body", "head", ["weights are 0", "weight is 0", "all 0", "only 0", "zero weights"]]
# never = ["cancel"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(2, 3), nn.Linear(3, 1)
nn.init.zeros_(head.weight)
loss = (head(torch.tanh(body(torch.randn(6, 2)))) - 1.0).pow(2).mean()
loss.backward()
print(body.weight.grad, head.weight.grad)

# ======== https://github.com/wagonhelm/NaNmnist/issues/2
# asked = "What is wrong with initializing all weights with zero?"
# accepted = """Nothing distinguishes the neurons, and the zeros block the gradients: only the \
#   last bias learns. Initialize at random."""
# shows = "[0.0, 0.0, 0.0, 0.1"
# answers = ["zero.weights", "zero.flat"]
# says = [["weight", "relu*"], ["zero", "is 0", "are 0", "all 0"], ["random*", "initial*"]]
# never = ["cancel"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
for parameter in network.parameters():
    nn.init.zeros_(parameter)
loss = nn.functional.cross_entropy(network(torch.randn(6, 3)), torch.tensor([0, 1, 1, 1, 0, 1]))
loss.backward()
print([p.grad.abs().max().item() for p in network.parameters()])

# ======== https://github.com/nndl/nndl-discussion/issues/14
# asked = "All weights start at the same number. Why do the hidden neurons stay identical?"
# accepted = """Equal weights get equal gradients at every step, so the layer acts as one neuron. \
#   Start with random weights."""
# shows = "requires_grad=True"
# answers = ["symmetric.weights"]
# says = [["same", "equal", "identical"], ["row", "neuron", "unit"], "random"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
for p in net.parameters():
    nn.init.constant_(p, 0.5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 2)
for _ in range(4):
    loss = (net(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(net[0].weight)

# ======== https://github.com/falloutdurham/beginners-pytorch-deep-learning/pull/36
# asked = "With softmax(dim=0) both classes of one image have probability 1. Which dim is right?"
# accepted = """dim=0 is the batch of one image: softmax over a single element is always 1 and has \
#   no gradient. Use dim=1, over the classes."""
# shows = "[[1., 1.]]"
# answers = ["zero.softmax", "zero.flat"]
# says = ["softmax*", ["one element", "single element", "size 1", "over 1 "], ["dim=1", "dim=-1"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
classifier = nn.Linear(3, 2)
scores = classifier(torch.randn(1, 3))
p = torch.softmax(scores, dim=0)
loss = -torch.log(p[0, 1])
loss.backward()
print(p, classifier.weight.grad)

# ======== https://github.com/DLR-RM/stable-baselines3/issues/2096
# asked = """With rsample the gradient of log_prob with respect to the mean is zero. Is something \
#   broken?"""
# accepted = """No: the sample is mean + noise, and log_prob depends on sample − mean, so the two \
#   paths cancel. For a policy gradient use sample()."""
# shows = "tensor([0., 0.])"
# answers = ["zero.cancels"]
# says = ["mean", ["cancel*", "two paths", "opposite"], ["sample", "detach*"]]
# --------
import torch

torch.manual_seed(0)
mean = torch.tensor([0.2, -0.4], requires_grad=True)
policy = torch.distributions.Normal(mean, 1.0)
action = policy.rsample()
log_prob = policy.log_prob(action).sum()
log_prob.backward()
print(mean.grad)

# ======== https://github.com/pytorch/pytorch/issues/39435
# asked = """BCEWithLogitsLoss and BCELoss(sigmoid) differ a lot for a large logit. Which one is \
#   right?"""
# accepted = """sigmoid(193) rounds to 1 in float32, so its slope is 0 and the logarithm is cut \
#   off at −100. binary_cross_entropy_with_logits is exact."""
# shows = "tensor([0.])"
# answers = ["zero.flat", "zero.saturated"]
# says = [
#   "sigmoid",
#   ["flat", "saturat*", "rounds to 1"],
#   ["binary_cross_entropy_with_logits", "BCEWithLogitsLoss"],
# ]
# --------
import torch
import torch.nn.functional as F

logit = torch.tensor([193.4], requires_grad=True)
loss = F.binary_cross_entropy(torch.sigmoid(logit), torch.tensor([0.0]))
loss.backward()
print(loss, logit.grad)
print(F.binary_cross_entropy_with_logits(logit, torch.tensor([0.0])))

# ======== https://github.com/tinygrad/tinygrad/pull/15925
# asked = "What does torch do with the gradient of round and trunc?"
# accepted = """It is 0 everywhere: rounding is a staircase. To train through it use a \
#   straight-through estimator."""
# shows = "tensor([0., 0.])"
# answers = ["zero.flat", "zero.rounding"]
# says = [
#   "round",
#   "line 4",
#   ["step", "stair", "constant", "flat"],
#   ["straight-through", "straight through", "x + (", "detach*"],
# ]
# --------
import torch

x = torch.tensor([0.3, 1.7], requires_grad=True)
quantized = torch.round(x * 4) / 4
quantized.sum().backward()
print(x.grad)

# ======== https://github.com/Hiyuur/SR-TOD/issues/5
# asked = "A learnable threshold inside torch.sign: can it be trained?"
# accepted = """No: the derivative of sign is 0 everywhere. Use a steep sigmoid or a \
#   straight-through estimator."""
# shows = "tensor(0.)"
# answers = ["zero.flat", "zero.rounding"]
# says = [
#   "sign",
#   "line 6",
#   ["constant", "flat", "step", "0 everywhere"],
#   ["sigmoid", "straight-through", "straight through", "smooth", "tanh*"],
# ]
# --------
import torch

torch.manual_seed(0)
threshold = torch.nn.Parameter(torch.tensor(0.4))
difference = torch.rand(5)
mask = (torch.sign(difference - threshold) + 1) * 0.5
loss = (mask - 1.0).pow(2).mean()
loss.backward()
print(threshold.grad)

# ======== https://github.com/ultralytics/yolov3/issues/191
# asked = "With one class the classification loss is always 0. Does it matter?"
# accepted = """softmax over a single class is always 1, so there is nothing to learn. Add a \
#   class, or use a binary loss."""
# shows = "[[0., 0., 0., 0.]]"
# answers = ["zero.softmax", "zero.flat", "zero.minimum"]
# says = [
#   "line 7",
#   ["one class", "single class", "1 class", "one element"],
#   ["two classes", "second class", "binary", "BCE", "binary_cross_entropy_with_logits"],
# ]
# --------
import torch
from torch import nn

torch.manual_seed(0)
classify = nn.Linear(4, 1)
scores = classify(torch.randn(6, 4))
loss = nn.CrossEntropyLoss()(scores, torch.zeros(6, dtype=torch.long))
loss.backward()
print(loss, classify.weight.grad)
