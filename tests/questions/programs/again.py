# Questions about a graph used a second time, and about graphs that are kept alive.

# ======== https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57
# asked = """Without h_state = h_state.data: 'backward through the graph a second time'. What does \
#   it mean, and how does that line solve it?"""
# accepted = """The hidden state still belongs to the previous iteration's graph, which backward \
#   has freed. Cut it there: state = state.detach()."""
# shows = "backward through the graph a second time"
# answers = ["twice.state", "backward.twice"]
# says = ["state", "iteration", "detach*"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(1, 4)
readout = nn.Linear(4, 1)
parameters = list(rnn.parameters()) + list(readout.parameters())
optimizer = torch.optim.Adam(parameters, lr=0.02)
state = None
for step in range(3):
    times = torch.linspace(step, step + 1, 5).reshape(5, 1, 1)
    out, state = rnn(torch.sin(times), state)
    loss = ((readout(out) - torch.cos(times)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# ======== https://github.com/OpenNMT/OpenNMT-py/issues/403
# asked = "I call detach() on the hidden state, and still the graph is used a second time. Why?"
# accepted = """detach() returns a new tensor and leaves the old one as it is; keep the result: \
#   hidden = hidden.detach()."""
# shows = "backward through the graph a second time"
# answers = ["result.dropped", "twice.state", "backward.twice"]
# says = ["hidden", "hidden = hidden.detach()"]
# never = ["cancel"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
cell = nn.RNNCell(2, 3)
hidden = torch.zeros(1, 3)
for chunk in torch.randn(3, 1, 2):
    hidden.detach()
    hidden = cell(chunk, hidden)
    loss = hidden.pow(2).sum()
    loss.backward()

# ======== https://github.com/quark0/darts/issues/56
# asked = "Why does my search only run with loss.backward(retain_graph=True)?"
# accepted = """The tuple of hidden states leads back into the last batch. Detach every tensor of \
#   it: hidden = tuple(h.detach() for h in hidden)."""
# shows = "backward through the graph a second time"
# answers = ["twice.state", "backward.twice"]
# says = ["hidden", "detach*", ["tuple", "each", "both", "h.detach()"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
lstm = nn.LSTM(2, 3)
optimizer = torch.optim.SGD(lstm.parameters(), lr=0.1)
hidden = (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3))
for batch in torch.randn(2, 4, 1, 2):
    output, hidden = lstm(batch, hidden)
    loss = output.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# ======== https://github.com/norse/norse/issues/130
# asked = "The state that a layer returned is given to it again: the second backward crashes."
# accepted = """The new voltage was computed from the old one, whose graph is freed. Detach it \
#   from the previous graph."""
# shows = "backward through the graph a second time"
# answers = ["twice.state", "backward.twice"]
# says = ["voltage", "line 8", "detach*"]
# --------
import torch

torch.manual_seed(0)
weight = torch.randn(3, 2, requires_grad=True)
current = torch.ones(2)
voltage = torch.tanh(weight @ current)
voltage.sum().backward()
voltage = torch.tanh(0.9 * voltage + weight @ current)
voltage.sum().backward()
print(weight.grad)

# ======== https://github.com/LiJunnan1992/MLNT/issues/8
# asked = "Why can I not detach views in place?"
# accepted = "A view shares its base, so it cannot be cut off in place; use x = x.detach()."
# shows = "Can't detach views in-place"
# answers = ["error"]
# says = ["first", "line 6", "first = first.detach()"]
# --------
import torch

weights = torch.randn(2, 3, requires_grad=True)
layers = (weights * 2.0).unbind(0)
first = (weights * 2.0)[0]
first.detach_()
print(first.requires_grad)

# ======== https://github.com/jostmey/NakedAttention/issues/1
# asked = """Memory runs out during the epoch; the loop adds every batch's loss to a total. Is \
#   that the cause?"""
# accepted = """Yes: the total is a tensor whose graph reaches back through every batch. Add \
#   loss.item() or loss.detach()."""
# shows = "grad_fn"
# answers = ["optimizer.kept-graphs"]
# says = ["epoch_loss", "graph", ["loss.item()", "loss.detach()"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
epoch_loss = 0.0
for batch in torch.randn(5, 4, 3):
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    epoch_loss += loss / 5
print(epoch_loss)

# ======== https://github.com/samuelyu2002/ImVisible/issues/2
# asked = """The machine's memory fills up while the validation losses are summed: what should be \
#   changed?"""
# accepted = """Every stored loss keeps its computation graph. Store loss.item(), and evaluate \
#   under torch.no_grad()."""
# shows = "grad_fn"
# answers = ["optimizer.kept-graphs"]
# says = ["losses", "graph", [".item()", "no_grad"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
model.eval()
losses = []
for inputs in torch.randn(6, 8, 2):
    losses.append((model(inputs) - 1.0).pow(2).mean())
print(sum(losses) / len(losses))

# ======== https://github.com/hszhao/semseg/issues/60
# asked = "model.eval() is called, yet validation runs out of memory. Why?"
# accepted = """eval() only switches dropout and batch norm; graphs are still recorded. Wrap \
#   evaluation in torch.no_grad()."""
# shows = "True"
# answers = ["modes.eval_records", "optimizer.kept-graphs"]
# says = ["eval", "graph", "no_grad"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 2))
model.eval()
predictions = []
for batch in torch.randn(4, 2, 3):
    predictions.append(model(batch))
print(predictions[0].requires_grad)

# ======== https://github.com/pytorch/pytorch/issues/39141
# asked = """A simple GAN ran in older versions and now fails with 'modified by an inplace \
#   operation'. What changes in place?"""
# accepted = """judge_opt.step() changes the judge's weights, which painter_loss's graph still \
#   needs. Compute painter_loss after the step, with the new weights."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# also = ["zero.cancels"]
# says = ["step", "line 13", "judge", ["after", "again"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
painter, judge = nn.Linear(2, 3), nn.Linear(3, 1)
painter_opt = torch.optim.Adam(painter.parameters(), lr=0.01)
judge_opt = torch.optim.Adam(judge.parameters(), lr=0.01)
real, fake = torch.randn(4, 3), painter(torch.randn(4, 2))
judge_loss = judge(fake).mean() - judge(real).mean()
painter_loss = -judge(fake).mean()
judge_opt.zero_grad()
judge_loss.backward(retain_graph=True)
judge_opt.step()
painter_opt.zero_grad()
painter_loss.backward()
painter_opt.step()

# ======== https://github.com/tamarott/SinGAN/issues/148
# asked = "The generator loop works once; in its second turn: 'modified by an inplace operation'."
# accepted = """fake was computed once, with the old weights, and the step has changed them. \
#   Generate it inside the loop; then retain_graph is not needed."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# says = ["fake", "line 7", "step", ["inside the loop", "in the loop", "in each", "every"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
generator, critic = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1)), nn.Linear(1, 1)
optimizer = torch.optim.SGD(generator.parameters(), lr=0.1)
fake = generator(torch.randn(8, 2))
for turn in range(2):
    loss = -critic(fake).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()

# ======== https://github.com/psh01087/Vid-ODE/issues/6
# asked = """Inplace error in the adversarial loss; swapping the order of training G and D makes \
#   it disappear. Why?"""
# accepted = """loss_g goes through d's weights, and opt_d.step() changes them before \
#   loss_g.backward(). Call loss_g.backward() before the step, or compute loss_g after it."""
# shows = "modified by an inplace operation"
# answers = ["inplace.saved"]
# also = ["zero.cancels"]
# says = [["opt_d.step()", "optimizer.step()"], "line 13", "loss_g", ["before", "after"]]
# --------
import torch
from torch import nn

torch.manual_seed(1)
g, d = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
opt_g = torch.optim.SGD(g.parameters(), lr=0.1)
opt_d = torch.optim.SGD(d.parameters(), lr=0.1)
made = g(torch.randn(5, 2))
loss_g = -d(made).mean()
loss_d = d(made.detach()).mean() - d(torch.randn(5, 2)).mean()
opt_d.zero_grad()
loss_d.backward()
opt_d.step()
opt_g.zero_grad()
loss_g.backward()
opt_g.step()
