# Questions about two networks, or two losses, that depend on each other.

# ======== https://github.com/dragen1860/MAML-Pytorch/issues/63
# asked = """The inner loop calls autograd.grad with the default create_graph=False. Is this \
#   first-order MAML?"""
# accepted = """Yes. Without create_graph=True the gradients of the inner loop are constants, so \
#   the outer backward has no second-order terms."""
# shows = "False"
# answers = ["none.cut", "history.first_order"]
# says = ["line 13", "create_graph", ["constant*", "second*", "first-order"]]
# --------
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
meta_optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
support, query = torch.randn(5, 3), torch.randn(5, 3)
support_y, query_y = torch.randn(5, 1), torch.randn(5, 1)
fast = list(net.parameters())
for step in range(2):
    loss = F.mse_loss(F.linear(support, fast[0], fast[1]), support_y)
    grads = torch.autograd.grad(loss, fast)
    fast = [p - 0.1 * g for p, g in zip(fast, grads)]
meta_loss = F.mse_loss(F.linear(query, fast[0], fast[1]), query_y)
meta_optimizer.zero_grad()
meta_loss.backward()
meta_optimizer.step()
print(net.weight.grad, grads[0].requires_grad)

# ======== https://github.com/datawhalechina/easy-rl/issues/140
# asked = "policy_net and target_net are both model.to(device). Are they two networks?"
# accepted = """No. model.to() returns the model itself, so both names are one network, and the \
#   target changes with every step. Make two networks, or a deepcopy."""
# shows = "True True"
# answers = ["state.alive"]
# says = ["target_net", "policy_net", "same", ["deepcopy", "copy"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cpu")
model = nn.Linear(4, 2)
policy_net = model.to(device)
target_net = model.to(device)
optimizer = torch.optim.SGD(policy_net.parameters(), lr=0.1)
states, rewards = torch.randn(6, 4), torch.randn(6)
for step in range(3):
    with torch.no_grad():
        target = rewards + 0.9 * target_net(states).max(1).values
    q = policy_net(states).max(1).values
    loss = (q - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(torch.equal(policy_net.weight, target_net.weight), policy_net is target_net)

# ======== https://github.com/andri27-ts/Reinforcement-Learning/issues/14
# asked = """After loading the weights into the target network, the agent assigns the moving \
#   network to it. Does it not follow every update then?"""
# accepted = """Yes: afterwards both attributes are the same network. load_state_dict alone is \
#   what is needed."""
# shows = "tensor(0."
# answers = ["state.alive"]
# says = ["target_nn", "moving_nn", "same", "line 12"]
# --------
import torch
from torch import nn

class Agent:
    def __init__(self):
        self.moving_nn = nn.Linear(3, 2)
        self.target_nn = nn.Linear(3, 2)
        self.optimizer = torch.optim.Adam(self.moving_nn.parameters(), lr=0.05)

    def update_target(self):
        self.target_nn.load_state_dict(self.moving_nn.state_dict())
        self.target_nn = self.moving_nn

torch.manual_seed(0)
agent = Agent()
agent.update_target()
obs, reward = torch.randn(5, 3), torch.ones(5)
for step in range(3):
    goal = reward + 0.9 * agent.target_nn(obs).max(1).values.detach()
    loss = (agent.moving_nn(obs)[:, 0] - goal).pow(2).mean()
    agent.optimizer.zero_grad()
    loss.backward()
    agent.optimizer.step()
print((agent.target_nn.weight - agent.moving_nn.weight).abs().sum())

# ======== https://github.com/nikhilsinghmus/image2reverb/issues/37
# asked = "The generator's step passes fake.detach() to the discriminator. Is that intended?"
# accepted = """No, it is a bug: detach cuts the path from the discriminator to the generator, \
#   which therefore does not learn from this loss."""
# shows = "True"
# answers = ["none.cut"]
# also = ["optimizer.idle", "order.step"]
# says = ["G", "detach", "line 10"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
optimizer = torch.optim.Adam(G.parameters(), lr=0.01)
before = G.weight.clone()
for step in range(3):
    fake = G(torch.randn(8, 2))
    score = D(fake.detach())
    loss = (score - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(torch.equal(before, G.weight))

# ======== https://github.com/astariul/encode-attend-navigate-pytorch/pull/3
# asked = "Training an actor and a critic is unstable: what is wrong with the losses?"
# accepted = """The critic's value is not detached in the policy's loss, so the critic also gets \
#   the gradient of that loss."""
# shows = "tensor([["
# answers = ["graph.shared"]
# says = ["critic", "detach", "line 14"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
opt_a = torch.optim.Adam(actor.parameters(), lr=0.01)
opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
for step in range(3):
    obs = torch.randn(16, 4)
    dist = torch.distributions.Categorical(logits=actor(obs))
    action = dist.sample()
    reward = (action == 0).float()
    advantage = reward - critic(obs).squeeze(1)
    loss_a = -(advantage * dist.log_prob(action)).mean()
    loss_c = advantage.pow(2).mean()
    opt_a.zero_grad()
    opt_c.zero_grad()
    (loss_a + loss_c).backward()
    opt_a.step()
    opt_c.step()
print(critic.weight.grad)

# ======== https://github.com/guopengf/FL-MRCM/issues/10
# asked = "Does the adversarial loss, which is detached and becomes a float, have any effect?"
# accepted = "No: as a float it is a constant. Detach only the copy that is logged."
# shows = "None"
# answers = ["none.cut", "cut.constant", "history.cut"]
# says = ["loss_adv", "line 13", ["constant", "number", "detach*", "item*"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
encoder, critic = nn.Linear(3, 3), nn.Linear(3, 1)
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
x = torch.randn(6, 3)
losses = []
for step in range(3):
    code = encoder(x)
    loss_rec = (code - x).pow(2).mean()
    loss_adv = critic(code).mean()
    loss_adv = loss_adv.detach().item()
    losses.append(loss_adv)
    loss = loss_rec + 0.5 * loss_adv
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss, critic.weight.grad)

# ======== https://github.com/pytorch/pytorch/issues/17124
# asked = "autograd.grad with respect to two inputs fails, though both go into the network."
# accepted = """forward detaches both inputs when the embeddings are fixed, so the score does not \
#   depend on them."""
# shows = "appears to not have been used in the graph"
# answers = ["autograd.grad", "none.cut", "error", "history.cut"]
# says = ["detach", ["line 12", "line 13"], ["a", "premise"]]
# --------
import torch
from torch import nn

class Entail(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.fixed = fixed
        self.out = nn.Linear(6, 1)

    def forward(self, premise, hypothesis):
        if self.fixed:
            premise = premise.detach()
            hypothesis = hypothesis.detach()
        return self.out(torch.cat([premise, hypothesis], dim=1)).sum()

torch.manual_seed(0)
a = torch.randn(2, 3, requires_grad=True)
b = torch.randn(2, 3, requires_grad=True)
score = Entail(fixed=True)(a, b)
grads = torch.autograd.grad(score, [a, b])
