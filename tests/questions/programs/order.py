# Questions about calls of a training loop that are missing or in the wrong place.

# ======== https://github.com/VGraphRNN/VGRNN/issues/4
# asked = "clip_grad_norm_ is called after opt.step(). Does it do anything?"
# accepted = """No: step has used the gradients already, and zero_grad forgets the clipped ones. \
#   Clip between backward and step."""
# answers = ["order.clip"]
# also = ["optimizer.diverges"]
# says = ["clip_grad_norm_", "line 12", "step", "between"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    opt.zero_grad()
    loss = (100 * model(torch.randn(4, 3))).pow(2).mean()
    loss.backward()
    opt.step()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)

# ======== https://github.com/pytorch/pytorch/issues/148259
# asked = "clip_grad_norm_ silently clips nothing after I looked at the parameters in a loop. Why?"
# accepted = """parameters() is a generator, which is empty after the first loop. Keep a list: \
#   list(model.parameters())."""
# shows = "tensor(0.)"
# answers = ["generator.exhausted"]
# says = ["parameters", ["generator", "iterator"], "list("]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss = (20 * model(torch.randn(8, 4))).pow(2).mean()
loss.backward()
parameters = model.parameters()
sizes = [p.numel() for p in parameters]
norm = nn.utils.clip_grad_norm_(parameters, 1.0)
optimizer.step()
print(norm)

# ======== https://github.com/pytorch/pytorch/issues/2954
# asked = "My own gradient clipping measures the norm, but never scales anything."
# accepted = """The generator is used up by the first loop, so the second runs over nothing. Use \
#   list(net.parameters())."""
# shows = "True"
# answers = ["generator.exhausted"]
# says = ["params", ["generator", "iterator"], "list("]
# --------
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
net(torch.full((2, 3), 9.0)).pow(2).sum().backward()
params = net.parameters()
norm = sum(p.grad.pow(2).sum() for p in params).sqrt()
for p in params:
    p.grad.mul_(1.0 / norm)
print(net.weight.grad.norm() > 1.0)

# ======== https://github.com/pytorch/examples/issues/1196
# asked = "With a GradScaler, is anything needed before clip_grad_norm_?"
# accepted = """Yes: the gradients are multiplied by the scale until scaler.unscale_(optimizer), \
#   so clipping makes them tiny. Call unscale_ first."""
# shows = "True"
# answers = ["order.unscale", "order.clip"]
# says = ["unscale_", "line 11", ["before", "first"], "scale"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
loss = model(torch.randn(4, 3)).pow(2).mean()
optimizer.zero_grad()
scaler.scale(loss).backward()
norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
print(norm > 1000)

# ======== https://github.com/zju3dv/NeuralRecon/issues/51
# asked = "'Detected call of lr_scheduler.step() before optimizer.step()': does it matter?"
# accepted = """Yes: the first learning rate is skipped. Call scheduler.step() after \
#   optimizer.step()."""
# shows = "Detected call of `lr_scheduler.step()` before `optimizer.step()`"
# answers = ["order.scheduler", "torch.warning"]
# says = ["scheduler", "line 9", ["first", "skip"], "after"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
for epoch in range(2):
    scheduler.step()
    loss = model(torch.randn(4, 2)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(optimizer.param_groups[0]["lr"])

# ======== https://github.com/wenet-e2e/wekws/issues/72
# asked = "zero_grad is never called in the training loop. Is that a trick or a bug?"
# accepted = """A bug: backward adds to .grad, so every step uses the sum of all gradients so far. \
#   Call optimizer.zero_grad() in each iteration."""
# answers = ["accumulation.added"]
# says = ["add*", "zero_grad", "grad"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(8, 2), torch.randn(8, 1)
for step in range(6):
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()

# ======== https://github.com/karpathy/nanoGPT/issues/206
# asked = """Gradients are accumulated over several batches: must the loss be divided by their \
#   number?"""
# accepted = """Yes, as each loss is a mean: the sum of 4 gradients is 4 times that of one large \
#   batch. Divide by the number of accumulation steps."""
# answers = ["accumulation.undivided"]
# also = ["accumulation.added"]
# says = ["4", ["divide", "/ 4"], "loss", "mean"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
optimizer.zero_grad()
for i, micro_batch in enumerate(torch.randn(8, 5, 3)):
    loss = (model(micro_batch) - 1).pow(2).mean()
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()

# ======== https://github.com/huggingface/transformers/issues/1563
# asked = "With gradient accumulation, should clipping be done after each backward?"
# accepted = """No: only once, before optimizer.step(). Otherwise the first gradients are clipped \
#   again with every later one."""
# answers = ["order.clip"]
# also = ["accumulation.added"]
# says = ["clip_grad_norm_", "line 10", ["once", "before"], "step"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, batch in enumerate(torch.randn(4, 3, 2)):
    loss = (30 * model(batch)).pow(2).mean() / 2
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if i % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()

# ======== https://github.com/Hsintien-Ng/idinvert_pytorch-reproduced/issues/1
# asked = "Is optimizer_D.zero_grad() missing on purpose in this GAN?"
# accepted = """No: D's gradients of earlier steps, and those of the generator's loss, are added \
#   up. Zero them before loss_D.backward()."""
# answers = ["accumulation.added"]
# says = ["D.weight", "zero_grad", ["add*", "sum"], ["line 11", "line 15"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
optimizer_G = torch.optim.SGD(G.parameters(), lr=0.01)
optimizer_D = torch.optim.SGD(D.parameters(), lr=0.01)
for step in range(2):
    real, fake = torch.randn(4, 3), G(torch.randn(4, 2))
    loss_D = D(fake.detach()).mean() - D(real).mean()
    loss_D.backward()
    optimizer_D.step()
    optimizer_G.zero_grad()
    loss_G = -D(fake).mean()
    loss_G.backward()
    optimizer_G.step()

# ======== https://github.com/pytorch/pytorch/issues/47175
# asked = "zero_grad is called at the beginning of each epoch: could torch warn that this is wrong?"
# accepted = """Within an epoch each batch's gradient is added to those of the batches before. It \
#   must be called in each iteration, in the inner loop."""
# answers = ["accumulation.added"]
# says = ["zero_grad", ["add*", "sum"], "line 11"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    optimizer.zero_grad()
    for batch in torch.randn(3, 4, 2):
        loss = (model(batch) - 1.0).pow(2).mean()
        loss.backward()
        optimizer.step()
