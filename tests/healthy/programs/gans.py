# Adversarial training: two networks, two optimizers.
#
# Of these programs nothing may be said.

# ======== GAN with two optimizers
# The fake batch is detached for the discriminator and not for the generator.
import torch
from torch import nn

torch.manual_seed(0)
latent = 4
G = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_G = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_D = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
for step in range(15):
    real = torch.randn(32, 2) * 0.5 + 2
    z = torch.randn(32, latent)
    fake = G(z)

    opt_D.zero_grad()
    d_real = bce(D(real), torch.ones(32, 1))
    d_fake = bce(D(fake.detach()), torch.zeros(32, 1))
    d_loss = (d_real + d_fake) / 2
    d_loss.backward()
    opt_D.step()

    opt_G.zero_grad()
    g_loss = bce(D(fake), torch.ones(32, 1))
    g_loss.backward()
    opt_G.step()
print(f"D {d_loss.item():.3f} G {g_loss.item():.3f}")

# ======== DCGAN step with two backward calls
# errD_real and errD_fake are added in .grad on purpose: backward is called for each.
import torch
from torch import nn

nz, ngf, ndf = 8, 4, 4
netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, 1, 4, 2, 1, bias=False), nn.Tanh())
netD = nn.Sequential(
    nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, 1, 4, 1, 0, bias=False), nn.Sigmoid())

def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)

netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(4, nz, 1, 1)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
G_losses, D_losses = [], []
for i in range(6):
    real = torch.rand(8, 1, 8, 8) * 2 - 1
    netD.zero_grad()
    label = torch.full((8,), 1.0)
    output = netD(real).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()

    fake = netG(torch.randn(8, nz, 1, 1))
    label.fill_(0.0)
    output = netD(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    D_G_z1 = output.mean().item()
    errD = errD_real + errD_fake
    optimizerD.step()

    netG.zero_grad()
    label.fill_(1.0)
    output = netD(fake).view(-1)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    G_losses.append(errG.item())
    D_losses.append(errD.item())
with torch.no_grad():
    images = netG(fixed_noise).detach().cpu()
print(images.shape, G_losses[-1], D_losses[-1])

# ======== WGAN with gradient penalty
# create_graph=True: the norm of the critic's gradient is a part of the loss.
import torch
from torch import nn, autograd

def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(mixed)
    grad = autograd.grad(
        outputs=scores, inputs=mixed, grad_outputs=torch.ones_like(scores),
        create_graph=True, retain_graph=True)[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()

G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
for iteration in range(4):
    for _ in range(3):
        real = torch.randn(16, 2) + 3
        fake = G(torch.randn(16, 3)).detach()
        loss_c = critic(fake).mean() - critic(real).mean()
        loss_c = loss_c + 10 * gradient_penalty(critic, real, fake)
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    loss_g = -critic(G(torch.randn(16, 3))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    print(iteration, loss_c.item(), loss_g.item())

# ======== WGAN with clipped weights
import torch
from torch import nn

G = nn.Linear(2, 1)
C = nn.Sequential(nn.Linear(1, 8), nn.LeakyReLU(0.1), nn.Linear(8, 1))
optim_G = torch.optim.RMSprop(G.parameters(), lr=5e-3)
optim_C = torch.optim.RMSprop(C.parameters(), lr=5e-3)
clip_value, n_critic = 0.1, 3
for i in range(12):
    optim_C.zero_grad()
    real = torch.randn(16, 1) + 1
    with torch.no_grad():
        fake = G(torch.randn(16, 2))
    loss_C = -torch.mean(C(real)) + torch.mean(C(fake))
    loss_C.backward()
    optim_C.step()
    for p in C.parameters():
        p.data.clamp_(-clip_value, clip_value)
    if i % n_critic == 0:
        optim_G.zero_grad()
        loss_G = -torch.mean(C(G(torch.randn(16, 2))))
        loss_G.backward()
        optim_G.step()
print(loss_C.item(), loss_G.item())

# ======== hinge GAN with frozen discriminator
# The discriminator is frozen during the generator's turn, which saves its gradients.
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm

def set_requires_grad(net, value):
    for p in net.parameters():
        p.requires_grad = value

gen = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 3))
disc = nn.Sequential(spectral_norm(nn.Linear(3, 12)), nn.LeakyReLU(0.2), nn.Linear(12, 1))
opt_gen = torch.optim.Adam(gen.parameters(), lr=1e-2)
opt_disc = torch.optim.Adam(disc.parameters(), lr=1e-2)
for step in range(8):
    x = torch.rand(10, 3)
    set_requires_grad(disc, True)
    opt_disc.zero_grad()
    fake = gen(torch.randn(10, 4)).detach()
    loss_disc = F.relu(1 - disc(x)).mean() + F.relu(1 + disc(fake)).mean()
    loss_disc.backward()
    opt_disc.step()

    set_requires_grad(disc, False)
    opt_gen.zero_grad()
    loss_gen = -disc(gen(torch.randn(10, 4))).mean()
    loss_gen.backward()
    opt_gen.step()
print(loss_disc.item(), loss_gen.item())

# ======== CycleGAN with one optimizer for two generators
import itertools
import torch
from torch import nn

G_AB, G_BA = nn.Linear(2, 2), nn.Linear(2, 2)
D_A, D_B = nn.Linear(2, 1), nn.Linear(2, 1)
mse, l1 = nn.MSELoss(), nn.L1Loss()
optimizer_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=0.01)
optimizer_D_A = torch.optim.Adam(D_A.parameters(), lr=0.01)
optimizer_D_B = torch.optim.Adam(D_B.parameters(), lr=0.01)
for step in range(10):
    real_A, real_B = torch.randn(8, 2), torch.randn(8, 2) + 2
    valid, fake_label = torch.ones(8, 1), torch.zeros(8, 1)
    optimizer_G.zero_grad()
    fake_B, fake_A = G_AB(real_A), G_BA(real_B)
    loss_gan = (mse(D_B(fake_B), valid) + mse(D_A(fake_A), valid)) / 2
    loss_cycle = (l1(G_BA(fake_B), real_A) + l1(G_AB(fake_A), real_B)) / 2
    loss_G = loss_gan + 10.0 * loss_cycle
    loss_G.backward()
    optimizer_G.step()
    for D, opt, real, fake in ((D_A, optimizer_D_A, real_A, fake_A),
                               (D_B, optimizer_D_B, real_B, fake_B)):
        opt.zero_grad()
        loss_D = (mse(D(real), valid) + mse(D(fake.detach()), fake_label)) / 2
        loss_D.backward()
        opt.step()
    if step == 0:
        first = loss_cycle.item()
print(first, loss_cycle.item())
assert loss_cycle.item() < first
