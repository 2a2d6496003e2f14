# Questions about training that runs, and learns slowly, nothing, or something else.

# ======== https://github.com/pytorch/tutorials/pull/640
# asked = """In the transfer learning tutorial the scheduler steps within the loop over batches. \
#   Should it not step once per epoch?"""
# accepted = "Yes: per batch the learning rate falls far too fast. Step it once per epoch."
# shows = "2 [1.0"
# answers = ["order.scheduler"]
# says = ["line 15", "epoch", ["batch", "inner"], "learning rate"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
batches = [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(10)]
for epoch in range(3):
    for x, y in batches:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(epoch, scheduler.get_last_lr())

# ======== https://github.com/ivadomed/ivadomed/pull/55
# asked = "The cosine schedule for the epochs is stepped in the loop of the batches. What happens?"
# accepted = "The rate changes after each batch instead of each epoch; step it outside."
# shows = "1 1 0.01"
# answers = ["order.scheduler"]
# says = ["line 16", "epoch", ["batch", "inner"], "learning rate"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
num_epochs = 4
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs)
for epoch in range(num_epochs):
    for batch in range(6):
        x = torch.randn(5, 3)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(epoch, batch, optimizer.param_groups[0]["lr"])

# ======== https://github.com/RaoFoundation/bittensor/pull/229
# asked = "The loss goes from 6 to 298760397856 after some epochs. How is that prevented?"
# accepted = "The gradients explode through the repeated product. Clip their norm before the step."
# shows = "nan"
# answers = ["nonfinite.steps"]
# also = ["nonfinite.forward", "nonfinite.backward"]
# says = ["W", ["gradient", "slope"], "clip_grad_norm_"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
W = (torch.randn(8, 8) * 0.55).requires_grad_()
U = torch.randn(8, 1, requires_grad=True)
optimizer = torch.optim.SGD([W, U], lr=0.01)
x = torch.randn(4, 20, 8)
for epoch in range(5):
    h = torch.zeros(4, 8)
    for t in range(20):
        h = torch.relu(x[:, t] + h @ W)
    loss = (h @ U - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), W.grad.norm().item())

# ======== https://github.com/WenjieDu/PyPOTS/issues/667
# asked = """The best model is kept as model.state_dict(). Why does the result depend on the \
#   epochs after the best one?"""
# accepted = """state_dict() returns references to the parameters, which go on changing. Use \
#   copy.deepcopy(model.state_dict())."""
# shows = "False"
# answers = ["state.alive"]
# also = ["optimizer.diverges"]
# says = ["best_state", "line 13", ["deepcopy", "clone"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1.2)
x, y = torch.randn(12, 3), torch.randn(12, 1)
best_loss, best_state, best_weight = float("inf"), None, None
for epoch in range(4):
    loss = (model(x) - y).pow(2).mean()
    if loss.item() < best_loss:
        best_loss = loss.item()
        best_state = model.state_dict()
        best_weight = model.weight.detach().clone()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.load_state_dict(best_state)
print(torch.equal(model.weight, best_weight))

# ======== https://github.com/hirofumi0810/neural_sp/issues/168
# asked = "With accumulated gradients, should the loss not be divided by the number of steps?"
# accepted = "Yes, divide by accum_grad_n_steps; otherwise the gradient is the sum."
# shows = "tensor("
# answers = ["accumulation.undivided"]
# says = [["line 10", "line 11"], ["4", "accum_grad_n_steps"], ["divide", "sum"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
accum_grad_n_steps = 4
asr = nn.Linear(5, 2)
optimizer = torch.optim.SGD(asr.parameters(), lr=0.1)
for batch in range(8):
    x, y = torch.randn(3, 5), torch.randint(0, 2, (3,))
    loss = nn.functional.cross_entropy(asr(x), y)
    loss.backward()
    if (batch + 1) % accum_grad_n_steps == 0:
        print(asr.weight.grad.norm())
        optimizer.step()
        optimizer.zero_grad()

# ======== https://github.com/awslabs/graphstorm/issues/1366
# asked = "Clipping with max_grad_norm comes after the optimizer's step. Is this an error?"
# accepted = "Yes, it has no effect there. Clip between backward and step."
# shows = "1 "
# answers = ["order.clip"]
# says = ["line 15", "step", ["before", "between"], "backward"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
max_grad_norm = 0.5
for epoch in range(2):
    for x in torch.randn(3, 8, 4):
        loss = (model(x) - 3 * x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if max_grad_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
    print(epoch, loss.item())
