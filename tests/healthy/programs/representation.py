# Contrastive learning, and targets that get no gradient.
#
# Of these programs nothing may be said.

# ======== knowledge distillation
import torch
import torch.nn.functional as F
from torch import nn

teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
student = nn.Linear(8, 4)
teacher.eval()
optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
T, alpha = 3.0, 0.7
x, labels = torch.randn(40, 8), torch.randint(0, 4, (40,))
for epoch in range(8):
    with torch.no_grad():
        teacher_logits = teacher(x)
    student_logits = student(x)
    soft = F.kl_div(F.log_softmax(student_logits / T, dim=1),
                    F.softmax(teacher_logits / T, dim=1), reduction="batchmean") * T * T
    hard = F.cross_entropy(student_logits, labels)
    loss = alpha * soft + (1 - alpha) * hard
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{epoch}: {loss.item():.4f} = {soft.item():.4f}, {hard.item():.4f}")

# ======== SimSiam
# The projection of the other view is detached: without that stop-gradient SimSiam collapses.
import torch
import torch.nn.functional as F
from torch import nn

class SimSiam(nn.Module):
    def __init__(self, dim=8, pred=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, dim), nn.BatchNorm1d(dim), nn.ReLU(),
                                     nn.Linear(dim, dim))
        self.predictor = nn.Sequential(nn.Linear(dim, pred), nn.ReLU(), nn.Linear(pred, dim))

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()

model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
data = torch.randn(32, 6)
for step in range(8):
    x1, x2 = data + 0.1 * torch.randn_like(data), data + 0.1 * torch.randn_like(data)
    p1, p2, z1, z2 = model(x1, x2)
    loss = -(F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean()) * 0.5
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== BYOL with a momentum encoder
import copy
import torch
import torch.nn.functional as F
from torch import nn

online = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 4))
predictor = nn.Linear(4, 4)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=0.01)
m = 0.9
for step in range(8):
    x = torch.randn(16, 6)
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    with torch.no_grad():
        goal = F.normalize(target(b), dim=1)
    prediction = F.normalize(predictor(online(a)), dim=1)
    loss = (2 - 2 * (prediction * goal).sum(dim=1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for po, pt in zip(online.parameters(), target.parameters()):
            pt.data = pt.data * m + po.data * (1.0 - m)
print(loss.item())

# ======== contrastive loss over all pairs
# Every view is compared with every other on purpose: an (n, n) matrix of similarities.
import torch
import torch.nn.functional as F
from torch import nn

def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    similarity = z @ z.t() / temperature
    similarity = similarity.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    return F.cross_entropy(similarity, targets)

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(12, 5)
for step in range(10):
    loss = nt_xent(net(x + 0.1 * torch.randn_like(x)), net(x + 0.1 * torch.randn_like(x)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== CLIP
import torch
import torch.nn.functional as F
from torch import nn

class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.image_encoder = nn.Linear(10, 6)
        self.text_encoder = nn.Embedding(20, 6)
        self.logit_scale = nn.Parameter(torch.tensor(2.6593))

    def forward(self, images, texts):
        i = F.normalize(self.image_encoder(images), dim=-1)
        t = F.normalize(self.text_encoder(texts).mean(dim=1), dim=-1)
        return self.logit_scale.exp() * i @ t.t()

model = CLIP()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
images, texts = torch.randn(8, 10), torch.randint(0, 20, (8, 5))
labels = torch.arange(8)
for step in range(10):
    logits = model(images, texts)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, 4.6052)
print(loss.item(), model.logit_scale.item())

# ======== triplet loss
# Triplets that already keep the margin have a gradient of 0.
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
criterion = nn.TripletMarginLoss(margin=1.0)
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
classes = torch.arange(24) % 3
data = torch.randn(24, 4) + 2 * nn.functional.one_hot(classes, 4)
for step in range(10):
    anchor, positive = data, data[torch.arange(24).roll(3)]
    negative = data[torch.arange(24).roll(1)]
    loss = criterion(net(anchor), net(positive), net(negative))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
