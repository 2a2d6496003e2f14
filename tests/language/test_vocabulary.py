"""Every entry of the vocabulary is found in its library, and can be reached from a program."""

import builtins
import importlib

import numpy as np
import pytest
import torch

from explorer import torchvision_guard  # noqa: F401
from explorer.language import reference, vocabulary
from explorer.language.builtins import GUARDED, PLAIN
from explorer.language.vocabulary import checked_torch
from explorer.language.vocabulary.class_proxy import ClassProxy
from tests.language.compare import guarded

pytestmark = pytest.mark.fast

#: Entries whose object replaces the library's own.
OURS = {f"torch.{kind}Tensor" for kind in ("Float", "Double", "Long", "Int")}
OURS |= {f"torch.optim.{name}" for name in vars(torch.optim)}
OURS |= {"torch.set_printoptions", "torch.empty", "torch.empty_like", "torch.cuda.is_available"}
OURS |= {f"torch.optim.lr_scheduler.{n}" for n in ("LambdaLR", "MultiplicativeLR", "CyclicLR")}
OURS |= {f"torch.nn.{kind.__name__}" for kind in checked_torch.LAYERS}
OURS |= {"numpy.empty", "numpy.empty_like", "numpy.random.default_rng"}
OURS |= {"torch.manual_seed"}  # torch replaces this one itself

FUNCTIONS = {
    name: thing
    for title, name, thing in vocabulary.entries()
    if not title.endswith("attributes and methods")
}


def real(name: str) -> object:
    """The object with this full dotted name in plain Python."""
    first, *rest = name.split(".")
    thing = importlib.import_module(first)
    for count, part in enumerate(rest, 1):
        if not hasattr(thing, part):
            importlib.import_module(".".join([first, *rest[:count]]))
        thing = getattr(thing, part)
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
        names = [n for n in FUNCTIONS if n.split(".")[0] not in ("torch", "numpy", "torchvision")]
    assert names
    for name in names:
        thing, original = FUNCTIONS[name], real(name)
        if isinstance(thing, ClassProxy):
            assert thing.wrapped is original, name
        elif name in OURS or package == "torchvision":
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
        torch.autograd.function.BackwardCFunction,
    ]  # fmt: skip
    missing = {
        name
        for title, name, _ in vocabulary.entries()
        if title.endswith("attributes and methods")
        and not any(has(o, name.rpartition(".")[2]) for o in objects)
    }
    assert missing == set()


def test_every_function_can_be_reached_by_a_program():
    modules = sorted({name.rpartition(".")[0] for name in FUNCTIONS})
    names = sorted(FUNCTIONS)
    lines = [f"import {module}" for module in modules]
    lines += [f"{name}" for name in names]
    lines += [f"from {name.rpartition('.')[0]} import {name.rpartition('.')[2]}" for name in names]
    guarded("\n".join(lines))


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
