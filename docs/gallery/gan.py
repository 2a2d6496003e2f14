"""One iteration of a small generative adversarial network: three backward passes, two steps."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator_steps = torch.optim.Adam(generator.parameters(), lr=2e-3)
discriminator_steps = torch.optim.Adam(discriminator.parameters(), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)

for _ in range(6):
    angle = torch.rand(32, 1) * 6.2832
    real = torch.cat([angle.cos(), angle.sin()], dim=1)
    fake = generator(torch.randn(32, 4))

    discriminator_steps.zero_grad()
    loss_real = criterion(discriminator(real), ones)
    loss_real.backward()
    loss_fake = criterion(discriminator(fake.detach()), zeros)
    loss_fake.backward()  # both add to the gradients of the discriminator
    discriminator_steps.step()

    generator_steps.zero_grad()
    loss_generator = criterion(discriminator(fake), ones)
    loss_generator.backward()  # through the discriminator to the generator
    generator_steps.step()
