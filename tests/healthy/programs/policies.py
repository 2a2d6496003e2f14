# Policy gradients.
#
# Of these programs nothing may be said.

# ======== REINFORCE
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(2, 16)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=1)

policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
eps = 1e-8

def select_action(state):
    m = Categorical(policy(state.unsqueeze(0)))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()

def finish_episode():
    R, returns, policy_loss = 0, [], []
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    loss = torch.cat(policy_loss).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return loss.item()

for episode in range(5):
    state, total = torch.tensor([0.5, 0.0]), 0.0
    for t in range(8):
        action = select_action(state)
        state = state + torch.tensor([0.1 if action else -0.1, 0.05])
        reward = float(-abs(state[0]))
        policy.rewards.append(reward)
        total += reward
    finish_episode()
    print(f"Episode {episode}\treward: {total:.2f}")

# ======== actor-critic
# The advantage is detached for the actor; the critic learns from the same return.
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 32)
        self.actor = nn.Linear(32, 2)
        self.critic = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)

model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for episode in range(4):
    log_probs, values, rewards, entropies = [], [], [], []
    state = torch.randn(3)
    for t in range(6):
        dist, value = model(state)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(1.0 if action.item() == int(state[0] > 0) else 0.0)
        state = torch.randn(3)
    R, returns = 0.0, []
    for r in reversed(rewards):
        R = r + 0.95 * R
        returns.append(R)
    returns = torch.tensor(returns[::-1])
    values = torch.stack(values)
    advantage = returns - values
    actor_loss = -(torch.stack(log_probs) * advantage.detach()).mean()
    critic_loss = F.mse_loss(values, returns)
    loss = actor_loss + 0.5 * critic_loss - 0.01 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    print(episode, sum(rewards), loss.item())

# ======== PPO update
# In the first epoch the ratio is exactly 1, inside the clipped range: no corner is meant.
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
log_std = nn.Parameter(torch.zeros(1))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*actor.parameters(), log_std, *critic.parameters()], lr=3e-3)
obs = torch.randn(64, 4)
with torch.no_grad():
    dist = Normal(actor(obs), log_std.exp())
    actions = dist.sample()
    old_logp = dist.log_prob(actions).sum(-1)
    values = critic(obs).squeeze(-1)
returns = -(actions.squeeze(-1) - obs[:, 0]) ** 2
advantages = returns - values
advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
clip_coef, batch = 0.2, torch.arange(64)
for epoch in range(3):
    order = torch.randperm(64)
    for start in range(0, 64, 16):
        mb = order[start:start + 16]
        dist = Normal(actor(obs[mb]), log_std.exp())
        logp = dist.log_prob(actions[mb]).sum(-1)
        ratio = (logp - old_logp[mb]).exp()
        pg_loss1 = -advantages[mb] * ratio
        pg_loss2 = -advantages[mb] * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
        pg_loss = torch.max(pg_loss1, pg_loss2).mean()
        v_loss = 0.5 * ((critic(obs[mb]).squeeze(-1) - returns[mb]) ** 2).mean()
        loss = pg_loss + 0.5 * v_loss - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
        optimizer.step()
    print(epoch, v_loss.item(), pg_loss.item())

# ======== soft actor-critic with a learned temperature
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(2, 2)
q1, q2 = nn.Linear(3, 1), nn.Linear(3, 1)
q_optim = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=1e-2)
pi_optim = torch.optim.Adam(policy.parameters(), lr=1e-2)
log_alpha = torch.zeros(1, requires_grad=True)
alpha_optim = torch.optim.Adam([log_alpha], lr=1e-2)
target_entropy = -1.0

def sample(obs):
    mean, log_std = policy(obs).chunk(2, dim=1)
    dist = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
    u = dist.rsample()
    action = torch.tanh(u)
    log_prob = dist.log_prob(u) - torch.log(1 - action.pow(2) + 1e-6)
    return action, log_prob

for step in range(6):
    obs, action, reward = torch.randn(32, 2), torch.rand(32, 1) * 2 - 1, torch.randn(32, 1)
    next_obs = torch.randn(32, 2)
    alpha = log_alpha.exp().item()
    with torch.no_grad():
        a2, lp2 = sample(next_obs)
        both = torch.cat([next_obs, a2], 1)
        y = reward + 0.99 * (torch.min(q1(both), q2(both)) - alpha * lp2)
    sa = torch.cat([obs, action], 1)
    q_loss = F.mse_loss(q1(sa), y) + F.mse_loss(q2(sa), y)
    q_optim.zero_grad()
    q_loss.backward()
    q_optim.step()

    a, lp = sample(obs)
    oa = torch.cat([obs, a], 1)
    pi_loss = (alpha * lp - torch.min(q1(oa), q2(oa))).mean()
    pi_optim.zero_grad()
    pi_loss.backward()
    pi_optim.step()

    alpha_loss = -(log_alpha * (lp + target_entropy).detach()).mean()
    alpha_optim.zero_grad()
    alpha_loss.backward()
    alpha_optim.step()
print(q_loss.item(), pi_loss.item(), alpha)

# ======== gradient bandit with a baseline
import torch

torch.manual_seed(1)
true_means = torch.tensor([0.1, 0.5, 0.9])
preferences = torch.zeros(3, requires_grad=True)
baseline, lr = 0.0, 0.2
for t in range(60):
    dist = torch.distributions.Categorical(logits=preferences)
    arm = dist.sample()
    reward = (true_means[arm] + 0.1 * torch.randn(())).item()
    loss = -(reward - baseline) * dist.log_prob(arm)
    loss.backward()
    with torch.no_grad():
        preferences -= lr * preferences.grad
    preferences.grad = None
    baseline += 0.1 * (reward - baseline)
print(torch.softmax(preferences.detach(), 0))
