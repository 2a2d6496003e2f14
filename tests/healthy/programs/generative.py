# Generative models: autoencoders, quantisation, flows, diffusion.
#
# Of these programs nothing may be said.

# ======== autoencoder
import torch
from torch import nn

class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 6), nn.ReLU(True), nn.Linear(6, 2))
        self.decoder = nn.Sequential(nn.Linear(2, 6), nn.ReLU(True), nn.Linear(6, 12), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))

torch.manual_seed(0)
data = torch.rand(40, 12)
model = Autoencoder()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
for epoch in range(10):
    for x in data.split(10):
        noisy = x + 0.1 * torch.randn_like(x)
        output = model(noisy)
        loss = criterion(output, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch [{}/{}], loss:{:.4f}".format(epoch + 1, 10, loss.item()))

# ======== variational autoencoder
import torch
import torch.nn.functional as F
from torch import nn, optim

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 12)
        self.fc21 = nn.Linear(12, 2)
        self.fc22 = nn.Linear(12, 2)
        self.fc3 = nn.Linear(2, 12)
        self.fc4 = nn.Linear(12, 16)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 16))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 16), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD

data = (torch.rand(24, 1, 4, 4) > 0.7).float()
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-2)

def train(epoch):
    model.train()
    train_loss = 0
    for batch in data.split(8):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(batch)
        loss = loss_function(recon_batch, batch, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    return train_loss / len(data)

losses = [train(epoch) for epoch in range(1, 9)]
with torch.no_grad():
    sample = model.decode(torch.randn(3, 2))
print(losses, sample.shape)
assert losses[-1] < losses[0]

# ======== vector quantisation with a straight-through estimator
# argmin picks the code; z + (q - z).detach() lets the gradient of q pass to z.
import torch
import torch.nn.functional as F
from torch import nn

class Quantizer(nn.Module):
    def __init__(self, codes, dim, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        self.codebook.weight.data.uniform_(-1, 1)
        self.beta = beta

    def forward(self, z):
        distances = (z.pow(2).sum(1, keepdim=True) - 2 * z @ self.codebook.weight.t()
                     + self.codebook.weight.pow(2).sum(1))
        index = distances.argmin(dim=1)
        q = self.codebook(index)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, loss, index

encoder, decoder, vq = nn.Linear(6, 2), nn.Linear(2, 6), Quantizer(8, 2)
parameters = [*encoder.parameters(), *decoder.parameters(), *vq.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.02)
x = torch.randn(32, 6)
for step in range(20):
    q, vq_loss, index = vq(encoder(x))
    loss = F.mse_loss(decoder(q), x) + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 0:
        first = loss.item()
print(first, loss.item(), index.unique().numel())
assert encoder.weight.grad.abs().sum() > 0

# ======== Gumbel softmax
import torch
import torch.nn.functional as F

torch.manual_seed(0)
logits = torch.zeros(4, requires_grad=True)
reward = torch.tensor([0.1, 0.9, 0.3, 0.2])
optimizer = torch.optim.Adam([logits], lr=0.2)
tau = 1.0
for step in range(40):
    sample = F.gumbel_softmax(logits.expand(16, 4), tau=tau, hard=True)
    loss = -(sample * reward).sum(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tau = max(0.3, tau * 0.98)
print(F.softmax(logits.detach(), dim=0))
assert logits.argmax().item() == 1

# ======== denoising diffusion
import torch
from torch import nn

T = 20
beta = torch.linspace(1e-3, 0.2, T)
alpha = 1 - beta
alpha_bar = torch.cumprod(alpha, dim=0)
model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

def predict(x, t):
    return model(torch.cat([x, t.float().unsqueeze(1) / T], dim=1))

for step in range(30):
    x0 = torch.randn(64, 2) * 0.1 + torch.tensor([1.0, -1.0])
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t].unsqueeze(1)
    xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
    loss = nn.functional.mse_loss(predict(xt, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i)
        eps = predict(x, t)
        x = (x - beta[i] / (1 - alpha_bar[i]).sqrt() * eps) / alpha[i].sqrt()
        if i > 0:
            x = x + beta[i].sqrt() * torch.randn_like(x)
    return x

print(loss.item(), sample(5))

# ======== affine coupling flow
import math
import torch
from torch import nn

class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
        self.flip = flip

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], dim=1), s.sum(dim=1)

layers = nn.ModuleList([Coupling(False), Coupling(True), Coupling(False)])
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-2)
x = torch.randn(64, 1)
data = torch.cat([x, x ** 2 + 0.1 * torch.randn(64, 1)], dim=1)
for step in range(25):
    z, log_det = data, torch.zeros(64)
    for layer in layers:
        z, ld = layer(z)
        log_det = log_det + ld
    log_prob = -0.5 * (z ** 2 + math.log(2 * math.pi)).sum(dim=1) + log_det
    loss = -log_prob.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 0:
        first = loss.item()
assert loss.item() < first
