"""From an exception to an error for the reader: what was wrong, where, and what to do."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice
from types import TracebackType

from explorer.language.builtins import explain_missing_name
from explorer.language.errors import OutsideLanguage, ProgramError, ProgramRefused, ProgramStopped
from explorer.language.guard.formatting import to_text
from explorer.language.syntax import line_of

FILE = "<program>"
#: Most frames of an exception that are read. One that is raised again and again has many.
MOST_FRAMES = 2000

#: (pattern of the original message, our message, hint). The first match is used; the groups of the
#: pattern fill the message.
KNOWN_MESSAGES: tuple[tuple[str, str, str], ...] = (
    (
        r"grad can be implicitly created only for scalar outputs",
        "backward() needs a single number to start from, and this tensor has several.",
        "Reduce it first, with .sum() or .mean(), or pass a gradient of the same shape: "
        "y.backward(torch.ones_like(y)).",
    ),
    (
        r"Trying to backward through the graph a second time",
        "backward() ran twice through the same graph; the first pass freed the saved values.",
        "Compute the loss again before the second backward, or call the first one with "
        "retain_graph=True.",
    ),
    (
        r"a view of a leaf Variable that requires grad is being used in an in-place",
        "A part of a leaf that requires grad cannot be changed in place.",
        "Make the change inside `with torch.no_grad():`, or work on x.clone().",
    ),
    (
        r"a leaf Variable that requires grad is being used in an in-place operation",
        "A leaf that requires grad cannot be changed in place: autograd needs its old value.",
        "Make the change inside `with torch.no_grad():`, or write x = x + … for a new tensor.",
    ),
    (
        r"[Oo]nly Tensors of floating point and complex dtype can require gradients"
        r"|only require_grad.* for Tensors of floating point",
        "Only floating-point tensors can require grad; this one contains integers.",
        "Write the numbers with a decimal point (1. instead of 1), or pass dtype=torch.float32.",
    ),
    (
        r"element (\d+) of tensors does not require grad",
        "This tensor has no history: nothing it was computed from requires grad.",
        "Create an input with requires_grad=True, and check that no line in between discards the "
        "history: .detach(), .item(), .data, torch.no_grad() or torch.tensor(…).",
    ),
    (
        r"One of the differentiated Tensors (does not require grad|appears to not have been used)",
        "The result does not depend on one of these tensors.",
        "Check that each has requires_grad=True and is used, or pass allow_unused=True.",
    ),
    (
        r"modified by an inplace operation",
        "A value needed by backward was changed in place after it had been saved.",
        "Between the forward pass and backward, create a new tensor: x = x + 1 instead of x += 1.",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        "The shapes do not match: ({0}, {1}) @ ({2}, {3}) needs {1} and {2} to be equal.",
        "Transpose one of them with .T, or check the sizes of the layers.",
    ),
    (
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)"
        r" at non-singleton dimension (\d+)",
        "The shapes do not match: dimension {2} has sizes {0} and {1}, and neither is 1.",
        "Print both shapes; reshape one, or add a dimension of size 1 with .unsqueeze().",
    ),
    (
        r"size mismatch|inconsistent tensor size|shapes? .*(cannot|must|mismatch)",
        "The shapes of these tensors do not match.",
        "Print the shape of each tensor on this line.",
    ),
    (
        r"expected m1 and m2 to have the same dtype|expected scalar type|must have the same dtype",
        "The tensors on this line have different dtypes.",
        "Convert one, for example with .float().",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "A condition needs one truth value, but this tensor has several elements.",
        "Use .any() or .all(), or torch.where to choose element by element.",
    ),
    (
        r"Can't call numpy\(\) on Tensor that requires grad",
        "A tensor that requires grad cannot become a numpy array, which has no gradients.",
        "Write x.detach().numpy() if no gradient has to flow through it.",
    ),
    (
        r"only one element tensors can be converted|Tensor with (\d+) elements cannot be converted",
        "Only a tensor with one element can become a Python number.",
        "Reduce it first, with .sum() or .mean(), or use .tolist().",
    ),
    (
        r"cannot register a hook on a tensor that doesn't require gradient",
        "This tensor does not require grad, so a hook on it would never be called.",
        "Set requires_grad=True on an input from which it is computed.",
    ),
    (
        r"can't retain_grad on Tensor that has requires_grad=False",
        "This tensor does not require grad, so it has no gradient to retain.",
        "Set requires_grad=True on an input from which it is computed.",
    ),
    (
        r"you can only change requires_grad flags of leaf variables",
        "requires_grad can be changed only on a leaf; this tensor was computed.",
        "Use y.detach() to continue without its history.",
    ),
    (
        r"assigned grad has data of a different (size|type)",
        "A gradient must have the shape and dtype of its tensor.",
        "Assign None, or a tensor created with torch.zeros_like.",
    ),
    (
        r"can't allocate memory|not enough memory|DefaultCPUAllocator|bad_alloc"
        r"|Storage size calculation overflowed|integer multiplication overflow",
        "The program needed more memory than one run may use.",
        "Use smaller tensors.",
    ),
    (
        r"'NoneType' object is not subscriptable|NoneType.* has no attribute"
        r"|unsupported operand type\(s\) for .*NoneType",
        "A value on this line is None, often a .grad read before backward.",
        "A .grad is None before backward, for non-leaf tensors, and after zero_grad(), which "
        "sets None. zero_grad(set_to_none=False) keeps zeros.",
    ),
    (
        r"weight of size (\[.*?\]), expected input(\[.*?\]) to have (\d+) channels",
        "The convolution expects {2} channels, but its input has the shape {1}.",
        "Check in_channels, and that the input is (batch, channels, height, width).",
    ),
    (
        r"not compiled with CUDA|no NVIDIA driver|CUDA driver version|No CUDA GPUs"
        r"|initialize CUDA|get CUDA generator|Cannot access accelerator device",
        "Programs run on the CPU: there is no CUDA device here.",
        "Leave the device out, or write device = 'cuda' if torch.cuda.is_available() else 'cpu'.",
    ),
    (
        r"bitwise_xor|unsupported operand type\(s\) for \^",
        "The operator ^ is exclusive or, which floats do not have.",
        "Write a power with **.",
    ),
    (
        r"maximum recursion depth exceeded",
        "A function calls itself without end.",
        "Check the condition that should stop it.",
    ),
)


#: (message, hint) for exceptions of Python itself.
EXCEPTION_MESSAGES: dict[type[BaseException], tuple[str, str]] = {
    MemoryError: (
        "The program needed more memory than one run may use.",
        "Use smaller tensors and lists.",
    ),
    AssertionError: ("The assertion on this line does not hold.", ""),
    ZeroDivisionError: ("This line divides by zero.", "Check the divisor."),
    IndexError: ("This index is outside the tensor or list.", "Print its shape or length."),
    KeyError: ("This key is not in the dictionary.", "Print its keys."),
    NotImplementedError: (
        "This is not implemented.",
        "A module needs a method that is named exactly `forward`.",
    ),
    TypeError: (
        "This operation does not accept values of these types.",
        "See the original error message.",
    ),
}


_FAILED = ("This line failed.", "See the original error message.")


def explain(error: BaseException, source: str, known: set[str]) -> ProgramError:
    """Describe an exception raised by a program whose text is `source`.

    `known` are the names that were defined then, for suggestions.
    """
    if isinstance(error, ProgramRefused):
        return error.error
    line, column, detail = None, None, ""
    try:
        line, column = locate(error)
        message, hint, detail = _describe(error, known)
    except Exception as another:  # memory ran out, or a class of the program raised it
        message, hint = EXCEPTION_MESSAGES.get(type(another), (_FAILED[0], ""))
    stopped = isinstance(error, ProgramStopped) and error.by_reader
    return ProgramError(message, line, column, line_of(source, line), hint, detail, stopped)


def locate(error: BaseException) -> tuple[int | None, int | None]:
    """Line and column of the innermost frame that belongs to the program.

    For an endless recursion it is the call that repeats: the innermost frame depends on the
    stack's depth when the run began.
    """
    frames = (frame for frame in _frames(error) if frame.tb_frame.f_code.co_filename == FILE)
    places = [_place(frame) for frame in deque(frames, MOST_FRAMES)]
    if isinstance(error, RecursionError) and places:
        place, times = Counter(places).most_common(1)[0]
        if times > 1:
            return place
    return places[-1] if places else (None, None)


def _frames(error: BaseException) -> Iterator[TracebackType]:
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _place(frame: TracebackType) -> tuple[int, int | None]:
    positions = frame.tb_frame.f_code.co_positions()
    _, _, column, _ = next(islice(positions, frame.tb_lasti // 2, None))
    return frame.tb_lineno, column


def _describe(error: BaseException, known: set[str]) -> tuple[str, str, str]:
    if isinstance(error, OutsideLanguage | ProgramStopped):
        return error.message[:1000], error.hint[:1000], ""
    detail = f"{type(error).__name__[:60]}: {short_text(error)}"
    if isinstance(error, NameError) and isinstance(error.name, str):
        return (*explain_missing_name(error.name, known), detail)
    for pattern, message, hint in KNOWN_MESSAGES:
        match = re.search(pattern, detail)
        if match:
            return message.format(*match.groups()) if match.groups() else message, hint, detail
    for kind, (message, hint) in EXCEPTION_MESSAGES.items():
        if isinstance(error, kind):
            return message, hint, detail
    return (*_FAILED, detail)


def short_text(error: BaseException) -> str:
    """The exception's own text without the C++ stack, at most 1,000 characters."""
    try:
        text = to_text(error, str)
    except BaseException:  # the program may define the exception's __str__
        return ""
    return text.split("\nException raised from")[0][:1000].strip()
