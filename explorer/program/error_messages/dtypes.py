"""Errors about dtypes, and about values that are no tensors."""

from __future__ import annotations

from explorer.program.error_messages import cures
from explorer.program.error_messages.known import Known

#: torch calls a tensor "torch.FloatTensor" in some messages.
_TENSOR = r"torch\.(\w+)Tensor"

DTYPES = (
    Known(
        r"bitwise_xor|unsupported operand type\(s\) for \^",
        "The operator ^ is exclusive or, which floats do not have.",
        "Write a power with **.",
    ),
    Known(
        r"[Oo]nly Tensors of floating point and complex dtype can require gradients"
        r"|only require_grad.* for Tensors of floating point"
        r"|only Tensors of floating point dtype can require gradients",
        "Only floating-point tensors can require grad; this one contains integers.",
        "Write the numbers with a decimal point (1. instead of 1), or pass dtype=torch.float32.",
    ),
    Known(
        r"(?:expected both vectors|expected m1 and m2|mat1 and mat2)(?: must)? to have (?:the )?"
        r"same dtype, but (?:found|got):? (\w+) and (\w+)"
        r"|must have the same dtype, but got (\w+) and (\w+)",
        "Both tensors need the same dtype: {0:dtype}{2:dtype} and {1:dtype}{3:dtype} differ.",
        "Convert the integers or doubles with .float().",
        shows="dtypes",
        fix=cures.to_float,
    ),
    Known(
        r"must have the same dtype|expected scalar type (\w+) but found (\w+)",
        "The tensors on this line have different dtypes.",
        "Convert one, for example with .float().",
        shows="dtypes",
        fix=cures.to_float,
    ),
    Known(
        r"(\w+)\(\): could not infer output dtype\. Input dtype must be either a floating point or "
        r"complex dtype\. Got: (\w+)",
        "{0} needs floating-point numbers, and this tensor is {1:dtype}.",
        "Convert it first: x.float().{0}().",
        fix=cures.float_before,
    ),
    Known(
        r'"(\w+?)(?:_lastdim)?(?:_kernel|_cpu|_out|_impl)*" not implemented for \'(\w+)\'',
        "This operation ({0}) does not exist for {1:dtype}.",
        "Convert the tensor first, with .float().",
        shows="dtypes",
    ),
    Known(
        r"expected target dtype to be Long or Byte, but got (\w+)",
        "The target holds class indices, so it must be int64; it is {0:dtype}.",
        "Convert it: target.long().",
        fix=cures.target_to_long,
    ),
    Known(
        r"Expected floating point type for target with class probabilities, got (\w+)",
        "The target has the shape of the scores, so it is treated as probabilities, but its dtype "
        "is {0:dtype}.",
        "For class indices the scores need a dimension for the classes: (batch, classes).",
        shows="shapes",
    ),
    Known(
        r"Found dtype (\w+) but expected (\w+)",
        "The dtypes do not match: {1:dtype} is needed, and this is {0:dtype}.",
        "Convert the target: target.float().",
        shows="dtypes",
        fix=cures.target_to_float,
    ),
    Known(
        r"result type (\w+) can't be cast to the desired output type (\w+)",
        "The result is {0:dtype} and cannot be stored in a tensor of {1:dtype}.",
        "Convert the integers first, with .float(), or write x = x + … instead of x += ….",
        shows="dtypes",
        fix=cures.target_to_float,
    ),
    Known(
        r"for argument #\d '(\w+)' to have one of the following scalar types: Long, Int; but got "
        + _TENSOR,
        "The {0} must be integers, and they are {1:dtype}.",
        "Convert them: x.long().",
        fix=cures.argument_to_long,
    ),
    Known(
        r"tensors used as indices must be long|Expected dtype int32 or int64 for index"
        r"|expects? .*index.* to be .*int64",
        "An index must be made of integers.",
        "Convert it: index.long().",
        shows="dtypes",
    ),
    Known(
        r"Negation, the `-` operator, on a bool tensor is not supported",
        "True and False have no negative.",
        "Write ~mask to invert a mask, or mask.float() to calculate.",
        fix=cures.invert_mask,
    ),
    Known(
        r"Subtraction, the `-` operator, with (?:two|a) bool tensor",
        "True and False cannot be subtracted.",
        "Write mask.float() to calculate with 1 and 0, or ~mask to invert.",
    ),
    Known(
        r"Input type \(([\w ]+)\) and (?:bias|weight) type \(([\w ]+)\) should be the same",
        "The layer has {1:dtype} parameters, but its input is {0:dtype}.",
        "Convert the input with .float().",
        fix=cures.argument_to_float,
    ),
    Known(
        r"Expected self\.dtype to be equal to src\.dtype|Index put requires the source and "
        r"destination dtypes match",
        "What is written must have the dtype of the tensor.",
        "Convert it: values.to(x.dtype).",
        shows="dtypes",
    ),
    Known(
        r"input dtype \(torch\.(\w+)\) does not match weight dtype \(torch\.(\w+)\)",
        "The layer has {1} parameters, but its input is {0}.",
        "Convert the input with .float().",
        fix=cures.argument_to_float,
    ),
    Known(
        r"only supports floating-point dtypes for input, got: (\w+)",
        "Floating-point numbers are needed, and these are {0:dtype}.",
        "Convert them with .float().",
    ),
    Known(
        r"can't assign a (\w+) to a " + _TENSOR,
        "{0:A} cannot be an element of a tensor.",
        "Assign a number or a tensor.",
    ),
    Known(
        r"new\(\): invalid data type '(\w+)'",
        "A tensor holds numbers, not {0:a}.",
        "Convert text to numbers first, with float(…).",
    ),
    Known(
        r"Could not infer dtype of (\w+)",
        "A tensor holds numbers, and there is {0:a} among these.",
        "Replace it by a number.",
    ),
    Known(
        r"where expected condition to be a boolean tensor, but got a tensor with dtype (\w+)",
        "The condition of where must be True or False, and it is {0:dtype}.",
        "Write a comparison: torch.where(x > 0, …).",
    ),
    Known(
        r"masked_select: expected BoolTensor for mask|masked_fill.* only supports boolean masks",
        "A mask must be made of True and False.",
        "Convert it: mask.bool().",
        shows="dtypes",
    ),
    Known(
        r"one_hot is only applicable to index tensor of type LongTensor",
        "one_hot needs integers.",
        "Convert them: F.one_hot(x.long()).",
        fix=cures.argument_to_long,
    ),
    Known(
        r"(\w+)\(\): argument '(\w+)' \(position (\d+)\) must be Tensor, not (?:numpy\.)?(\w+)",
        "{0} needs a tensor for {1}, and got {3:a}.",
        "Make one of it: torch.tensor(…).",
        fix=cures.make_tensor,
    ),
    Known(
        r"(\w+)\(\): argument '(\w+)' \(position \d+\) must be tuple of Tensors, not Tensor",
        "{0} takes its tensors in a list.",
        "Write {0}([a, b]).",
    ),
    Known(
        r"(\w+)\(\): argument '(\w+)'(?: \(position \d+\))? must be ([\w.]+), not (\w+)",
        "{0} needs {2:a} for {1}, and got {3:a}.",
    ),
    Known(
        r"(\w+)\(\) received an invalid combination of arguments - got \((.*?)\)",
        "{0} does not take these arguments: ({1}).",
        "Sizes must be whole numbers; check the order and the names of the arguments.",
    ),
    Known(
        r"manual_seed expected a long, but got (\w+)",
        "A seed is a whole number, not {0:a}.",
    ),
    Known(
        r"device type at start of device string: (\w+)",
        "There is no device or dtype {0}.",
        'Write .to("cpu"), or .to(torch.float32) for a dtype.',
    ),
    Known(
        r"expected np\.ndarray \(got (\w+)\)",
        "from_numpy takes a numpy array, not {0:a}.",
        "Use torch.tensor(…).",
        fix=cures.from_numpy_to_tensor,
    ),
    Known(
        r"only integer tensors of a single element can be converted to an index",
        "Only a tensor with one whole number can be used as an index or a count.",
        "Convert it: int(x).",
        shows="dtypes",
    ),
    Known(
        r"only integers, slices .*are valid indices \(got (\w+)\)",
        "An index must be a whole number or a slice, not {0:a}.",
        "Use // for a division whose result is an index, or int(…).",
    ),
    Known(
        r"Boolean value of Tensor with more than one value is ambiguous",
        "The loss was given its tensors when it was created, where its settings belong.",
        "Create it first, then call it: nn.MSELoss()(output, target).",
        fix=cures.create_the_loss,
        code=r"^(?:\w+\.)*\w*Loss\(",
    ),
    Known(
        r"Boolean value of Tensor with more than one value is ambiguous"
        r"|truth value of an array with more than one element is ambiguous",
        "A condition needs one truth value, but this tensor has several elements.",
        "Use .any() or .all(), or torch.where to choose element by element; & and | combine masks.",
        shows="shapes",
    ),
    Known(
        r"only one element tensors can be converted|Tensor with (\d+) elements cannot be converted",
        "Only a tensor with one element can become a Python number.",
        "Reduce it first, with .sum() or .mean(), or use .tolist().",
        shows="shapes",
    ),
)
