"""Programs that are right in PyTorch and easily go wrong when they are watched."""

import json
import warnings

import numpy as np
import pytest
import torch

from explorer.program import Program, Run
from explorer.trace import Trace, run
from explorer.trace.assemble import assemble
from explorer.trace.codec import from_plain, to_plain
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.validation import validate
from tests.program.compare import plain

pytestmark = pytest.mark.fast

T = "import torch\nimport numpy as np\nfrom torch import nn\n"
W = T + "w = torch.tensor([[1., -2.], [3., 4.]], requires_grad=True)\n(w**2).sum().backward()\n"
PROGRAMS = {
    "part of a leaf": W + "with torch.no_grad():\n    w[0] -= 0.1 * w.grad[0]\n",
    "method of a part": W + "with torch.no_grad():\n    w[1:].clamp_(0)\n    w[:1].clamp_(0)\n",
    "named part": W + "with torch.no_grad():\n    row = w[0]\n    row *= 1.5\n",
    "part of a part": W
    + "with torch.no_grad():\n    row = w[0]\n    row[1:].mul_(3)\n    row += 1\n",
    "part before no_grad": W + "row = w[0]\nwith torch.no_grad():\n    w[0].mul_(2)\n"
    "loss = (row**2).sum()\nloss.backward()\nprint(w.grad)\n",
    "in a loop": W + "for i in range(20):\n    w.grad = None\n    (w**2).sum().backward()\n"
    "    with torch.no_grad():\n        w[i % 2] -= 0.1 * w.grad[i % 2]\n",
    "function": W + "def step(p):\n    with torch.no_grad():\n        first = p[0]\n"
    "        first -= p.grad[0]\n    return first\nlast = step(w)\nprint(last.tolist())\n",
    "in a constructor": T + "class Net(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.fc = nn.Linear(2, 2)\n"
    "        with torch.no_grad():\n            self.fc.weight[0].fill_(0)\n"
    "            self.fc.weight[1] -= 1\n            self.fc.bias[:1].zero_()\n"
    "net = Net()\nnet.fc(torch.ones(3, 2)).sum().backward()\n",
    "padding": T + "e = nn.Embedding(5, 2, padding_idx=0)\n"
    "e(torch.tensor([0, 1])).sum().backward()\n"
    "print(e.weight.grad, e.weight[0])\n",
    "formatted numbers": T + "loss = torch.tensor(1.5, requires_grad=True) * 2\n"
    "print(f'{loss}', format(loss), '{}'.format(loss), f'{loss:.3f}', '%s' % loss)\n"
    "print('%.2f' % loss, '{:>9.2f}|'.format(loss), '{0[0]}'.format([loss]), f'{loss!r}')\n"
    "print('{0[1]} {a[k]}'.format(torch.ones(2), a={'k': loss}), str(loss), loss)\n"
    "q = nn.Parameter(torch.tensor(2.5))\nprint(f'{torch.tensor(3)} {torch.tensor(True)} {q}')",
    "own hash": "class A:\n    def __init__(self, n):\n        self.n = n\n"
    "    def __hash__(self):\n        return 7 * self.n\n    def __eq__(self, other):\n"
    "        return self.n == other.n\nclass B:\n    def __eq__(self, other):\n"
    "        return True\n"
    "print(hash(A(2)), {A(1): 2}[A(1)], hash((A(1), 'a')) == hash((A(1), 'a')))\n"
    "try:\n    hash(B())\nexcept TypeError as error:\n    print(error)\n",
    "text array": T + "print(np.array([1, 2], dtype=str), np.array(['a'], dtype=str))\n"
    "print(np.array([1.5]).astype(str), np.zeros(2, dtype=int))\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_as_in_pytorch(name: str) -> None:
    trace = run(PROGRAMS[name])
    assert trace.error is None
    output, names = plain(PROGRAMS[name])
    assert trace.output == output
    if "w" in names:
        record = trace.variables["w"]
        np.testing.assert_array_equal(record.value, names["w"].detach().numpy())
        np.testing.assert_array_equal(record.grad, names["w"].grad.numpy())


def test_the_part_that_torch_calls_invalid_is_shown() -> None:
    trace = run(PROGRAMS["named part"])
    assert trace.variables["row"].value.tolist() == [1.5, -3.0]
    assert not trace.variables["row"].requires_grad


DEPRECATED = (
    T + "layer = nn.Linear(2, 1)\nlayer.register_backward_hook(lambda m, i, o: None)\n"
    "x = torch.ones(1, 2, requires_grad=True)\n(layer(x) * 2).sum().backward()\n"
)


def test_deprecations_are_passed_on() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(compile(DEPRECATED, "<plain>", "exec"), {})
    (text,) = [str(w.message) for w in warned if issubclass(w.category, FutureWarning)]
    assert text[:100] in "\n".join(run(DEPRECATED).notes)


def test_tensors_in_containers_are_variables() -> None:
    trace = run(
        "import torch\nparams = [torch.ones(2, requires_grad=True), (torch.zeros(1), 3)]\n"
        "d = {'w': torch.ones(1, requires_grad=True), 2: {'n': torch.ones(3)}}\n"
        "many = [torch.zeros(1) for i in range(5000)]\n"
        "(params[0].sum() * d['w']).backward()\nwith torch.no_grad():\n    params[0] += 1\n"
    )
    assert trace.variables["params[0]"].value.tolist() == [2.0, 2.0]
    assert trace.variables["params[0]"].grad.tolist() == [1.0, 1.0]
    assert trace.variables["d['w']"].grad.tolist() == [2.0]
    assert trace.variables["params[1][0]"].value.tolist() == [0.0]
    assert trace.variables["d[2]['n']"].value.tolist() == [1.0, 1.0, 1.0]
    names = {record.name for record in trace.tensors}
    assert {"params[0]", "d['w']", "params[1][0]", "d[2]['n']"} <= names
    assert len(trace.variables) < 30


def test_a_tensor_of_a_list_gets_a_record_that_is_shown() -> None:
    """Also one that was last named between the first and the last turns of a loop."""
    value = torch.ones(2)
    finished = Run(Program("", {}), ProgramRecorder(), variables={"kept": [value]})
    recorder = finished.watcher
    recorder.is_between = True
    recorder.add("place", 1, "grad", value).named = True
    recorder.is_between = False
    trace = assemble(finished, None, 0, ())
    assert trace.variables["kept[0]"].value.tolist() == [1.0, 1.0]


def test_a_norm_of_a_parametrized_weight_is_shown() -> None:
    trace = run(
        T + "from torch.nn.utils.parametrizations import spectral_norm\n"
        "layer = spectral_norm(nn.Linear(20, 40))\n"
        "size = torch.linalg.matrix_norm(layer.weight, 2)\n"
    )
    assert trace.error is None
    assert trace.variables["size"].autograd.grad_fn is not None


def test_a_program_may_make_errors_of_warnings() -> None:
    trace = run(
        "import warnings, torch\nwarnings.simplefilter('error')\n"
        "x = torch.ones(2, requires_grad=True)\n(x * 2).sum().backward()\nprint(x.grad)\n"
    )
    assert trace.error is None
    assert trace.output == "tensor([2., 2.])\n"


def test_what_a_device_block_in_a_long_loop_does_is_recorded() -> None:
    trace = run(
        "import torch\nw = torch.ones(2, requires_grad=True)\ntotal = torch.zeros(())\n"
        "for step in range(200):\n    with torch.device('cpu'):\n        doubled = w * 2\n"
        "        y = doubled.sum()\n        if step == 150:\n            z = (w * 3).sum()\n"
        "            total = total + z\ntotal.backward()\n"
    )
    last = [record for record in trace.tensors if record.name == "doubled"][-1]
    assert last.origin.visit == 200
    assert "never used" not in last.why_none.text


def test_variables_give_the_values_of_tensors_in_tuples_lists_and_dicts() -> None:
    trace = run(
        "import torch\nx = torch.tensor([1.0, 2.0])\n"
        "g = torch.autograd.functional.vjp(lambda t: t ** 3, x, torch.ones(2))\n"
        "nested = {'a': [(x, 5)], '$': {'$': 'array'}, '$$': 1}\n"
        "large = [torch.ones(100, 100), x]\n"
        "many = [torch.zeros(1) for i in range(150)] + [torch.zeros(1) for i in range(150)]\n"
    )
    again = from_plain(Trace, json.loads(json.dumps(to_plain(trace))))
    assert validate(again) is again
    for variables in (trace.variables, again.variables):
        assert [part.tolist() for part in variables["g"]] == [[1, 8], [3, 12]]  # x³ and 3x²
        assert variables["nested"]["a"][0][0].tolist() == [1, 2]
        assert variables["nested"]["a"][0][1] == 5
        assert (variables["nested"]["$"], variables["nested"]["$$"]) == ({"$": "array"}, 1)
        summary, values = variables["large"]
        assert (summary.shape, summary.mean, values.tolist()) == ((100, 100), 1.0, [1, 2])
        given = [item for item in variables["many"] if isinstance(item, np.ndarray)]
        assert 0 < len(given) < 200
        assert variables["many"][199] == "tensor of shape (1,)"
