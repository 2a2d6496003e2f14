"""Names of torch that need a check or a class of our own: distributions, random state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import distributions, nn
from torch.nn.utils import rnn
from torch.optim.lr_scheduler import LRScheduler

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.checked_torch import check_optimizer
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.data_checks import find_non_number
from explorer.language.vocabulary.sizes import check_bytes, product
from explorer.language.vocabulary.stand_in import StandIn

# -- distributions: all is Python, and samples are as large as the program says -------------------

_DISTRIBUTIONS = """
    Bernoulli Beta Binomial Categorical Cauchy Chi2 Dirichlet Exponential FisherSnedecor Gamma
    Geometric Gumbel HalfCauchy HalfNormal Independent InverseGamma Laplace LogNormal
    LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial
    Normal OneHotCategorical Pareto Poisson RelaxedBernoulli RelaxedOneHotCategorical StudentT
    Uniform VonMises Weibull
"""
#: What may be read on a distribution.
DISTRIBUTION_NAMES = """
    sample rsample log_prob entropy cdf icdf enumerate_support perplexity mean stddev variance mode
    batch_shape event_shape has_rsample loc scale probs logits low high rate concentration
    concentration0 concentration1 total_count df covariance_matrix precision_matrix scale_tril
    temperature base_dist mixture_distribution component_distribution
"""


def limit_sample(distribution: Any, sample: Callable[..., Any]) -> Callable[..., Any]:
    """`sample` or `rsample`, with a limit on how much it draws."""

    @functools.wraps(sample)
    def draw(sample_shape: Any = ()) -> Any:
        _check_concentration(distribution)
        shape = torch.Size(sample_shape)
        count = product(shape) * product(distribution._extended_shape())
        if isinstance(distribution, torch.distributions.Multinomial):
            count *= distribution.total_count  # it draws so many numbers, and counts them
        check_bytes(max(count, product(shape)))
        return sample(shape)

    return draw


def _check_concentration(distribution: Any) -> None:
    """torch draws again and again until a number is accepted: for others than these, none is."""
    if isinstance(distribution, torch.distributions.VonMises):
        concentration = distribution.concentration
        if not ((concentration > 0) & (concentration < 1e6)).all():
            raise OutsideLanguage("A VonMises can be sampled for concentrations up to 1e6.")


# -- random state ----------------------------------------------------------------------------------


class _ForkedRandom(StandIn):
    """`with torch.random.fork_rng():` the random state is as before afterwards."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._state = torch.get_rng_state()

    def __enter__(self) -> None:
        self._state = torch.get_rng_state()

    def __exit__(self, *error: Any) -> None:
        torch.set_rng_state(self._state)


def _set_rng_state(new_state: Any) -> None:
    """`torch.set_rng_state`. torch does not compare the place of the next number with how many are
    left, and reads beyond its 624 numbers (measured with torch 2.13)."""
    if not isinstance(new_state, torch.Tensor) or new_state.dtype is not torch.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    with torch._C.DisableTorchFunction():
        state = new_state.detach().clone().contiguous()
        left, place = (
            int.from_bytes(state[part].tolist(), "little") for part in (slice(8, 12), slice(16, 24))
        )
    if left != 1 and left + place != 625:  # 1: none has been drawn, or all
        raise RuntimeError("Invalid mt19937 state")
    torch.set_rng_state(state)


# -- containers and checks -------------------------------------------------------------------------


class ParameterDict(nn.Module):
    """Parameters by name. torch's own reads and writes any attribute of the module."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str) or not isinstance(value, torch.Tensor):
            raise OutsideLanguage("A ParameterDict holds tensors by names.", "Use nn.Parameter.")
        parameter = value if isinstance(value, nn.Parameter) else nn.Parameter(value)
        self._parameters.pop(key, None)
        self.register_parameter(key, parameter)

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: Any) -> bool:
        return key in self._parameters

    def keys(self) -> Any:
        """The names."""
        return self._parameters.keys()

    def values(self) -> Any:
        """The parameters."""
        return self._parameters.values()

    def items(self) -> Any:
        """Names and parameters."""
        return self._parameters.items()

    def update(self, parameters: Any) -> None:
        """Take over the parameters of a dictionary, or of pairs."""
        for key, value in dict(parameters).items():
            self[key] = value

    def pop(self, key: str) -> Any:
        """Take a parameter out."""
        return self._parameters.pop(key)

    def clear(self) -> None:
        """Take all parameters out."""
        self._parameters.clear()


def _pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> torch.Tensor:
    """Tensors of different lengths in one, filled up."""
    sequences = list(sequences)
    if not all(isinstance(s, torch.Tensor) for s in sequences):
        raise TypeError("pad_sequence expects a list of tensors")
    if sequences:
        longest = max(s.shape[0] if s.ndim else 1 for s in sequences)
        check_bytes(float(longest) * sum(s.numel() / max(len(s) if s.ndim else 1, 1)
                                         for s in sequences), 8)  # fmt: skip
    padded: torch.Tensor = rnn.pad_sequence(sequences, batch_first, padding_value, padding_side)
    return padded


def _finite_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decomposition whose C++ code crashes on NaN."""

    @functools.wraps(function)
    def decompose(A: Any, **options: Any) -> Any:
        if find_non_number(A) is not None or not torch.isfinite(A).all():
            raise RuntimeError(f"linalg.{function.__name__}: input tensor should not contain infs "
                               "or NaNs")  # fmt: skip
        return function(A, **options)

    return decompose


_OPTIMIZER, _SCHEDULER = (
    ClassProxy(torch.optim.Optimizer, base=check_optimizer(torch.optim.Optimizer)),
    ClassProxy(LRScheduler, base=LRScheduler),
)
_OTHERS: dict[str, tuple[str, Any]] = {
    "torch.random.manual_seed": ("Autograd", torch.manual_seed),
    "torch.random.initial_seed": ("Autograd", torch.initial_seed),
    "torch.random.fork_rng": ("Autograd", _ForkedRandom),
    "torch.random.get_rng_state": ("Autograd", torch.get_rng_state),
    "torch.random.set_rng_state": ("Autograd", _set_rng_state),
    "torch.get_rng_state": ("Autograd", torch.get_rng_state),
    "torch.set_rng_state": ("Autograd", _set_rng_state),
    "torch.initial_seed": ("Autograd", torch.initial_seed),
    "torch.optim.Optimizer": ("Optimizers", _OPTIMIZER),
    "torch.optim.optimizer.Optimizer": ("Optimizers", _OPTIMIZER),
    "torch.optim.lr_scheduler.LRScheduler": ("Learning-rate schedules", _SCHEDULER),
    "torch.optim.lr_scheduler._LRScheduler": ("Learning-rate schedules", _SCHEDULER),
    "torch.nn.ParameterDict": ("Layers", ParameterDict),
    "torch.nn.utils.rnn.pad_sequence": ("Layers", _pad_sequence),
    "torch.linalg.eig": ("Linear algebra", _finite_only(torch.linalg.eig)),
    "torch.linalg.eigvals": ("Linear algebra", _finite_only(torch.linalg.eigvals)),
    "torch.distributions.kl_divergence": ("Distributions", distributions.kl_divergence),
    "torch.distributions.kl.kl_divergence": ("Distributions", distributions.kl_divergence),
}
ADDED: dict[str, tuple[str, Any]] = {
    **_OTHERS,
    **{
        f"torch.distributions.{path}{name}": ("Distributions", getattr(distributions, name))
        for name in _DISTRIBUTIONS.split()
        for path in ("", f"{getattr(distributions, name).__module__.rpartition('.')[2]}.")
    },
}
