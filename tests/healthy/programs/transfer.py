# Fine-tuning: parts that are frozen, heads, adapters.
#
# Of these programs nothing may be said.

# ======== frozen backbone, new head
import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
for param in backbone.parameters():
    param.requires_grad = False
model = nn.Sequential(backbone, nn.Linear(24, 2))
optimizer = torch.optim.SGD(
    filter(lambda p: p.requires_grad, model.parameters()), lr=0.1, momentum=0.9)
images, labels = torch.randn(10, 3, 8, 8), torch.arange(10) % 2
before = backbone[0].weight.clone()
for epoch in range(6):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
assert torch.equal(before, backbone[0].weight)
print(sum(p.numel() for p in model.parameters() if p.requires_grad), "trainable")

# ======== optimizer of the head alone
# A linear probe: only the head is trained, on features that are computed under no_grad.
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        with torch.no_grad():
            features = self.body(x)
        return self.head(features)

net = Net()
optimizer = torch.optim.Adam(net.head.parameters(), lr=0.05)
x, y = torch.randn(30, 5), torch.randint(0, 3, (30,))
for step in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== unfrozen later by add_param_group
import torch
from torch import nn

body = nn.Linear(4, 8)
head = nn.Linear(8, 1)
body.requires_grad_(False)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
x = torch.randn(20, 4)
y = x.sum(dim=1, keepdim=True)
for epoch in range(12):
    if epoch == 6:
        body.requires_grad_(True)
        optimizer.add_param_group({"params": body.parameters(), "lr": 0.02})
    loss = nn.functional.mse_loss(head(torch.tanh(body(x))), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

# ======== a rate for each part
import torch
from torch import nn

model = nn.ModuleDict({"backbone": nn.Linear(6, 12), "neck": nn.Linear(12, 12),
                       "classifier": nn.Linear(12, 2)})
optimizer = torch.optim.SGD([
    {"params": model["backbone"].parameters(), "lr": 1e-3},
    {"params": model["neck"].parameters()},
    {"params": model["classifier"].parameters(), "lr": 1e-1, "momentum": 0.9},
], lr=1e-2)
x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
for step in range(8):
    h = torch.relu(model["backbone"](x))
    h = torch.relu(model["neck"](h))
    loss = nn.functional.cross_entropy(model["classifier"](h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print([group["lr"] for group in optimizer.param_groups], loss.item())

# ======== low-rank adapters
# B starts at 0, so A has a gradient of 0 in the very first step: that is how LoRA begins.
import torch
from torch import nn

class LoRALinear(nn.Module):
    def __init__(self, linear, rank=2, alpha=4):
        super().__init__()
        self.linear = linear
        self.linear.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, linear.in_features) * 0.1)
        self.B = nn.Parameter(torch.zeros(linear.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.linear(x) + self.scale * (x @ self.A.T @ self.B.T)

torch.manual_seed(0)
model = nn.Sequential(LoRALinear(nn.Linear(6, 6)), nn.Tanh(), LoRALinear(nn.Linear(6, 1)))
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=0.05)
x = torch.randn(32, 6)
y = x[:, :1] - x[:, 1:2]
for step in range(15):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 0:
        first = loss.item()
print(first, loss.item())
assert loss.item() < first

# ======== pseudo-labels
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
labelled = torch.tensor([[2.0, 2.0], [-2.0, -2.0]])
labels = torch.tensor([0, 1])
unlabelled = torch.cat([torch.randn(20, 2) + 2, torch.randn(20, 2) - 2])
for step in range(15):
    sup = F.cross_entropy(model(labelled), labels)
    with torch.no_grad():
        weak = F.softmax(model(unlabelled + 0.05 * torch.randn_like(unlabelled)), dim=1)
        confidence, pseudo = weak.max(dim=1)
        mask = (confidence > 0.6).float()
    strong = model(unlabelled + 0.3 * torch.randn_like(unlabelled))
    unsup = (F.cross_entropy(strong, pseudo, reduction="none") * mask).mean()
    loss = sup + unsup
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sup.item(), unsup.item(), mask.mean().item())

# ======== embeddings extracted without a backward
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
model.eval()
images = torch.randn(5, 6)
with torch.no_grad():
    logits = model(images)
probabilities = torch.softmax(logits, dim=1)
top, index = probabilities.topk(2, dim=1)
for p, i in zip(top, index):
    print([f"class {c}: {v:.2f}" for c, v in zip(i.tolist(), p.tolist())])
