"""Ways out by what arrives: attributes of every kind of object that a program gets, and objects
that torch, numpy and Python hand to functions of a program.

The programs of `CLOSED` run to their end: `closed` asserts that none of the names can be read.
Those of `ARRIVING` end in an error.
"""

_T = "import torch\n"
_N = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
_NP = "import numpy as np\n"
_OPT = _N + "p = nn.Parameter(torch.ones(2))\nopt = torch.optim.SGD([p], lr=0.1)\n"
_DATA = "from torch.utils.data import DataLoader, Dataset\n"
_CLOSED = """\
def closed(thing, names):
    for name in names.split():
        try:
            getattr(thing, name)
        except AttributeError:
            continue
        assert False, name
"""

# -- names that no object of a program shows -------------------------------------------------------

#: What makes an object, the object, and names that lead out of it.
_OBJECTS = [
    ("def f(x=1):\n    return f", "f", "func_globals gi_frame cr_frame f_globals x tb_frame"),
    (
        "",
        "lambda x=1: 0",
        "__closure__ __defaults__ __kwdefaults__ __builtins__ __get__ __module__",
    ),
    ("", "len", "__self__ __module__ __text_signature__ __call__ __reduce__"),
    ("", "[].append", "__self__ __reduce__ __objclass__"),
    ("class A:\n    def f(self):\n        pass\n", "A().f", "__func__ __self__ __reduce__ f"),
    (
        "class A:\n    def f(self):\n        pass\n",
        "A",
        "mro __mro__ __subclasses__ __dict__ __base__",
    ),
    ("class A:\n    pass\n", "A()", "__dict__ __weakref__ __reduce_ex__ __getstate__ __sizeof__"),
    (
        "",
        "(x for x in [1])",
        "gi_code gi_frame gi_running gi_yieldfrom gi_suspended throw __next__",
    ),
    ("", "iter([1])", "__reduce__ __setstate__ __length_hint__ __next__"),
    ("", "{1: 2}.keys()", "mapping isdisjoint __reversed__"),
    ("", "property(lambda self: 1)", "fget fset fdel deleter __get__ __set_name__"),
    ("", "staticmethod(len)", "__func__ __wrapped__ __get__ __dict__"),
    ("from functools import partial\n", "partial(print, 1)", "func args keywords __setstate__ x"),
    ("from itertools import chain\n", "chain", "__new__ mro __self__"),
    (
        "from collections import defaultdict\n",
        "defaultdict(list)",
        "default_factory __missing__ __copy__ fromkeys __reduce__",
    ),
    ("from collections import Counter, deque\n", "Counter()", "_keep_positive fromkeys __reduce__"),
    (
        "import random\n",
        "random",
        "_os _inst SystemRandom setstate getstate path",
    ),
    ("import random\n", "random.uniform", "__self__ __func__ getstate"),
    (
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    e = error\n",
        "e",
        "__traceback__ __cause__ __context__ __notes__ with_traceback add_note __setstate__",
    ),
    (
        "e = None\ntry:\n    next(iter([]))\nexcept StopIteration as error:\n    e = error\n",
        "e",
        "value __reduce__ __init__",
    ),
    (_T, "torch", "path member _members os sys _C __dict__ nn.os autograd.os _tensor overrides"),
    (_T, "torch.Tensor", "wrapped make mro __call__ _make_subclass as_subclass __init__"),
    (_T, "torch.Size([1])", "__new__ __reduce__ _fields n_fields"),
    (_T, "torch.ones(3).max(0)", "_fields n_fields n_sequence_fields n_unnamed_fields _replace"),
    (_T, "torch.float32", "to_complex to_real __reduce__ __module__"),
    (_T, "torch.device('cpu')", "__enter__ __exit__ __call__ __reduce__"),
    (_T, "torch.Generator()", "get_state set_state device seed graphsafe_set_state __reduce__"),
    (_T, "torch.no_grad()", "prev clone __enter__ __exit__ __call__"),
    (_T, "torch.inference_mode()", "mode _inference_mode_context clone"),
    (
        _T,
        "torch.ones(2, requires_grad=True)",
        "_backward_hooks _post_accumulate_grad_hooks _grad_fn _cdata _is_param _is_view volatile "
        "data_ptr untyped_storage _typed_storage apply_ map_ map2_ set_ resize_ ctypes "
        "__dlpack__ __array__ __reduce_ex__ __setstate__ as_subclass grad_dtype module_load",
    ),
    (
        _T,
        "torch.ones(2, requires_grad=True).exp().grad_fn",
        "_sequence_nr _set_sequence_nr _register_hook_dict _input_metadata _raw_saved_nothing "
        "_saved_nothing getAttribute __call__ __class__.x",
    ),
    (
        _T,
        "torch.ones(2, requires_grad=True).register_hook(print)",
        "hooks_dict_ref extra_dict_ref id next_id __getstate__ __setstate__ __enter__",
    ),
    (
        _T + "class Fn(torch.autograd.Function):\n    pass\n",
        "Fn",
        "_backward_cls _forward_cls _is_legacy vmap jvp setup_context generate_vmap_rule mro "
        "_compiled_autograd_key saved_tensors mark_shared_storage",
    ),
    (
        _T + "kept = []\nclass Fn(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        kept.append(ctx)\n        return x * 2\n"
        "Fn.apply(torch.ones(2, requires_grad=True))\n",
        "kept[0]",
        "to_save dirty_tensors non_differentiable saved_for_forward _forward_cls "
        "apply apply_jvp maybe_clear_saved_tensors _raw_saved_tensors",
    ),
    (
        _N,
        "nn.Linear(1, 1)",
        "_parameters _buffers _forward_hooks _non_persistent_buffers_set _version _apply "
        "_call_impl _wrapped_call_impl _compiled_call_impl _get_name _named_members T_destination "
        "_load_from_state_dict _save_to_state_dict _replicate_for_data_parallel dump_patches "
        "call_super_init "
        "_register_state_dict_hook __dict__ __setattr__ __getstate__ share_memory to_empty compile",
    ),
    (_N, "nn.Linear(1, 1).forward", "__func__ __self__ __globals__ __code__"),
    (_N, "nn.TransformerEncoderLayer(4, 1).activation", "__globals__ __code__ __wrapped__"),
    (_N, "nn.Linear(1, 1).state_dict()", "_metadata __dict__ __reduce__ fromkeys"),
    (_N, "nn.ParameterList([1, print])", "_size _get_abs_string_index __dict__"),
    (
        _OPT,
        "opt",
        "_optimizer_step_pre_hooks _step_count _opt_called profile_hook_step _patch_step_function "
        "_optimizer_state_dict_pre_hooks __dict__ __setstate__ "
        "_zero_grad_profile_name OptimizerPreHook",
    ),
    (_OPT, "opt.step", "__self__ __func__ __wrapped__ hooked _wrapped_by_lr_sched"),
    (_OPT, "opt.state", "default_factory __missing__ fromkeys"),
    (
        _OPT + "s = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)\n",
        "s",
        "__dict__ load_state_dict _reset _init_is_better mode_worse best is_better",
    ),
    (
        _DATA,
        "DataLoader([1])",
        "multiprocessing_context _iterator __initialized",
    ),
    (
        _DATA,
        "iter(DataLoader([1]))",
        "_dataset _sampler_iter _dataset_fetcher _next_data _collate_fn _index_sampler",
    ),
    (
        _DATA + "class D(Dataset):\n    def __len__(self):\n        return 1\n",
        "D() + D()",
        "cumsum __class_getitem__",
    ),
    (
        _NP,
        "np.ones(3)",
        "base ctypes data flags flat view tofile dump dumps setflags resize byteswap getfield "
        "setfield strides __array_interface__ __array_struct__ __array_finalize__",
    ),
    (_NP, "np.float64(1)", "base data flags flat tobytes view newbyteorder __array_interface__"),
    (_NP, "np.ones(1).dtype", "type newbyteorder fields names subdtype metadata descr __reduce__"),
    (_NP, "np.add", "reduce at accumulate outer reduceat types __wrapped__ __self__"),
    (_NP, "np.random.default_rng(0)", "bit_generator spawn bytes __reduce__ __setstate__"),
]
_LOOKUPS = [f"{made}closed({thing}, {names!r})\n" for made, thing, names in _OBJECTS]
#: Two objects in each program.
CLOSED = [_CLOSED + "".join(_LOOKUPS[i : i + 2]) for i in range(0, len(_LOOKUPS), 2)]

# -- what other code hands to functions of the program ---------------------------------------------

_WITH = """\
got = []
class C:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        got.extend([kind, error, trace])
        return True
with C():
    ().nothing
"""
_LEAVING = [
    "got[0].__init__(got[1], 1)",
    "class D(got[0]):\n    pass",
    "got[2].tb_next",
    "type(got[2])(None, got[2], 1, 1)",
]

_FUNCTION = """\
import torch, copy
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        FORWARD
        return x * 2
    @staticmethod
    def backward(ctx, g):
        BACKWARD
        return g * 2
Fn.apply(torch.ones(2, requires_grad=True)).sum().backward()
"""
_CONTEXTS = [
    ("ctx.needs_input_grad = 1", "0"),
    ("ctx.metadata = ctx.next_functions = 1", "0"),
    ("ctx.__class__(1)", "0"),
    ("type(ctx).apply(x)", "0"),
    ("copy.copy(ctx)", "0"),
    ("0", "ctx.apply(g)"),
    ("0", "ctx._register_hook(print)"),
]
_RULE = """\
import torch
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def backward(ctx, g):
        return g
    @staticmethod
    def vmap(info, dims, x):
        ATTACK
        return x, 0
torch.vmap(Fn.apply)(torch.ones(2))
"""
_INFORMED = ["info.__class__(1, 2)", "info._make([1, 2])"]

#: torch sets attributes of these names while it calls `forward`.
_CALL = """\
import torch, copy
import numpy as np
from torch import nn
class M(nn.Module):
    def forward(self, x):
        return ATTACK
m, x = M(), torch.ones(2)
torch.func.functional_call(m, {'NAME': torch.ones(1)}, (x,))
"""
_SET = [
    ("__deepcopy__", "copy.deepcopy(self)"),
    ("__torch_function__", "torch.relu(self)"),
    ("__array__", "np.array(self)"),
    ("__array_struct__", "np.array([self])"),
    ("_compiled_call_impl", "self(x)"),
    ("__class__", "x"),
    ("__dict__", "x"),
    ("_forward_hooks.x", "x"),
    ("__init__.__globals__", "x"),
]

_MODULE = _N + (
    "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.w = nn.Parameter(torch.ones(2))\nm, x = M(), torch.ones(2)\n"
)
_PARTS = [
    "class P:\n    def split(self, sep):\n        return ['__class__']\nm.get_submodule(P())",
    "class P:\n    def split(self, sep):\n        return ['__init__', '__globals__']\n"
    "m.get_submodule(P())",
    "class P:\n    def rpartition(self, sep):\n        return '', '.', '__dict__'\n"
    "m.get_parameter(P())",
    "class P:\n    def rpartition(self, sep):\n        return '', '.', 'forward'\n"
    "m.get_buffer(P())",
    "class A(M):\n    def get_submodule(self, path):\n        return m\n"
    "A().get_parameter('x._parameters')",
    "class A(M):\n    def named_modules(self, *a, **k):\n        yield 'x', print\n"
    "list(A().parameters())",
    "class A(M):\n    def parameters(self, recurse=True):\n        return [torch]\n"
    "A().requires_grad_(False)",
    "m.load_state_dict({1: x})",
    "m.load_state_dict({'w': x, '__class__': x})",
    "m.load_state_dict(m.state_dict())._replace(missing_keys=1)",
    "m.register_forward_hook(print, what=1)",
    "nn.Module.__init__(print)",
    "Exception.__init__(m)",
    "torch.func.functional_call(torch, {}, (x,))",
    "opt = torch.optim.SGD([m.w], 0.1)\ntorch.optim.lr_scheduler.MultiplicativeLR(opt, [opt])",
]

_KINDS = [
    "type(lambda: 0)(1, {})",
    "type(int | str)(int, str)",
    "type(dict[int])(dict, 5)",
    "dict[int].fromkeys([1])",
    "class A(*[type(iter([]))]):\n    pass",
    "from typing import List\nclass A(List[int]):\n    pass\nA().append(print)",
    _DATA + "class A(Dataset[int]):\n    pass",
    _DATA + "Dataset['().nothing'].copy_with((1,))",
    _DATA + "isinstance(1, Dataset[int])",
    _DATA + "list(DataLoader([1], generator=print, shuffle=True))",
    _DATA + "class D(Dataset):\n    def __getitem__(self, i):\n        return print\n"
    "    def __len__(self):\n        return 2\nlist(DataLoader(D()))",
    _T + "import copy\ncopy.deepcopy(torch)._members['relu'] = print",
    _T + "import copy\ncopy.deepcopy(torch.Tensor)(3).untyped_storage()",
    _T + "setattr(torch, 'path', 'os')",
    _T + "setattr(torch.Tensor, 'make', print)",
    _T + "class S:\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n"
    "        return hash('shape')\ngetattr(torch.ones(1), S())",
    _T + "torch.set_printoptions(precision='1f} {0.__format__.__globals__[torch]} {0:.1')\n"
    "print(torch.tensor([1.5]))",
    _T + "torch.set_printoptions(precision='1f} {.__class__} {:.1')\nprint(torch.tensor([1.5]))",
    _NP + "class D:\n    dtype = 'O'\nnp.ones(3, dtype=D())",
    _NP + "class D:\n    def __hash__(self):\n        return hash('names')\n"
    "    def __eq__(self, other):\n        return True\n"
    "np.zeros(3, dtype={D(): ['a'], 'formats': ['O']})",
    _NP + "type(np.array([0], dtype='M8[s]').tolist()[0]).__new__",
    _NP + "np.array([0], dtype='M8[s]').tolist()[0].today()",
    "import random\nrandom.seed([1])",
]

ARRIVING = [
    *(_WITH + text for text in _LEAVING),
    *(_FUNCTION.replace("FORWARD", a).replace("BACKWARD", b) for a, b in _CONTEXTS),
    *(_RULE.replace("ATTACK", text) for text in _INFORMED),
    *(_CALL.replace("NAME", name).replace("ATTACK", text) for name, text in _SET),
    *(_MODULE + text for text in _PARTS),
    *_KINDS,
]
CLOSED, ARRIVING = (
    [text.replace("{", "{{").replace("}", "}}") for text in texts] for texts in (CLOSED, ARRIVING)
)
