# Reinforcement learning: value functions and target networks.
#
# Of these programs nothing may be said.

# ======== DQN with a target network
# The targets are computed under no_grad, and the target network is copied now and then.
import copy
import random
from collections import deque
import torch
from torch import nn

random.seed(0)
policy_net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
target_net = copy.deepcopy(policy_net)
target_net.load_state_dict(policy_net.state_dict())
target_net.eval()
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory = deque(maxlen=200)
gamma, epsilon = 0.9, 0.3

def act(state):
    if random.random() < epsilon:
        return random.randrange(2)
    with torch.no_grad():
        return policy_net(state).argmax().item()

state = torch.zeros(2)
for t in range(60):
    action = act(state)
    next_state = (state + torch.tensor([1.0, -1.0]) * (1 if action else -1) * 0.1).clamp(-1, 1)
    reward = -next_state.abs().sum().item()
    memory.append((state, action, reward, next_state))
    state = next_state
    if len(memory) >= 16 and t % 4 == 0:
        batch = random.sample(memory, 16)
        s = torch.stack([b[0] for b in batch])
        a = torch.tensor([[b[1]] for b in batch])
        r = torch.tensor([b[2] for b in batch])
        s2 = torch.stack([b[3] for b in batch])
        q = policy_net(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            best = target_net(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(q, r + gamma * best)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
    if t % 20 == 0:
        target_net.load_state_dict(policy_net.state_dict())
print(loss.item())

# ======== double DQN with soft updates
import torch
from torch import nn

class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 4))

    def forward(self, obs):
        return self.net(obs)

online, target = QNet(), QNet()
target.load_state_dict(online.state_dict())
for p in target.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(online.parameters(), lr=1e-2)
tau, gamma = 0.05, 0.99
for update in range(10):
    obs, next_obs = torch.randn(32, 3), torch.randn(32, 3)
    actions = torch.randint(0, 4, (32, 1))
    rewards, dones = torch.randn(32, 1), (torch.rand(32, 1) < 0.1).float()
    with torch.no_grad():
        next_action = online(next_obs).argmax(dim=1, keepdim=True)
        td_target = rewards + gamma * target(next_obs).gather(1, next_action) * (1 - dones)
    loss = nn.functional.mse_loss(online(obs).gather(1, actions), td_target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for tp, p in zip(target.parameters(), online.parameters()):
        tp.data.copy_(tau * p.data + (1 - tau) * tp.data)
    if update % 5 == 0:
        print(update, loss.item())

# ======== DDPG
# The critic has gradients from the actor's loss, which zero_grad clears before the critic's turn.
import copy
import torch
import torch.nn.functional as F
from torch import nn

actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(8):
    s, s2 = torch.randn(16, 3), torch.randn(16, 3)
    a, r = torch.rand(16, 1) * 2 - 1, torch.randn(16, 1)
    with torch.no_grad():
        target_Q = r + 0.99 * critic_target(torch.cat([s2, actor_target(s2)], 1))
    current_Q = critic(torch.cat([s, a], 1))
    critic_loss = F.mse_loss(current_Q, target_Q)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    with torch.no_grad():
        for net, net_target in ((actor, actor_target), (critic, critic_target)):
            for param, target_param in zip(net.parameters(), net_target.parameters()):
                target_param.mul_(0.995)
                target_param.add_(0.005 * param)
print(critic_loss.item(), actor_loss.item())

# ======== TD(0) with a linear value function
import torch

features = torch.eye(5)
w = torch.zeros(5, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.2)
for episode in range(12):
    s = 2
    for _ in range(10):
        s2 = s + (1 if torch.rand(1).item() < 0.5 else -1)
        done = s2 in (-1, 5)
        reward = 1.0 if s2 == 5 else 0.0
        value = features[s] @ w
        with torch.no_grad():
            target = torch.tensor(reward) if done else reward + features[s2] @ w
        loss = 0.5 * (target - value) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if done:
            break
        s = s2
print(w.detach())

# ======== behaviour cloning
import torch
from torch import nn

states = torch.randn(80, 4)
expert = (states @ torch.tensor([1.0, -1.0, 0.5, 0.0]) > 0).long()
policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
for epoch in range(6):
    correct = 0
    for s, a in zip(states.split(20), expert.split(20)):
        logits = policy(s)
        loss = nn.functional.cross_entropy(logits, a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(dim=1) == a).sum().item()
    print(f"{epoch}: accuracy {correct / 80:.2f}")
assert correct > 50
