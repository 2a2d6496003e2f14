"""What stands before the program in a downloaded script: it notes tensors and prints the table."""

HEAD = '''\
"""Runs the program below and prints every named tensor with its value and gradient."""

import atexit
import collections

import torch
{imports}
_rows, _calls, _variables = [], collections.Counter(), {{}}


def _show(name, line, value, scope="", moment=""):
    """Note a tensor, or the tensors in a module, list, dict or object, under their names."""
    if isinstance(value, torch.nn.Module):
        if name != "self":
            for label, parameter in value.named_parameters():
                _show(f"{{name}}.{{label}}", line, parameter, scope, moment)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value[:20]):
            _show(f"{{name}}[{{index}}]", line, item, scope, moment)
    elif isinstance(value, dict):
        for key, item in list(value.items())[:20]:
            _show(f"{{name}}[{{key!r}}]", line, item, scope, moment)
    elif isinstance(value, torch.Tensor):
        label = f"{{scope.split('.')[-1]}}.{{name}}_{{_calls[scope]}}" if scope else name
        _note((line, scope, name, moment), label, value)
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        for field, item in list(vars(value).items())[:20]:
            _show(f"{{name}}.{{field}}", line, item, scope, moment)


def _see(name, line, value, scope=""):
    """The statement at this line gave the variable this value, or changed it."""
    if not scope:
        _variables[name] = line
    _show(name, line, value, scope)


def _leaves():
    """Backward is about to run: leaves that were changed since have a row of their own."""
    for row in list({{id(row["tensor"]): row for row in _rows}}.values()):
        tensor = row["tensor"]
        if tensor.is_leaf and tensor.requires_grad:
            line, scope, _, _ = row["place"]
            _note((line, scope, row["label"], "before backward"), row["label"], tensor)


def _note(place, label, tensor):
    """A row of the table, unless the tensor stands there as it is."""
    values = tensor.detach().clone()
    history = (tensor.requires_grad, tensor.grad_fn)
    known = [row for row in _rows if row["tensor"] is tensor]
    if place[3]:
        known = [row for row in known if row["label"] == label]
    if known and known[-1]["history"] == history and _equal(known[-1]["values"], values):
        if known[-1]["label"] == label or place[1]:
            return
    row = {{"place": place, "label": label, "tensor": tensor, "values": values}}
    row |= {{"history": history, "grad": None}}
    _rows.append(row)
    if tensor.grad_fn is not None:
        # Sees the gradient after all hooks on the tensor; keeps the last.
        number = tensor.output_nr
        tensor.grad_fn.register_prehook(lambda grads: row.update(grad=grads[number]))


def _equal(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _text(tensor):
    """The numbers of a small tensor as nested lists, of a large one their mean and norm."""
    if tensor is None:
        return "None"
    if tensor.numel() > 100:
        wide = tensor.detach().double()
        mean, norm = wide.mean().item(), wide.norm().item()
        return f"{{tuple(tensor.shape)}}, mean {{mean:.6g}}, norm {{norm:.6g}}"

    def write(item):
        if isinstance(item, list):
            return "[" + ", ".join(map(write, item)) + "]"
        return f"{{item:.6g}}" if isinstance(item, float) else str(item)

    return write(tensor.tolist())


def _table():
    """The first three and the last of what each statement made."""
    for name, line in list(_variables.items()):
        _show(name, line, globals().get(name), moment="at the end")
    places = collections.defaultdict(list)
    for row in _rows:
        places[row["place"]].append(row)
    for row in _rows:
        rows = places[row["place"]]
        if any(row is kept for kept in [*rows[:3], rows[-1]]):
            tensor = row["tensor"]
            own = (tensor.is_leaf and tensor.requires_grad) or tensor.retains_grad
            print(f"{{row['label']}} (line {{row['place'][0]}})")
            print("  value", _text(row["values"]))
            print("  grad ", _text(tensor.grad if own else row["grad"]))


atexit.register(_table)  # at the end, also after an error
torch.manual_seed({seed})
{seeds}
# -- the program ---------------------------------------------------------------
'''
