"""Every entry of the vocabulary is found in its library, and can be reached from a program."""

import builtins
import datetime
import decimal
import importlib.util
import json
import random
import re
import sys
import warnings

import numpy as np
import pytest
import torch

from explorer import torchvision_guard  # noqa: F401
from explorer.language import reference, vocabulary
from explorer.language.builtins import GUARDED, PLAIN
from explorer.language.vocabulary import checked_torch, left_out, replacements
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday.per_run import PerRun
from explorer.language.vocabulary.everyday.type_names import Annotation
from tests.language.compare import guarded

pytestmark = pytest.mark.fast

#: Entries whose object replaces the library's own.
OURS = {
    f"{holder}.{kind}" for holder in ("torch", "torch.cuda") for kind in replacements.TENSOR_TYPES
}
OURS |= {f"torch.optim.{name}" for name in vars(torch.optim)}
OURS |= {"torch.set_printoptions", "torch.empty", "torch.empty_like"}
OURS |= {f"torch.optim.lr_scheduler.{n}" for n in ("LambdaLR", "MultiplicativeLR", "CyclicLR")}
OURS |= {f"torch.nn.{kind.__name__}" for kind in checked_torch.LAYERS}
OURS |= {"numpy.empty", "numpy.empty_like", "numpy.random.default_rng"}
OURS |= {"torch.hub.load"}
OURS |= {"torch.manual_seed"}  # torch replaces this one itself

FUNCTIONS = {
    name: thing
    for title, name, thing in vocabulary.entries()
    if not title.endswith("attributes and methods")
}
#: Libraries in whose place something of our own stands, and some are not installed.
STAND_INS = (
    *("matplotlib", "mpl_toolkits", "matplotlib_inline", "seaborn", "tqdm", "IPython"),
    *("torchviz", "torchview", "torchinfo", "torchsummary", "torchsummaryX", "tensorboardX"),
)


def real(name: str) -> object:
    """The object with this full dotted name in plain Python."""
    first, *rest = name.split(".")
    thing = importlib.import_module(first)
    for count, part in enumerate(rest, 1):
        if not hasattr(thing, part):  # a function may have the name of a module
            thing = sys.modules.get(".".join([first, *rest[: count - 1]]), thing)
        if hasattr(thing, part):
            thing = getattr(thing, part)
        else:
            thing = importlib.import_module(".".join([first, *rest[:count]]))
    return thing


def wrapped(thing: object) -> list[object]:
    """The object and what it wraps: some functions check their arguments first."""
    inner = getattr(thing, "__wrapped__", None)
    return [thing] if inner is None else [thing, *wrapped(inner)]


def test_there_are_several_hundred_names():
    assert len(FUNCTIONS) > 700


@pytest.mark.parametrize("package", ["torch", "numpy", "torchvision", "other"])
def test_functions_are_the_libraries_own(package):
    names = [n for n in FUNCTIONS if (n.split(".")[0] if "." in n else "") == package]
    if package == "other":
        others = ("torch", "numpy", "torchvision", *STAND_INS)
        names = [n for n in FUNCTIONS if n.split(".")[0] not in others]
    names = [n for n in names if not n.startswith("torch.utils.tensorboard")]  # not installed
    assert names
    for name in names:
        if importlib.util.find_spec(name.split(".")[0]) is None:
            continue  # scikit-learn is not installed
        thing, original = FUNCTIONS[name], real(name)
        if isinstance(thing, PerRun):
            assert callable(thing.original) == callable(original), name
        elif isinstance(thing, Annotation):
            assert repr(thing).rpartition(".")[2] == name.rpartition(".")[2], name
        elif any(name in module.ADDED for module in replacements.ADDITIONS):
            assert callable(thing) == callable(original), name
        elif isinstance(thing, ClassProxy):
            assert thing.wrapped is original, name
        elif name in OURS or package == "torchvision" or name.startswith("functorch."):
            assert callable(thing), name
            assert callable(original), name
        elif name.startswith(("random.", "numpy.random.")):  # of a private generator
            assert thing.__name__ == original.__name__, name
        elif name.startswith("typing."):
            assert repr(thing) == repr(original), name
        else:
            assert any(t is original or t == original or t != t for t in wrapped(thing)), name


def has(thing: object, name: str) -> bool:
    """Whether the attribute exists, even if reading it needs another shape or dtype."""
    try:
        return hasattr(thing, name)
    except RuntimeError:
        return True


#: Distributions that have, together, all names that programs may read.
_D = torch.distributions
DISTRIBUTIONS = [
    _D.Uniform(0.0, 1.0), _D.Beta(1.0, 1.0), _D.Dirichlet(torch.ones(2)), _D.StudentT(2.0),
    _D.MultivariateNormal(torch.zeros(2), torch.eye(2)), _D.Binomial(3, torch.tensor(0.5)),
    _D.RelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5)), _D.Poisson(1.0),
    _D.Independent(_D.Normal(torch.zeros(2), 1.0), 1), _D.Categorical(torch.ones(2)),
    _D.MixtureSameFamily(_D.Categorical(torch.ones(2)), _D.Normal(torch.zeros(2), torch.ones(2))),
]  # fmt: skip


def test_members_are_found_on_their_class():
    x = torch.ones(2, 2, requires_grad=True)
    node = (x * 2).grad_fn
    net = torch.nn.Sequential(torch.nn.ModuleList(), torch.nn.ModuleDict(), torch.nn.LSTM(1, 1))
    optimizer = torch.optim.SGD([x], lr=0.1)
    schedules = torch.optim.lr_scheduler
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2)))
    objects = [
        x, *net.modules(), node, node.next_functions[0][0], optimizer,
        schedules.StepLR(optimizer, 1), schedules.ReduceLROnPlateau(optimizer),
        x.register_hook(print), x.shape, x.device, x.dtype, torch.finfo(), torch.iinfo(torch.int32),
        torch.Generator(), loader.dataset, loader, "", [], (), {}, {1}, frozenset(), 1, 1.0, 1j,
        slice(1), range(1), property(), Exception(), np.ones(1), np.float64(1), np.dtype(float),
        (i for i in []), np.random.default_rng(0), *(FUNCTIONS[f"collections.{n}"]()
        for n in ("OrderedDict", "Counter", "deque")),
        torch.autograd.forward_ad.unpack_dual(x),
        torch._functorch.autograd_function.VmapInfo(2, "same"),
        torch.utils.data.Subset(loader.dataset, [0]),
        torch.utils.data.ConcatDataset([loader.dataset]),
        torch.amp.GradScaler("cpu"), torch.optim.swa_utils.AveragedModel(net),
        torch.autograd.function.BackwardCFunction, datetime.datetime.now(), datetime.time(),
        datetime.timedelta(), re.match("a", "a"), json.JSONDecodeError("a", "b", 0),
        random.Random(), FUNCTIONS["fractions.Fraction"](), decimal.Decimal(), re.RegexFlag.A,
        np.finfo(float), np.iinfo(int), np.random.RandomState(0),
        *(getattr(np.linalg, f)(np.eye(1)) for f in ("eig", "eigh", "svd", "qr", "slogdet")),
        warnings.WarningMessage(Warning("a"), Warning, "b", 1),
        *DISTRIBUTIONS,
    ]  # fmt: skip
    missing = {
        name
        for title, name, _ in vocabulary.entries()
        if title.endswith("attributes and methods")
        and not any(has(o, name.rpartition(".")[2]) for o in objects)
    }
    assert missing == set()


def test_every_function_can_be_reached_by_a_program():
    names = sorted(FUNCTIONS)
    # What is in a module with the name of a function can only be imported.
    for start in range(0, len(names), 500):
        part = [(name.rpartition(".")[0], name.rpartition(".")[2]) for name in names[start:][:500]]
        imports = [f"import {module}" for module in sorted({module for module, _ in part})]
        guarded("\n".join([*imports, *(f"{m}.{n}" for m, n in part if m not in FUNCTIONS)]))
        guarded("\n".join(f"from {module} import {name}" for module, name in part))


def test_built_ins_are_pythons():
    for name in [*PLAIN.split(), *GUARDED.split()]:
        assert hasattr(builtins, name)
        guarded(name)


def test_the_reference_describes_what_there_is():
    groups = {group.title: group.entries for group in reference()}
    names = {entry.name for entries in groups.values() for entry in entries}
    assert names >= set(FUNCTIONS)
    assert {"Tensor.backward", "Module.register_full_backward_hook", "print"} <= names
    described = {e.name: e.description for entries in groups.values() for e in entries}
    assert described["torch.exp"].startswith("Returns a new tensor with the exponential of the")
    assert described["torch.nn.Linear"].startswith("Applies an affine linear transformation")
    assert sum(bool(text) for text in described.values()) > 0.85 * len(described)
    assert all(len(text) <= 160 and "\n" not in text for text in described.values())


def test_what_is_left_out_is_not_in_the_table():
    """Nor does a message name what a program cannot use either."""
    for path, new in left_out.MOVED_NAMES.items():
        module, _, name = path.rpartition(".")
        assert name not in (vocabulary.module_members(module) or {}), path
        module, _, name = new.rpartition(".")
        assert not module or name in (vocabulary.module_members(module) or {}), new
    for module in left_out.LEFT_OUT_MODULES:
        assert vocabulary.module_members(module) is None, module
    for name in left_out.LEFT_OUT_BUILTINS:
        assert name not in PLAIN.split() + GUARDED.split(), name
    for name in left_out.LEFT_OUT_NAMES:
        assert name not in (vocabulary.module_members("torch") or {}), name
        assert name not in (vocabulary.module_members("torch.nn") or {}), name
