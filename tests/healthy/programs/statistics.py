# Densities, distances and ranks, fitted by gradients.
#
# Of these programs nothing may be said.

# ======== mixture of two normal distributions
import math
import torch

torch.manual_seed(0)
data = torch.cat([torch.randn(60) * 0.5 - 2, torch.randn(40) + 2])
logits = torch.zeros(2, requires_grad=True)
means = torch.tensor([-1.0, 1.0], requires_grad=True)
log_std = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.Adam([logits, means, log_std], lr=0.1)
for step in range(40):
    z = (data[:, None] - means) / log_std.exp()
    log_prob = -0.5 * z ** 2 - log_std - 0.5 * math.log(2 * math.pi)
    nll = -torch.logsumexp(log_prob + torch.log_softmax(logits, 0), dim=1).mean()
    optimizer.zero_grad()
    nll.backward()
    optimizer.step()
print(means.detach(), log_std.exp().detach(), torch.softmax(logits, 0).detach())
assert means[0] < -1.5 < 1.5 < means[1]

# ======== kernel regression with a pairwise matrix
# (n, 1) − (1, m) is the matrix of all distances, meant so.
import torch

torch.manual_seed(0)
x_train = torch.rand(20).sort().values * 5
y_train = 2 * torch.sin(x_train) + 0.3 * torch.randn(20)
log_width = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.Adam([log_width], lr=0.1)
for step in range(20):
    d = x_train.unsqueeze(1) - x_train.unsqueeze(0)
    scores = -0.5 * (d / log_width.exp()) ** 2
    scores = scores.masked_fill(torch.eye(20, dtype=torch.bool), float("-inf"))
    attention = torch.softmax(scores, dim=1)
    loss = ((attention @ y_train - y_train) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(log_width.exp().item(), loss.item())

# ======== Gaussian process hyperparameters
import math
import torch

torch.manual_seed(0)
x = torch.linspace(0, 4, 12, dtype=torch.float64)
y = torch.sin(2 * x) + 0.05 * torch.randn(12, dtype=torch.float64)
log_params = torch.zeros(3, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([log_params], lr=0.1)
for step in range(25):
    length, scale, noise = log_params.exp()
    sq = (x[:, None] - x[None, :]) ** 2
    K = scale * torch.exp(-0.5 * sq / length ** 2) + (noise + 1e-6) * torch.eye(12)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y[:, None], L).squeeze(1)
    nll = 0.5 * y @ alpha + L.diagonal().log().sum() + 6 * math.log(2 * math.pi)
    optimizer.zero_grad()
    nll.backward()
    optimizer.step()
print(log_params.exp().tolist(), nll.item())

# ======== multidimensional scaling with a safe norm
# The distance of a point from itself is 0; + 1e-9 under the root keeps the gradient finite.
import torch

torch.manual_seed(0)
goal = torch.rand(7, 3)
wanted = torch.cdist(goal, goal)
points = torch.randn(7, 2, requires_grad=True)
optimizer = torch.optim.SGD([points], lr=0.05)
for step in range(40):
    d = points[:, None] - points[None]
    distance = torch.sqrt((d ** 2).sum(-1) + 1e-9)
    stress = ((distance - wanted) ** 2).mean()
    optimizer.zero_grad()
    stress.backward()
    optimizer.step()
print(stress.item())

# ======== variational inference
import torch
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)
data = torch.randn(30) + 3
mu = torch.tensor(0.0, requires_grad=True)
rho = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.Adam([mu, rho], lr=0.2)
prior = Normal(0.0, 10.0)
for step in range(80):
    q = Normal(mu, torch.nn.functional.softplus(rho))
    theta = q.rsample((8,))
    log_likelihood = Normal(theta[:, None], 1.0).log_prob(data).sum(1).mean()
    loss = kl_divergence(q, prior) - log_likelihood
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(mu.item(), torch.nn.functional.softplus(rho).item())
assert abs(mu.item() - data.mean().item()) < 0.5

# ======== soft k-means
import torch

torch.manual_seed(0)
centre_a, centre_b = torch.tensor([3.0, 0.0]), torch.tensor([-3.0, 0.0])
points = torch.cat([torch.randn(15, 2) + c for c in (centre_a, centre_b)])
centres = torch.randn(2, 2, requires_grad=True)
optimizer = torch.optim.Adam([centres], lr=0.2)
for step in range(25):
    distance = torch.cdist(points, centres)
    weight = torch.softmax(-distance, dim=1).detach()
    loss = (weight * distance ** 2).sum(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
labels = torch.cdist(points, centres.detach()).argmin(dim=1)
print(centres, labels)

# ======== learning to sort with a soft rank
import torch

scores = torch.tensor([0.3, 2.0, -1.0, 0.9], requires_grad=True)
relevance = torch.tensor([3.0, 0.0, 2.0, 1.0])
optimizer = torch.optim.SGD([scores], lr=0.5)
for step in range(30):
    difference = scores[:, None] - scores[None, :]
    better = (relevance[:, None] > relevance[None, :]).float()
    loss = (better * torch.nn.functional.softplus(-difference)).sum() / better.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(scores.detach().argsort(descending=True))
assert scores.argsort(descending=True).tolist() == relevance.argsort(descending=True).tolist()
