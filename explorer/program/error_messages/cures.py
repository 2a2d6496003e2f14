"""Small changes of a program that cure an error: each gives the changed text, or None in doubt."""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches

from explorer.program.draft import Draft, called_name
from explorer.program.error_messages.known import Failure

_Match = re.Match[str]
#: Functions of torch.nn.functional that have a layer.
_LAYERS = {
    "relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid", "gelu": "GELU", "elu": "ELU",
    "leaky_relu": "LeakyReLU", "softplus": "Softplus", "silu": "SiLU",
}  # fmt: skip


def _method(failure: Failure, node: ast.expr | None, method: str) -> str | None:
    """The program with a method called on this expression."""
    draft = Draft(failure.source)
    if node is not None:
        draft.call_on(node, method)
    return draft.changed()


def _replaced(failure: Failure, node: ast.expr | None, template: str) -> str | None:
    """The program with another text for this expression; {} stands for its own."""
    draft = Draft(failure.source)
    if node is not None:
        draft.replace(node, template.format(draft.of(node)))
    return draft.changed()


def _argument(failure: Failure, place: int = 0) -> ast.expr | None:
    """An argument of the call that failed."""
    arguments = failure.node.args if isinstance(failure.node, ast.Call) else []
    return arguments[place] if place < len(arguments) else None


def _callee(failure: Failure, name: str = "") -> ast.expr | None:
    """What was called, if it has this last name."""
    node = failure.node
    if isinstance(node, ast.Call) and name in ("", called_name(node)):
        return node.func
    return None


# -- sizes --------------------------------------------------------------------------------------


def _set_size(failure: Failure, layer: str, old: int, new: int) -> str | None:
    """Another first size of the one layer of this name that has the old one."""
    sizes = [
        call.args[0]
        for call in Draft(failure.source).nodes(ast.Call)
        if re.fullmatch(layer, called_name(call)) and call.args
        if isinstance(call.args[0], ast.Constant) and call.args[0].value == old
    ]
    return _replaced(failure, sizes[0], str(new)) if len(sizes) == 1 else None


def fit_linear(failure: Failure, match: _Match) -> str | None:
    """Another in_features, or a transposed factor of a product."""
    rows, columns, inner, outer = map(int, match.groups())
    node = failure.node
    if not isinstance(node, ast.BinOp):
        return _set_size(failure, "Linear", inner, columns)
    draft = Draft(failure.source)
    factor = node.right if columns == outer else node.left if rows == inner else None
    if isinstance(node.op, ast.MatMult) and factor is not None:
        draft.replace(factor, f"{draft.operand(factor)}.T")
    return draft.changed()


def fit_channels(failure: Failure, match: _Match) -> str | None:
    return _set_size(failure, r"Conv\dd", int(match[3]), int(match[4]))


def fit_features(failure: Failure, match: _Match) -> str | None:
    return _set_size(failure, r"BatchNorm\dd", int(match[2]), int(match[1]))


def view_to_reshape(failure: Failure, match: _Match) -> str | None:
    draft, method = Draft(failure.source), _callee(failure, "view")
    if isinstance(method, ast.Attribute):
        draft.replace(method, f"{draft.operand(method.value)}.reshape")
    return draft.changed()


# -- dtypes -------------------------------------------------------------------------------------


def to_float(failure: Failure, match: _Match) -> str | None:
    """`.float()` after what is not float32: a factor, or the input of a layer."""
    node, operands = failure.node, failure.operands
    if isinstance(node, ast.BinOp) and len(operands) == 2:
        sides = zip((node.left, node.right), operands, strict=True)
        wrong = [side for side, operand in sides if operand.dtype != "float32"]
        return _method(failure, wrong[0], "float") if len(wrong) == 1 else None
    is_input = bool(operands) and operands[0].dtype != "float32" and _argument(failure, 1) is None
    return _method(failure, _argument(failure), "float") if is_input else None


def float_before(failure: Failure, match: _Match) -> str | None:
    method = _callee(failure)
    if not isinstance(method, ast.Attribute):
        return None
    is_function = isinstance(method.value, ast.Name) and method.value.id == "torch"
    return _method(failure, _argument(failure) if is_function else method.value, "float")


def target_to_long(failure: Failure, match: _Match) -> str | None:
    return _method(failure, _argument(failure, 1), "long")


def target_to_float(failure: Failure, match: _Match) -> str | None:
    is_integer = len(failure.operands) > 1 and "int" in failure.operands[1].dtype
    return _method(failure, _argument(failure, 1), "float") if is_integer else None


def argument_to_long(failure: Failure, match: _Match) -> str | None:
    return _method(failure, _argument(failure), "long")


def argument_to_float(failure: Failure, match: _Match) -> str | None:
    return _method(failure, _argument(failure), "float")


def invert_mask(failure: Failure, match: _Match) -> str | None:
    node, draft = failure.node, Draft(failure.source)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        draft.replace(node, f"~{draft.operand(node.operand)}")
    return draft.changed()


def make_tensor(failure: Failure, match: _Match) -> str | None:
    """`torch.tensor(…)` around numbers, lists and arrays."""
    is_function = match[2] != "input" or failure.code.startswith("torch.")
    argument = _argument(failure, int(match[3]) - 1 if is_function else 0)
    if match[4] not in ("float", "int", "list", "ndarray"):
        return None
    dtype = ", dtype=torch.float32" if match[4] == "ndarray" else ""
    return _replaced(failure, argument, f"torch.tensor({{}}{dtype})")


def from_numpy_to_tensor(failure: Failure, match: _Match) -> str | None:
    return _replaced(failure, _callee(failure, "from_numpy"), "torch.tensor")


# -- autograd -----------------------------------------------------------------------------------


def detach_before_numpy(failure: Failure, match: _Match) -> str | None:
    """`x.detach().numpy()`, or torch's function of the same name as numpy's."""
    method, draft = _callee(failure), Draft(failure.source)
    if not isinstance(method, ast.Attribute):
        return None
    if method.attr in ("numpy", "__array__"):
        draft.call_on(method.value, "detach")
    elif isinstance(method.value, ast.Name) and method.value.id in ("np", "numpy"):
        draft.replace(method.value, "torch")
    return draft.changed()


def detach_anew(failure: Failure, match: _Match) -> str | None:
    """`x = x.detach()`, for a line that is `x.detach_()`."""
    draft, method = Draft(failure.source), _callee(failure, "detach_")
    line, name = draft.statement(failure.line), getattr(method, "value", None)
    if isinstance(name, ast.Name) and line is not None and draft.of(line) == failure.code:
        draft.replace(line, f"{name.id} = {name.id}.detach()")
    return draft.changed()


def deepcopy_to_clone(failure: Failure, match: _Match) -> str | None:
    draft, argument = Draft(failure.source), _argument(failure)
    if failure.node is not None and argument is not None:
        draft.replace(failure.node, f"{draft.operand(argument)}.detach().clone()")
    return draft.changed()


def inference_to_no_grad(failure: Failure, match: _Match) -> str | None:
    draft = Draft(failure.source)
    for call in list(draft.nodes(ast.Call)):
        if called_name(call) == "inference_mode":
            draft.replace(call.func, "torch.no_grad")
    return draft.changed()


# -- modules ------------------------------------------------------------------------------------


def with_logits(failure: Failure, match: _Match) -> str | None:
    """The loss that applies the sigmoid itself."""
    if match[1] != "input":
        return None
    function = _callee(failure, "binary_cross_entropy")
    if function is not None:
        return _replaced(failure, function, "{}_with_logits")
    draft = Draft(failure.source)
    losses = [call.func for call in draft.nodes(ast.Call) if called_name(call) == "BCELoss"]
    for loss in losses:
        draft.replace(loss, draft.of(loss).replace("BCELoss", "BCEWithLogitsLoss"))
    return draft.changed() if len(losses) == 1 else None


def create_the_loss(failure: Failure, match: _Match) -> str | None:
    """`nn.MSELoss()(output, target)` of `nn.MSELoss(output, target)`."""
    has_two = _argument(failure, 1) is not None and _argument(failure, 2) is None
    return _replaced(failure, _callee(failure), "{}()") if has_two else None


def call_super(failure: Failure, match: _Match) -> str | None:
    draft = Draft(failure.source)
    methods = [m for m in draft.nodes(ast.FunctionDef, failure.line) if m.name == "__init__"]
    if methods:
        draft.insert_before(methods[-1].body[0], "super().__init__()")
    return draft.changed()


def rename_forward(failure: Failure, match: _Match) -> str | None:
    """The method whose name is nearly forward."""
    draft = Draft(failure.source)
    for owner in draft.nodes(ast.ClassDef):
        if owner.name == match[1]:
            names = [m.name for m in owner.body if isinstance(m, ast.FunctionDef)]
            for name in get_close_matches("forward", names, 1, 0.8):
                return re.sub(rf"\bdef {re.escape(name)}\b", "def forward", failure.source)
    return None


def wrap_in_parameter(failure: Failure, match: _Match) -> str | None:
    statement = Draft(failure.source).statement(failure.line)
    value = statement.value if isinstance(statement, ast.Assign) else None
    return _replaced(failure, value, "torch.nn.Parameter({})")


def star_the_list(failure: Failure, match: _Match) -> str | None:
    """`nn.Sequential(*[…])`, and layers in place of functions."""
    first = _argument(failure)
    if isinstance(first, ast.List | ast.Name) and _argument(failure, 1) is None:
        return _replaced(failure, first, "*{}")
    draft = Draft(failure.source)
    for argument in failure.node.args if isinstance(failure.node, ast.Call) else []:
        if isinstance(argument, ast.Attribute) and argument.attr in _LAYERS:
            draft.replace(argument, f"torch.nn.{_LAYERS[argument.attr]}()")
    return draft.changed()


def pass_parameters(failure: Failure, match: _Match) -> str | None:
    return _method(failure, _argument(failure), "parameters")


def put_into_list(failure: Failure, match: _Match) -> str | None:
    return _replaced(failure, _argument(failure), "[{}]")


def add_momentum(failure: Failure, match: _Match) -> str | None:
    node = failure.node
    keywords = {k.arg: k.value for k in node.keywords} if isinstance(node, ast.Call) else {}
    return _replaced(failure, keywords.get("nesterov"), "{}, momentum=0.9")


# -- Python -------------------------------------------------------------------------------------


def call_the_manager(failure: Failure, match: _Match) -> str | None:
    draft = Draft(failure.source)
    for block in draft.nodes(ast.With, failure.line):
        for manager in (item.context_expr for item in block.items):
            if block.lineno == failure.line and isinstance(manager, ast.Attribute | ast.Name):
                draft.replace(manager, f"{draft.of(manager)}()")
    return draft.changed()


def without_call(failure: Failure, match: _Match) -> str | None:
    draft, function = Draft(failure.source), _callee(failure)
    if function is not None and failure.node is not None and _argument(failure) is None:
        draft.replace(failure.node, draft.of(function))
    return draft.changed()


def _looped_over(failure: Failure) -> ast.expr | None:
    """What the loop that begins on the line goes through."""
    loops = Draft(failure.source).nodes(ast.For, failure.line)
    return next((loop.iter for loop in loops if loop.lineno == failure.line), None)


def call_the_method(failure: Failure, match: _Match) -> str | None:
    """`()` after the method that is indexed, or looped over."""
    node = failure.node.value if isinstance(failure.node, ast.Subscript) else failure.node
    if not isinstance(node, ast.Attribute):
        node = _looped_over(failure)
    return _replaced(failure, node, "{}()") if isinstance(node, ast.Attribute) else None


def count_with_range(failure: Failure, match: _Match) -> str | None:
    return _replaced(failure, _looped_over(failure), "range({})") if match[1] == "int" else None
