"""Further names of torch: distributions, random state, layers, decompositions."""

import pytest

from tests.language.compare import compare, guarded, refusal

pytestmark = pytest.mark.fast

DISTRIBUTIONS = """
import torch
from torch.distributions import (Bernoulli, Beta, Categorical, Dirichlet, Exponential, Gamma,
    Independent, Laplace, MixtureSameFamily, MultivariateNormal, Normal, Poisson, Uniform,
    kl_divergence)
from torch.distributions.normal import Normal as Same
mu = torch.zeros(3, requires_grad=True)
p, q = Normal(mu, torch.ones(3)), Same(torch.ones(3), 2.0)
loss = kl_divergence(p, q).sum() - p.log_prob(p.rsample((4,))).mean() + p.entropy().sum()
loss.backward()
print(mu.grad, p, p.mean, q.stddev, q.batch_shape, q.cdf(torch.zeros(3)))
policy = Categorical(logits=torch.randn(2, 5))
action = policy.sample()
print(action, policy.log_prob(action), policy.probs.sum(1), policy.entropy())
print(MultivariateNormal(torch.zeros(2), torch.eye(2)).sample().shape, Bernoulli(0.3).sample((3,)))
print(Beta(2.0, 3.0).mean, Gamma(2.0, 1.0).sample(), Dirichlet(torch.ones(3)).sample())
print(Exponential(2.0).rsample((2,)), Laplace(0.0, 1.0).sample(), Uniform(0.0, 2.0).sample())
print(Poisson(3.0).sample((3,)), Independent(p, 1).log_prob(torch.zeros(3)))
mixture = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), torch.ones(2)))
print(mixture.log_prob(torch.tensor(0.5)), mixture.sample((2,)))
"""
OTHERS = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import LRScheduler
print(pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True, padding_value=-1))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({"a": nn.Parameter(torch.ones(2)), "b": torch.zeros(1)})
    def forward(self, x):
        return self.p["a"] * x + self.p["b"]
model = Model()
model(2.0).sum().backward()
model.p["c"] = nn.Parameter(torch.ones(1))
print(list(model.state_dict()), model.p["a"].grad, "a" in model.p, len(model.p), list(model.p))
del model.p["c"]
print(model.p.pop("b"), list(model.p.keys()))
state = torch.get_rng_state()
r = torch.rand(1)
torch.set_rng_state(state)
print(torch.equal(torch.rand(1), r))
with torch.random.fork_rng():
    torch.rand(3)
print(torch.rand(1), torch.initial_seed())
print(torch.svd(torch.eye(2)).S, torch.qr(torch.eye(2))[1], torch.linalg.eigvals(torch.eye(2)))
print(torch.argwhere(torch.eye(2)), torch.gradient(torch.tensor([1.0, 4.0, 9.0])))
for kind in (torch.optim.Muon, torch.optim.Adafactor):
    w = nn.Parameter(torch.arange(4.0).reshape(2, 2))
    optimizer = kind([w], lr=0.1)
    (w**2).sum().backward()
    optimizer.step()
    print(w, isinstance(optimizer, torch.optim.Optimizer))
x = torch.randn(1, 2, 4, 4, requires_grad=True)
for layer in (nn.ReflectionPad1d(1), nn.CircularPad2d(1),
    nn.ZeroPad1d(1), nn.ChannelShuffle(2), nn.LPPool2d(2, 2)):
    y = layer(x[0] if isinstance(layer, (nn.ReflectionPad1d, nn.ZeroPad1d)) else x)
    print(layer, y.shape, y.sum())
x.square().sum().backward()
y = torch.tensor([0.5, 2.0])
print(y.new_empty(2).shape, y.acos_().isnan(), torch.polygamma(1, y), torch.gcd(
    torch.tensor(12), torch.tensor(18)), y.dtype.is_floating_point)
"""


@pytest.mark.parametrize("source", [DISTRIBUTIONS, OTHERS])
def test_as_torch_does(source: str) -> None:
    compare(source)


def test_new_memory_is_filled_with_zeros() -> None:
    guarded("import torch\nassert (torch.ones(3).new_empty(1000) == 0).all()")


LIMITED = {
    "torch.distributions.Normal(0.0, 1.0).sample((10**10,))": "too large",
    "torch.distributions.Normal(torch.ones(10**5), 1.0).rsample((10**5,))": "too large",
    "torch.nn.utils.rnn.pad_sequence([torch.ones(10**7)] + [torch.ones(1)] * 1000)": "too large",
    "torch.linalg.eigvals(torch.full((3, 3), float('nan')))": "NaN",
    "torch.set_rng_state(torch.zeros(5056, dtype=torch.uint8))": "",
    "torch.nn.ParameterDict()['_apply']": "_apply",
    "torch.nn.ParameterDict({'__class__': torch.ones(1)})": "__class__",
    "torch.nn.ParameterDict({'_hooks': print})": "ParameterDict holds tensors",
    "torch.optim.Optimizer([torch.ones(1)], {})": "cannot be created",
    "torch.distributions.Normal(0.0, 1.0).support": "not supported",
    "torch.distributions.Normal(0.0, 1.0)._validate_args": "not supported",
    "torch.distributions.Normal(0.0, 1.0).arg_constraints": "not supported",
}


@pytest.mark.parametrize("line", LIMITED)
def test_what_is_refused(line: str) -> None:
    error = refusal(f"import torch\nprint({line})")
    assert LIMITED[line] in error.message + error.detail
