"""A library call runs a program in this process: what it changed there is put back, however the
program ends, and other threads notice nothing."""

from __future__ import annotations

import builtins
import decimal
import gc
import io
import logging
import os
import random
import sys
import threading
import warnings
from contextlib import redirect_stdout
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
import torchviz  # noqa: F401  (its setuptools adds a folder to sys.path, once)
from torch import nn
from torch.fx import traceback
from torch.optim.optimizer import _global_optimizer_post_hooks

import explorer
from explorer.program.devices import accelerator_patches, device_patches
from explorer.program.downloads import download_patches
from explorer.program.figures import figure_patches, notebook_patches
from explorer.program.process_state import _autocast_depth
from explorer.program.saved_hooks import saved_hook_patches
from explorer.program.watched_calls import APPLY, watched_calls
from tests.marks import sample

PATCHES = [
    *watched_calls(), *saved_hook_patches(), *device_patches(), *accelerator_patches(),
    *download_patches(), *figure_patches(), *notebook_patches("tqdm"), APPLY,
]  # fmt: skip

HEAD = """\
import logging, random, sys, warnings
import decimal
import numpy as np
import torch
from torch import nn
import matplotlib.pyplot as plt
torch.manual_seed(5)
random.seed(5)
np.random.seed(5)
torch.set_default_dtype(torch.float64)
torch.autograd.set_grad_enabled(False)
torch.autograd.set_detect_anomaly(True)
torch.set_printoptions(precision=1)
np.set_printoptions(precision=1, legacy="1.13")
np.seterrcall(print)
logging.captureWarnings(True)
warnings.formatwarning = repr
plt.rcParams["figure.dpi"] = 33
plt.plot([1, 2])
logging.getLogger().setLevel(1)
log = logging.getLogger("of the program")
log.addHandler(logging.StreamHandler(sys.stdout))
log.propagate, log.level = False, 1
torch.set_default_device("cpu")
decimal.getcontext().prec = 3
sys.argv.append("--more")
nn.modules.module.register_module_forward_hook(lambda *args: None)
saved = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
saved.__enter__()
torch.device("cpu").__enter__()
torch.set_warn_always(True)
sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(lambda *args: None)
with torch.enable_grad():
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        (w * w).backward()
        optimizer.step()
"""
#: Modes that a program enters and does not leave.
ENTERED = {
    "no_grad": "entered = torch.no_grad()",
    "inference": "entered = torch.inference_mode()",
    "inference, in a circle": "entered = torch.inference_mode()\nentered.itself = entered",
    "autocast": "entered = torch.autocast('cpu')",
    "fake tensors": "from torch._subclasses.fake_tensor import FakeTensorMode\n"
    "entered = FakeTensorMode()",
    "counter": "from torch.utils.flop_counter import FlopCounterMode\n"
    "entered = FlopCounterMode(display=False)",
    "attention": "from torch.nn import attention\n"
    "entered = attention.sdpa_kernel(attention.SDPBackend.MATH)",
    "disabled": "entered = torch._C.DisableTorchFunction()",
    "dual level": "entered = torch.autograd.forward_ad.dual_level()",
}
ENDS = {
    "": None,
    "1 / 0\n": "divided by zero",
    "raise SystemExit(3)\n": None,
    "raise KeyboardInterrupt\n": "",
    "def f():\n    return f()\nf()\n": "recursion",
    "nn.Linear(2, 2)(torch.ones(3))\n": "shapes",
    "w.register_hook(lambda g: 1 / 0)\nwith torch.enable_grad():\n    (w * 2).backward()\n": "zero",
    "with torch.inference_mode():\n    raise ValueError\n": "",
    "(": "",
}


def state() -> dict[str, Any]:
    """What a run may change of the process."""
    settings: dict[str, Any] = {
        f"{patch.owner} {patch.name}": vars(patch.owner).get(patch.name) for patch in PATCHES
    }
    root, log = logging.getLogger(), logging.getLogger("of the program")
    return settings | {
        "main": sys.modules["__main__"],
        "streams": (sys.stdin, sys.stdout, sys.stderr, sys.argv[:], sys.path[:]),
        "built-ins": dict(vars(builtins)),
        "grad": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "anomaly": torch.is_anomaly_enabled(),
        "dtype": torch.get_default_dtype(),
        "options": repr(vars(torch._tensor_str.PRINT_OPTS)),
        "numpy": (repr(np.get_printoptions()), np.geterr(), np.geterrcall()),
        "function": torch._C._is_torch_function_enabled(),
        "formats": (warnings.formatwarning, logging._warnings_showwarning),
        "random": random.getstate(),
        "numpy.random": repr(np.random.get_state()),
        "torch.random": torch.get_rng_state().tolist(),
        "matplotlib": dict(mpl.rcParams),
        "logging": (root.level, root.handlers[:], log.level, log.handlers[:], log.propagate),
        "device": torch.utils._device.CURRENT_DEVICE,
        "warnings": warnings.filters[:],
        "decimal": decimal.getcontext().prec,
        "modes": (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()),
        "levels": torch._C._functorch.get_dynamic_layer_stack_depth(),
        "autocast": (torch.is_autocast_enabled("cpu"), _autocast_depth()),
        "attention": torch.backends.cuda.flash_sdp_enabled(),
        "hooks": len(nn.modules.module._global_forward_hooks),
        "hooks of optimizers": len(_global_optimizer_post_hooks),
        "warns always": torch.is_warn_always_enabled(),
        "saved": torch._C._autograd._top_saved_tensors_default_hooks(True),
        "stack": traceback.format_stack,
        "limit": sys.getrecursionlimit(),
        "threads": threading.active_count(),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.partition("\n")[0])
def test_the_state_of_the_process_is_put_back(end: str) -> None:
    explorer.run("import matplotlib.pyplot as plt\nplt.plot([1])")  # what it loads stays loaded
    before = state()
    trace = explorer.run(HEAD + end)
    after = state()
    assert {name: after[name] for name in before if after[name] != before[name]} == {}
    expected = ENDS[end]
    assert (trace.error is None) is (expected is None)


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("name", sample(ENTERED, every=3))
def test_a_mode_that_a_program_has_not_left_ends_with_it(name: str, is_enabled: bool) -> None:
    source = "import torch\nx = torch.ones(1, requires_grad=True)\n(x * 2).backward()\n"
    with torch.set_grad_enabled(is_enabled):
        before = state()
        trace = explorer.run(f"{source}{ENTERED[name]}\nentered.__enter__()\n")
        gc.collect()
        assert state() == before
    assert trace.variables["x"].grad.tolist() == [2]


def test_a_second_program_finds_what_the_first_has_found() -> None:
    source = (
        "import logging, sys, torch\nlog = logging.getLogger('mine')\n"
        "print(log.handlers, torch.ones(1).device)\n"
        "log.addHandler(logging.StreamHandler(sys.stdout))\nlog.warning('heard')\n"
        "torch.set_default_device('meta')\nprint(torch.ones(1).device)\n"
    )
    first, second = explorer.run(source), explorer.run(source)
    assert first.output == "[] cpu\nheard\nmeta\n"
    assert second.output == first.output


@pytest.mark.parametrize("transform", ["grad", "jvp"])
def test_a_level_of_torch_func_that_a_program_has_not_left_ends_with_it(transform: str) -> None:
    before = state()
    trace = explorer.run(f"import torch\ntorch._C._functorch._{transform}_increment_nesting()\n")
    assert state() == before
    assert trace.error is None


def test_what_the_program_itself_has_changed_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OF_THE_PROGRAM", raising=False)
    explorer.run("import os\nos.environ['OF_THE_PROGRAM'] = 'yes'")
    assert os.environ.pop("OF_THE_PROGRAM") == "yes"


@pytest.mark.parametrize("name", ["retain_grad", "register_hook"])
def test_what_a_program_has_deleted_keeps_nothing_from_being_put_back(name: str) -> None:
    before, own = state(), vars(torch.Tensor).get(name)
    assert explorer.run(f"import torch\ndel torch.Tensor.{name}\n1 / 0").error is not None
    if own is not None and name not in vars(torch.Tensor):
        setattr(torch.Tensor, name, own)
    assert state() == before


def test_other_threads_notice_nothing() -> None:
    """They print, train and read random numbers while a program runs, as they do without one."""
    source = (
        "import torch\nw = torch.tensor(1.0, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([w], lr=0.01)\n"
        "for _ in range(300):\n    optimizer.zero_grad()\n    (w * w).backward()\n"
        "    optimizer.step()\nprint('of the program')\n"
    )
    alone = explorer.run(source)
    ended, seen = threading.Event(), []

    def train() -> None:
        w = torch.tensor(1.0, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        calls = []
        w.register_hook(lambda g: calls.append(float(g)))
        turns = 0
        while turns < 50 or not ended.is_set():
            w.data.fill_(1.0)
            optimizer.zero_grad()
            (w * w).backward()
            optimizer.step()
            turns += 1
            seen.append((float(w), calls.pop(), torch.is_grad_enabled()))
        print("of the thread")

    output = io.StringIO()
    with redirect_stdout(output):
        thread = threading.Thread(target=train)
        thread.start()
        beside = explorer.run(source)
        ended.set()
        thread.join()
    assert len(set(seen)) == 1
    assert seen[0] == (pytest.approx(0.8), 2.0, True)
    assert (beside.output, beside.event_count) == (alone.output, alone.event_count)
    assert beside.variables["w"].value == alone.variables["w"].value
    assert output.getvalue() == "of the thread\n"
