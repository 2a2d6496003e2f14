"""Loops and optimizers."""

from explorer.trace.examples.example import Example

TRAINING: tuple[Example, ...] = (
    Example(
        "loop",
        "A training loop",
        "Training",
        "Which four steps does every training loop repeat?",
        "zero_grad, forward, backward and step. w converges to 1/3, where the loss is smallest.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.02)
for step in range(5):
    optimizer.zero_grad()
    loss = (3 * w - 1) ** 2
    loss.backward()
    optimizer.step()
    print(step, loss.item(), w.item())
""",
    ),
    Example(
        "accumulate",
        "Gradients add up",
        "Training",
        "The loss is the same each time. Why does w.grad grow?",
        "backward adds to .grad. Without zero_grad, the second backward turns 12 into 24.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
for step in range(3):
    loss = (3 * w - 1) ** 2
    loss.backward()
    print(w.grad)
""",
        explains="accumulation.added",
    ),
    Example(
        "cleared_early",
        "zero_grad in the wrong place",
        "Training",
        "Why does w not change at all?",
        "zero_grad comes between backward and step, so step finds no gradient.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.02)
for step in range(3):
    loss = (3 * w - 1) ** 2
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    print(w.item())
""",
        explains="accumulation.cleared",
    ),
    Example(
        "not_held",
        "A forgotten parameter",
        "Training",
        "b has a gradient. Why does it not change?",
        "The optimizer was given only w, and it changes only the tensors it was given.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
loss = (2 * w + b - 1) ** 2
loss.backward()
optimizer.step()
print(w, b, b.grad)
""",
        explains="optimizer.not-held",
    ),
    Example(
        "skipped",
        "A skipped tensor",
        "Training",
        "Why does weight decay not shrink u?",
        "u.grad is None. step() skips a tensor without a gradient and applies no weight decay to "
        "it.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
u = torch.tensor(5.0, requires_grad=True)
optimizer = torch.optim.SGD([w, u], lr=0.1, weight_decay=0.5)
loss = (w - 3) ** 2
loss.backward()
optimizer.step()
print(w, u)
""",
        explains="optimizer.skipped",
    ),
    Example(
        "momentum",
        "Momentum with a zero gradient",
        "Training",
        "The gradient is 0. Why does w move?",
        "Because of momentum, a step also depends on earlier gradients. If you set w.grad to None, "
        "w does not move.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
for target in [3.0, 1.4]:
    optimizer.zero_grad()
    loss = (w - target) ** 2
    loss.backward()
    optimizer.step()
    print(w.grad, w.item())
""",
        explains="optimizer.idle",
    ),
    Example(
        "diverges",
        "A learning rate that is too large",
        "Training",
        "Why does the loss explode?",
        "The curvature is 18, so each step multiplies the distance to the minimum by 1 − 0.15 · 18 "
        "= −1.7. With a learning rate below 2/18 the distance shrinks.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.15)
for step in range(6):
    optimizer.zero_grad()
    loss = (3 * w - 1) ** 2
    loss.backward()
    optimizer.step()
    print(w.item())
""",
        explains="optimizer.diverges",
    ),
    Example(
        "nan_after_steps",
        "NaN after a few steps",
        "Training",
        "Why does the loss become infinite?",
        "Every step multiplies the distance to the minimum by 1 − 100 · 18 = −1799. After six "
        "steps the loss is larger than the largest float32 number.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=100)
for step in range(9):
    optimizer.zero_grad()
    loss = (3 * w - 1) ** 2
    loss.backward()
    optimizer.step()
    print(loss.item())
""",
        explains="nonfinite.steps",
    ),
    Example(
        "kept_losses",
        "A list of losses",
        "Training",
        "Why does memory grow with every iteration?",
        "Each loss in the list keeps the graph it was computed with. Append loss.item() instead.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
losses = []
for step in range(4):
    loss = (3 * w - 1) ** 2
    loss.backward()
    losses.append(loss)
    with torch.no_grad():
        w -= 0.02 * w.grad
    w.grad = None
print(losses)
""",
        explains="optimizer.kept-graphs",
    ),
    Example(
        "gan",
        "Training only the discriminator",
        "Training",
        "How does detach exclude the generator?",
        "The discriminator's loss uses fake.detach(), where the gradient stops, so this loss "
        "trains only d.",
        """\
import torch

g = torch.tensor(0.5, requires_grad=True)
d = torch.tensor(1.0, requires_grad=True)
fake = 2 * g
real = torch.tensor(3.0)
loss_d = (d * fake.detach() - d * real) ** 2
loss_d.backward()
print(d.grad, g.grad)
""",
        explains="none.cut",
    ),
    Example(
        "autoencoder",
        "An autoencoder",
        "Training",
        "How many numbers describe a disc?",
        "Three: two for its place and one for its size. With a code of 3 numbers, discs that the "
        "network has never seen come out almost as they went in; with 2 or 1, they do not "
        "(Hinton & Salakhutdinov 2006, https://doi.org/10.1126/science.1127647).",
        """\
import matplotlib.pyplot as plt
import torch
from torch import nn
import torch.nn.functional as F

def discs(n):
    place, radius = 2 + 4 * torch.rand(n, 2, 1, 1), 1 + torch.rand(n, 1, 1)
    y, x = torch.arange(8.0)[:, None], torch.arange(8.0)
    distance = torch.hypot(y - place[:, 0], x - place[:, 1])
    return (radius - distance + 0.5).clamp(0, 1).flatten(1)

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 3))
decoder = nn.Sequential(nn.Linear(3, 32), nn.GELU(), nn.Linear(32, 64))
images, new = discs(128), discs(6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.03)
for step in range(80):
    loss = F.binary_cross_entropy_with_logits(decoder(encoder(images)), images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    restored = decoder(encoder(new)).sigmoid()
print(F.mse_loss(restored, new))
figure, rows = plt.subplots(2, 6, figsize=(6, 2))
for pictures, row in zip((new, restored), rows):
    for picture, place in zip(pictures, row):
        place.imshow(picture.view(8, 8), cmap="gray", vmin=0, vmax=1)
        place.axis("off")
plt.show()
""",
    ),
)
