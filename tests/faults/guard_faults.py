"""Faults in the guarded language, each with the hostile program that notices it.

A fault is a module of explorer/language, a piece of its text that occurs once, the text that
replaces it, and a piece of the hostile program (see tests/hostile/corpus).
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    module: str
    old: str
    new: str
    program: str


def _more(word: str, new: str) -> tuple[str, str]:
    """One more name in a table."""
    return word, f"{word} {new}"


FAULTS: dict[str, Fault] = {
    # --- syntax: what may be written ---
    "names with two underscores": Fault(
        "syntax", 'if name.startswith("__"):', "if False:", "(__x__ := 1)"
    ),
    "names of arguments": Fault(
        "syntax", "        node.arg = self.identifier(node, node.arg)\n\n    def check_k",
        "        pass\n\n    def check_k", "def f(__class__):",
    ),
    "names of classes": Fault(
        "syntax", "        node.name = self.identifier(node, node.name)\n        for key",
        "        for key", "class __X__:",
    ),
    "names of caught errors": Fault(
        "syntax", "        if node.name:\n            node.name = self.identifier(node, node.name)",
        "        pass", "except ZeroDivisionError as __x__",
    ),
    "names of globals": Fault(
        "syntax", "node.names = [self.identifier(node, name) for name in node.names]", "pass",
        "global __builtins__",
    ),
    "attributes in patterns": Fault(
        "guard.matching", "return self._get(value, name)", "return getattr(value, name)",
        "case object(gi_running=r)",
    ),
    "values in patterns": Fault(
        "rewrite.matching", "[rewriter.transform(operand) for operand in operands]", "operands",
        "case torch.os.sep",
    ),
    "when generators end": Fault(
        "rewrite.generators", "return has_end and any(", "return False and any(",
        "[next(g()), ran == []]",
    ),
    "generators that yield from others": Fault(
        "guard.generators", "items if isinstance(items, GeneratorType) else map(admit, items)",
        "items", "def throw(self, *error)",
    ),
    "statements that are refused": Fault(
        "syntax", "return self.refusal(refusal, statement)",
        "self.refusal(refusal, statement)\n            return statement", "print(b'bytes')",
    ),
    "async def": Fault("syntax", *_more("FunctionDef ClassDef", "AsyncFunctionDef"), "async def"),
    "except*": Fault("syntax", *_more("Try ExceptHandler", "TryStar"), "except* ValueError"),
    "bytes": Fault("syntax", "if isinstance(value, bytes):", "if False:", "print(b'bytes')"),
    "__del__": Fault("syntax", *_more("__reversed__", "__del__"), "def __del__(self)"),
    "__index__": Fault("syntax", *_more("__reversed__", "__index__"), "def __index__(self)"),
    "long programs": Fault("syntax", "MAX_SOURCE = 150_000", "MAX_SOURCE = 10**7", "#" * 1000),
    "long literals": Fault("syntax", "MAX_LITERAL = 20_000", "MAX_LITERAL = 10**7", "a" * 59000),
    # --- rewrite: what is compiled ---
    "attributes are read": Fault(
        "rewrite.expressions",
        'return self.call("get", node, self.transform(node.value), ast.Constant(node.attr))',
        "node.value = self.transform(node.value)\n        return node", "print(torch.os.environ)",
    ),
    "attributes are assigned": Fault(
        "rewrite.expressions", "if isinstance(node, ast.Attribute):", "if False:",
        "torch.relu = print",
    ),
    "attributes are deleted": Fault(
        "rewrite.statements",
        "node.targets = [self.target(target) for target in node.targets]\n        return node",
        "return node", "del torch.relu",
    ),
    "attributes in starred targets": Fault(
        "rewrite.expressions", "node.value = self.target(node.value)", "pass", "*torch.relu, b",
    ),
    "attributes in for": Fault(
        "rewrite.statements", "node.target = self.target(node.target)\n        may_end",
        "may_end", "for Net()._modules in",
    ),
    "attributes in with": Fault(
        "rewrite.statements", "item.optional_vars = self.target(item.optional_vars)", "pass",
        "with torch.no_grad() as torch.relu",
    ),
    "attributes in comprehensions": Fault(
        "rewrite.expressions", "generator.target = self.target(generator.target)", "pass",
        "[0 for torch.relu in",
    ),
    "decorators": Fault(
        "rewrite.statements",
        "node.decorator_list = self.decorators(node)\n        node.returns", "node.returns",
        "@torch.os.system",
    ),
    "defaults of arguments": Fault(
        "rewrite.expressions", "node.defaults = [self.transform(d) for d in node.defaults]", "pass",
        "def f(x=torch.os.environ)",
    ),
    "keyword arguments": Fault(
        "rewrite.expressions", "keyword.value = self.transform(keyword.value)", "pass",
        "print(1, sep=torch.os.environ)",
    ),
    "imports": Fault(
        "rewrite.statements", "out.append(self.assign_name(node, alias.asname or path, lookup))",
        "out.append(node)", "import pickle",
    ),
    "bases of classes": Fault(
        "rewrite.statements",
        'node.bases = [self.call("base", base, self.transform(base)) for base in node.bases]',
        "node.bases = [self.transform(base) for base in node.bases]", "class A(torch.Generator):",
    ),
    # --- guard: what happens while it runs ---
    "what is missing is read all the same": Fault(
        "guard.attributes", "raise self._missing(receiver, kind, name)",
        "return getattr(receiver, name)", "print(h.gi_frame)",
    ),
    "assigning": Fault(
        "guard.attributes", "self._check_writable(receiver, name)\n        if name", "if name",
        "x.anything = 1",
    ),
    "deleting": Fault(
        "guard.attributes", "self._check_writable(receiver, name)\n        delattr", "delattr",
        "del Net()._parameters",
    ),
    "what a tensor may be assigned": Fault(
        "guard.attributes", "return name in vocabulary.WRITABLE_TENSOR_NAMES", "return True",
        "x.backward = print",
    ),
    "what torch keeps on a module": Fault(
        "guard.attributes", "        if name in fields:\n            return name[:1] != \"_\" or "
        "name not in vocabulary.private_names(kind)", "        if name in fields:\n            "
        "return True", "nn.Linear(1, 1)._parameters",
    ),
    "what torch keeps on a module, assigned": Fault(
        "guard.attributes", "            return name[:1] != \"_\" or name not in "
        "vocabulary.private_names(kind)\n        if isinstance(receiver, WrappedCtx",
        "            return True\n        if isinstance(receiver, WrappedCtx",
        "net._parameters = {}",
    ),
    "names of one's own instances": Fault(
        "guard.attributes", "return name in stored or self.classes.defines(kind, name)",
        "return True", "pass\nE().add_note",
    ),
    "apply of any class": Fault(
        "guard.attributes", 'name == "apply" and issubclass(receiver, torch.autograd.Function)',
        'name == "apply"', "nn.Linear.apply(",
    ),
    "what a context keeps": Fault(
        "guard.attributes", 'not name.startswith("_") and name in receiver.__dict__',
        'not name.startswith("_")', "ctx.to_save",
    ),
    "what a context is assigned": Fault(
        "guard.attributes",
        'return name[:1] != "_" and name != "variable" and not hasattr(kind, name)',
        "return True", "ctx.variable = x",
    ),
    "fields of a node": Fault(
        "guard.attributes", 'return saved.startswith("_saved_") and', "return",
        "(x * x).grad_fn._input_metadata",
    ),
    "fields of a named result": Fault(
        "guard.attributes", 'return not name.startswith(("_", "n_")) and isinstance(',
        "return True or isinstance(", "max(0).n_fields",
    ),
    "behind a name of one's own": Fault(
        "guard.classes", "return first in self.own and", "return True and",
        "super().with_traceback(t)",
    ),
    "the class of a class": Fault(
        "guard.attributes", "return False  # the class of a class; `get` handles everything else",
        "return True", "print(int.__class__)",
    ),
    "special methods behind super": Fault(
        "guard.attributes",
        "getter = _INHERITED.get(name) or", "getter = _INHERITED.get(name, getattr) or",
        "super().__eq__(1)",
    ),
    "__init__ of any class": Fault(
        "guard.attributes", 'return known and name == "__init__"', 'return name == "__init__"',
        "print(dict.__init__)",
    ),
    "special methods of classes": Fault(
        "guard.attributes", 'return known and name == "__init__"', "return known",
        "print(A.__repr__)",
    ),
    "special methods of instances": Fault(
        "guard.attributes",
        "return kind in self.classes.own and self.classes.definer(kind, name) in self.classes.own",
        "return kind in self.classes.own", "print(A().__hash__)",
    ),
    "__doc__ of anything": Fault(
        "guard.attributes",
        "return isinstance(receiver, types.FunctionType) or kind in self.classes.own",
        "return True", "print([].__doc__)",
    ),
    "lists as indices, read": Fault(
        "guard.items", "return self.tensor[require_numbers(key)]", "return self.tensor[key]",
        "\ntorch.ones(3)[items]",
    ),
    "lists as indices, written": Fault(
        "guard.items", "self.tensor[require_numbers(key)] = value", "self.tensor[key] = value",
        "\ntorch.ones(3)[items] = 1",
    ),
    "lists in new_tensor": Fault(
        "guard.checked_methods", "receiver.new_tensor(require_numbers(data), **options)",
        "receiver.new_tensor(data, **options)", "\ntorch.ones(1).new_tensor(items)",
    ),
    "bases": Fault(
        "guard.classes", "(kind in self.own or kind in vocabulary.BASES)", "True",
        "class A(torch.Generator):",
    ),
    "classes are handed out": Fault(
        "guard.classes", "return self.proxies[kind]", "return kind", "type(np.array([1]))(1000)",
    ),
    "classes are called": Fault(
        "vocabulary.class_proxy",
        'raise OutsideLanguage(f"A {self.__name__} cannot be created by calling its class.")',
        "return self.wrapped(*args, **kwargs)", "np.ndarray(1000)",
    ),
    "getattr": Fault(
        "builtins", 'if type(name) is not str or name.startswith("__"):', "if False:",
        'list(map(getattr, [()], ["__class__"]))',
    ),
    "fields of str.format": Fault(
        "guard.formatting", "        value = self.get_value(first, args, kwargs)\n",
        "        return super().get_field(field_name, args, kwargs)\n",
        '"{0.__class__}".format(1)',
    ),
    "arrays of objects": Fault(
        "guard.items", 'raise OutsideLanguage("An array of such large integers cannot be '
        'changed.")', "self.array[key] = value", "np.float64(1) - [2 ** 70]",
    ),
    "parts of a module": Fault(
        "program", "if TORCH_LOCK._is_owned() and not is_plain:", "if False:",
        "register_buffer('__array__'",
    ),
    "modules behind namespaces": Fault(
        "module_proxy",
        "        raise vocabulary.missing_name_error(self.path, name)\n\n    def __repr__",
        '        return getattr(__import__(self.path, fromlist=["x"]), name)\n\n    def __repr__',
        "print(F.importlib)",
    ),
    # --- vocabulary: what there is ---
    "a tensor's method more": Fault(
        "vocabulary.torch_names", *_more("T mT H mH data grad", "data_ptr"), "x.data_ptr()"
    ),
    "a module's method more": Fault(
        "vocabulary.torch_names", *_more("flatten_parameters", "share_memory"), "share_memory()"
    ),
    "a function of numpy more": Fault(
        "vocabulary.python_names", *_more("concatenate stack", "frompyfunc"),
        "np.frompyfunc(print",
    ),
    "lists of anything": Fault(
        "vocabulary.data_checks", "    if other is not None:\n        raise OutsideLanguage(\n"
        '            f"A tensor can hold', "    if False:\n        raise OutsideLanguage(\n"
        '            f"A tensor can hold', "TensorDataset(torch.ones(3))[items]",
    ),
    "arrays of anything": Fault(
        "vocabulary.data_checks", 'kind in "OVS"', 'kind in "VS"', "np.zeros(3, dtype=object)"
    ),
    "settings of DataLoader": Fault(
        "vocabulary.data", "items() if name in _USED}", "items()}",
        "DataLoader([1, 2], num_workers=2, timeout=3)",
    ),
    "settings of printing": Fault(
        "vocabulary.replacements", "and value > limit:", "and False:",
        "linewidth=10 ** 9, edgeitems",
    ),
    "sizes of an LSTM": Fault(
        "vocabulary.checked_torch",
        "or [tuple(w.shape) for w in weights] != _expected_shapes(plain):", ":",
        "m.hidden_size = 1000",
    ),
    "fused optimizers": Fault(
        "vocabulary.checked_torch", "if fused is not None and fused is not False:", "if False:",
        "momentum=.9, fused=True",
    ),
    "settings of an optimizer after its closure": Fault(
        "vocabulary.checked_torch",
        "            _check_settings(self)  # the closure may have changed them\n", "",
        "o.param_groups[0]['fused'] = True\n    o.state[p]['sum']",
    ),
    "state of an optimizer, loaded": Fault(
        "vocabulary.checked_torch", "        _refuse(find_non_number(state_dict, dict))\n", "",
        'saved["state"][0]["eta"] = items',
    ),
    # --- limits ---
    "large numbers": Fault(
        "guard.limits", "MAX_BITS = 4096", "MAX_BITS = 10**9", "10 ** 4000 * 10 ** 4000"
    ),
    # --- holes that were found (corpus/holes.py) ---
    "super() of torch's classes": Fault(
        "guard.attributes", "if owner is None or after not in self.classes.own:",
        "if owner is None:", "super(torch.optim.Adam, o).step()",
    ),
    "unbound methods by super()": Fault(
        "guard.attributes", "if isinstance(owner, type) or getter is None:", "if getter is None:",
        "super(A, A).forward",
    ),
    "texts by super()": Fault(
        "guard.attributes", '"__repr__": _get_text_method,', '"__repr__": getattr,', "B().text()",
    ),
    "texts of layers": Fault(
        "guard.checked_methods", '(nn.Module, "extra_repr"): _get_extra_repr,', "",
        "hidden(nn.Flatten(a).extra_repr()",
    ),
    "arguments of exceptions": Fault(
        "guard.checked_methods", '(BaseException, "args"): _get_exception_args,', "", "in_dims=a",
    ),
    "parameters by super()": Fault(
        "guard.attributes",
        '"__init__": _get_init,', '"__init__": getattr,', "super().__init__(*a)",
    ),
    "parameters by the class": Fault(
        "guard.attributes",
        "return memory_safety.with_zero_initialisation(value)", "return value",
        "nn.Bilinear.__init__",
    ),
    "parameters of a class without __init__": Fault(
        "guard.classes", "new_class.__init__ = _make_init(new_class)", "pass",
        "class A(nn.Linear):\n    def reset_parameters",
    ),
    "indices in memory of their own": Fault(
        "vocabulary.memory_safety", "copy.data = value.clone()", "pass",
        "F.max_pool2d(x, 2, return_indices=True)",
    ),
    "indices of an embedding": Fault(
        "vocabulary.checked_functions", "return function(*map(private_copy, args), **named)",
        "return function(*args, **kwargs)", "F.embedding(i, w, sparse=True)",
    ),
    "indices that were saved": Fault(
        "guard.attributes",
        "private = tuple(map(memory_safety.private_copy, values))", "private = values",
        "y = F.max_pool2d(x, 2)",
    ),
    "what schedulers call": Fault(
        "vocabulary.checked_torch",
        "return as_function(value)", "return value", "LambdaLR(opt, [float])",
    ),
    "keys of an optimizer's state": Fault(
        "vocabulary.checked_torch", "if any(isinstance(p, torch.Tensor) and id(p) not in known",
        "if any(False", "number < 10 ** 6",
    ),
    "the memo of a copy": Fault(
        "vocabulary.replacements",
        "    if memo is not None:", "    if False:", "deepcopy([1], memo)",
    ),
    "results that are not computed": Fault(
        "vocabulary.data_checks",
        'if not fills and kwargs.get("where", True) is not True:', "if False:",
        "np.sqrt(np.ones(9000), where",
    ),
    "arrays of texts": Fault(
        "vocabulary.data_checks", 'if kind == "U":', "if False:", "np.array(lambda: 1",
    ),
    "stops and with": Fault(
        "guard", "if not isinstance(error, ProgramStopped):", "if True:",
        "with C():\n    'a' * 10 ** 9",
    ),
    "stops and finally": Fault(
        "rewrite.statements", '"reraise_stop", node.finalbody[0]', '"slice", node.finalbody[0], '
        "ast.Constant(1)", "        2 ** 10 ** 9\n    finally:\n        return 1",
    ),
    "texts cut by a template": Fault(
        "guard.formatting", "return kind(value, self)", "return value", "'%.{}s'.format(n) % a",
    ),
    "many fields": Fault(
        "guard.formatting", "        check_text_length(self.size)\n\n    def get",
        "        pass\n\n    def get", "('%9999d' * 5000) %",
    ),
    "long f-strings": Fault(
        "guard.formatting", "check_text_length(sum(map(len, parts)))", "pass",
        "f'{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}'",
    ),
    "long lists": Fault(
        "guard.checked_methods",
        "        check_list_length(len(items) + len(more))\n", "", "x.extend(x)"
    ),
    "torch's names in a class": Fault(
        "guard.classes", "        self._check_names(new_class)\n", "",
        "class A(nn.ParameterList):\n    def _get",
    ),
    "torch's names, assigned to a class": Fault(
        "guard.classes", 'return name[:1] != "_" or not any(', 'return name[:1] != "_" or any(',
        "M._get_abs_string_index = lambda",
    ),
    "buffers that are none": Fault(
        "guard.checked_methods",
        '(nn.Module, "get_buffer"): _get_buffer,', "", "A().get_buffer('b.mro')"
    ),
    "copies of bound methods": Fault(
        "vocabulary.replacements", "return x if isinstance(x, types.MethodType) else copy.copy(x)",
        "return copy.copy(x)", "copy(A.x)()[0]",
    ),
    "objects beside a class": Fault(
        "vocabulary.class_proxy",
        "return unwrap(other) | self.wrapped if isinstance(other, _UNION_PARTS) else",
        "return unwrap(other) | self.wrapped if True else", "O() | type(iter([]))",
    ),
    "expanded tensors": Fault(
        "vocabulary.checked_functions", "return value.contiguous() if is_expanded and",
        "return value if True or",
        "x.median(0)[0]",
    ),
    "texts put into arrays": Fault(
        "guard.items", "self.tensor[key] = require_numbers(value)\n\n\nclass _ReadOnlyArray",
        "self.tensor[key] = value\n\n\nclass _ReadOnlyArray", "a[:] = [lambda: 1]",
    ),
    "records of numpy": Fault(
        "vocabulary.data_checks", 'if kind and (kind in "OVS" or', 'if kind and (kind == "O" or',
        "dtype='S9').tolist()[0]",
    ),
    "what was never filled": Fault(
        "guard.attributes",
        'saved.startswith("_saved_") and not memory_safety.is_uninitialised(\n'
        "                receiver, saved\n            )",
        'saved.startswith("_saved_")', "F.rrelu(x).grad_fn._saved_noise",
    ),
    "out= that resizes": Fault(
        "vocabulary.replacements", "replaced[name] = copies_to_out(thing)", "pass",
        "out=w.t()",
    ),
    "out= by position": Fault(
        "vocabulary.out_argument", "if len(args) > place:", "if False:", "torch.norm(torch.ones(3)",
    ),
    "shapes that vjp captured": Fault(
        "vocabulary.memory_safety", "if changes != _layout_changes:", "if False:",
        "torch.func.vjp(",
    ),
    "new data inside a transform": Fault(
        "vocabulary.memory_safety",
        "if torch._C._are_functorch_transforms_active() or forward_ad", "if forward_ad",
        "return y.sum()\ntorch.func.grad(f)(",
    ),
    "reshaping during backward": Fault(
        "guard.checked_methods", "        memory_safety.start_layout_change()\n", "",
        "y.register_hook(lambda g: (f(), None)[1])",
    ),
    "gaps in new data": Fault(
        "vocabulary.memory_safety", "new = value if base is tensor else base", "new = base",
        "base.data = ",
    ),
    "gaps in the data of a base": Fault(
        "vocabulary.memory_safety", "new = value if base is tensor else base", "new = value",
        "v.data = torch.ones(300)",
    ),
    "gaps after an offset": Fault(
        "vocabulary.memory_safety",
        "and value.storage_offset() == tensor.storage_offset()", "", "[50::100].detach()",
    ),
    "division of the smallest integer": Fault(
        "vocabulary.checked_functions", "other = torch.where(traps, 1, other)", "pass",
        "torch.tensor([-2 ** 63]), torch.tensor([-1]), rounding_mode",
    ),
    "division of the smallest integer by a number": Fault(
        "vocabulary.checked_functions", 'options["rounding_mode"] = "floor"', "pass",
        "div_(-1, rounding_mode",
    ),
    "large sizes of a pooling function": Fault(
        "vocabulary.checked_functions", "if abs(operator.index(number)) >= 2**31:", "if False:",
        "F.max_pool1d(torch.ones(1, 1, 4), 2 ** 63 - 1)",
    ),
    "large sizes of a pooling layer": Fault(
        "vocabulary.checked_torch", "BatchNorm3d\n    MaxPool1d ", "BatchNorm3d\n    ",
        "nn.MaxPool1d(2 ** 63 - 1)",
    ),
    "grids that are not finite": Fault(
        "vocabulary.checked_functions", 'if padding_mode != "zeros":', "if False:",
        "g[0, 3, 3, 0] = float('nan')",
    ),
    "grids that were saved": Fault(
        "vocabulary.memory_safety", 'if attribute == "_saved_grid":', "if False:",
        "y.grad_fn._saved_grid",
    ),
    "tensors without memory": Fault(
        "vocabulary.memory_safety", 'library.impl(operator, _refuse_meta, "Meta")', "pass",
        "other = nn.Linear(99, 99, True, 'meta')",
    ),
    "NaN": Fault("builtins", "if item != item:", "if False:", "hash(nan) < 1000"),
}  # fmt: skip
