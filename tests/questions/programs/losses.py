# Questions about losses that do not measure what they should.

# ======== https://github.com/avBuffer/UNet3plus_pth/issues/23
# asked = "The BCE loss does not decrease; forward ends with F.sigmoid. Is that the reason?"
# accepted = "Yes, the loss applies the sigmoid itself: return the scores."
# shows = "tensor(0.7"
# answers = ["silent.sigmoid", "silent.softmax"]
# says = ["line 11", "sigmoid", ["twice", "itself", "already"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x):
        return F.sigmoid(self.conv(x))

torch.manual_seed(0)
net, criterion = Net(), nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
image = torch.randn(2, 1, 8, 8)
mask = (image > 0).float()
for epoch in range(3):
    loss = criterion(net(image), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss)

# ======== https://github.com/PetrochukM/PyTorch-NLP/issues/2
# asked = "Why are the attention weights 1 whatever goes in?"
# accepted = "The softmax runs over the batch dimension, which has one element; use dim=-1."
# shows = "tensor([[1., 1.]]"
# answers = ["zero.softmax", "zero.flat"]
# says = ["query", ["softmax", "weights"], "line 8", ["dim=1", "dim=-1", "dim"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
query = torch.randn(1, 1, 3, requires_grad=True)
context = torch.randn(1, 2, 3)
scores = torch.bmm(query, context.transpose(1, 2)).view(1, 2)
weights = nn.Softmax(dim=0)(scores)
mix = torch.bmm(weights.view(1, 1, 2), context)
loss = mix.pow(2).sum()
loss.backward()
print(weights, query.grad)

# ======== https://github.com/higgsfield-ai/higgsfield/issues/24
# asked = """log_probs has 80 elements and the advantage 80 x 1; the product is 80 x 80. Is that \
#   right?"""
# accepted = "No: both need the same shape, [80] or [80, 1]."
# shows = "torch.Size([8, 8])"
# answers = ["silent.broadcast"]
# says = ["log_probs", "line 10", ["8, 8", "8 × 8", "64"], "shape"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
policy, value = nn.Linear(3, 2), nn.Linear(3, 1)
obs, returns = torch.randn(8, 3), torch.randn(8, 1)
dist = torch.distributions.Categorical(logits=policy(obs))
log_probs = dist.log_prob(dist.sample())
advantage = returns - value(obs)
actor_loss = -(log_probs * advantage.detach()).mean()
critic_loss = advantage.pow(2).mean()
loss = actor_loss + 0.5 * critic_loss
loss.backward()
print((log_probs * advantage).shape, policy.weight.grad)

# ======== https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/33
# asked = "The value is squeezed for its own loss, but not in the advantage. Is that a bug?"
# accepted = """The shapes [6] and [6, 1] broadcast to [6, 6], so each action is weighted with the \
#   advantages of all states. Squeeze the value there too."""
# shows = "torch.Size([6, 6])"
# answers = ["silent.broadcast"]
# says = ["adv", "line 12", ["6, 6", "36"], ["squeeze", "shape"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
trunk, head = nn.Linear(4, 3), nn.Linear(4, 1)
states, actions = torch.randn(6, 4), torch.tensor([0, 2, 1, 1, 0, 2])
vals_ref = torch.randn(6)
logits, value = trunk(states), head(states)
loss_value = F.mse_loss(value.squeeze(-1), vals_ref)
log_prob = F.log_softmax(logits, dim=1)
adv = vals_ref - value.detach()
loss_policy = -(adv * log_prob[range(6), actions]).mean()
loss = loss_policy + loss_value
loss.backward()
print(adv.shape)

# ======== https://github.com/liuruijin17/LSTR/issues/50
# asked = "With num_classes=1 all target classes are 1. Is the cross entropy not always 0?"
# accepted = """Yes: the background has the same class as the lanes, so all targets are equal, and \
#   a constant prediction is perfect."""
# shows = "tensor([1])"
# answers = ["loss.one_class"]
# says = ["target", ["class 1", "is 1"], "line 13", ["same", "all", "only", "one"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
num_classes = 1
head = nn.Linear(4, num_classes + 1)
optimizer = torch.optim.Adam(head.parameters(), lr=0.5)
for step in range(30):
    logits = head(torch.randn(2, 7, 4))
    target = torch.full((2, 7), num_classes)
    target[:, :3] = 1
    loss = F.cross_entropy(logits.transpose(1, 2), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss, logits.argmax(-1).unique())

# ======== https://github.com/open-mmlab/mmsegmentation/issues/2201
# asked = "In binary segmentation with one output channel the CrossEntropyLoss is always 0."
# accepted = """The softmax over a single channel is always 1. Use two channels, or one with a \
#   binary cross entropy."""
# shows = "tensor(0."
# answers = ["zero.softmax", "zero.flat", "zero.cross_entropy"]
# also = ["accumulation.added", "order.step"]
# says = ["decode.weight", ["one", "single"], ["cross_entropy", "softmax", "cross-entropy"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
decode = nn.Conv2d(3, 1, 1)
criterion = nn.CrossEntropyLoss()
image = torch.randn(2, 3, 4, 4)
mask = torch.zeros(2, 4, 4, dtype=torch.long)
for step in range(2):
    loss = criterion(decode(image), mask)
    loss.backward()
    print(loss, decode.weight.grad.abs().sum())

# ======== https://github.com/pytorch/pytorch/issues/2623
# asked = "Why are the values of my NLL loss negative?"
# accepted = "NLLLoss expects logarithms of probabilities: use LogSoftmax."
# shows = "-0."
# answers = ["loss.logarithm"]
# says = ["line 10", ["LogSoftmax", "log_softmax"], "logarithm"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
i2o, softmax = nn.Linear(5, 3), nn.Softmax(dim=1)
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(i2o.parameters(), lr=0.1)
x, category = torch.randn(6, 5), torch.tensor([0, 1, 2, 2, 1, 0])
for step in range(3):
    output = softmax(i2o(x))
    loss = criterion(output, category)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())

# ======== https://github.com/wonbeomjang/mobile-hair-segmentation-pytorch/issues/3
# asked = "ImageGradientLoss takes the argmax of the prediction. Can it train anything?"
# accepted = "No: argmax is not differentiable. Take the channel of the hair itself."
# shows = "True"
# answers = ["none.cut", "cut.constant", "history.cut"]
# says = ["argmax", "line 9", ["differentiable", "gradient"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Conv2d(3, 2, 1)
image, mask = torch.randn(2, 3, 5, 5), torch.randint(0, 2, (2, 5, 5))
pred = net(image)
hair = pred.argmax(1).float()
edges = (hair[:, 1:] - hair[:, :-1]).abs()
gradient_loss = (edges * image[:, 0, 1:].abs()).mean()
loss = F.cross_entropy(pred, mask) + gradient_loss
loss.backward()
with_edges = net.weight.grad.clone()
net.zero_grad()
F.cross_entropy(net(image), mask).backward()
print(torch.equal(with_edges, net.weight.grad), gradient_loss)
