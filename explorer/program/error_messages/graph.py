"""Errors of autograd, and of a program's own Functions."""

from __future__ import annotations

from explorer.program.error_messages import cures
from explorer.program.error_messages.known import Known

GRAPH = (
    Known(
        r"grad can be implicitly created only for scalar outputs",
        "backward() needs a single number to start from, and this tensor has several.",
        "Reduce it first, with .sum() or .mean(), or pass a gradient of the same shape: "
        "y.backward(torch.ones_like(y)).",
    ),
    Known(
        r"grad can be implicitly created only for real scalar outputs",
        "backward() starts from a real number, and this one is complex.",
        "Make it real first: y.abs(), y.real, or pass a gradient.",
    ),
    Known(
        r"'(\w+)' object is not iterable",
        "The gradient to start from must be a tensor, not {0:a}.",
        "Leave it out for a single number, or write torch.ones_like(y).",
        code=r"\.backward\(",
    ),
    Known(
        r"Trying to backward through the graph a second time",
        "backward() ran twice through the same graph; the first pass freed the saved values.",
        "Compute the loss again before the second backward, or call the first one with "
        "retain_graph=True. In a loop, detach() what is kept from the iteration before, such as a "
        "hidden state.",
    ),
    Known(
        r"a view of a leaf Variable that requires grad is being used in an in-place",
        "A part of a leaf that requires grad cannot be changed in place.",
        "Make the change inside `with torch.no_grad():`, or work on x.clone().",
    ),
    Known(
        r"a leaf Variable that requires grad is being used in an in-place operation",
        "A leaf that requires grad cannot be changed in place: autograd needs its old value.",
        "Make the change inside `with torch.no_grad():`, or write x = x + … for a new tensor.",
    ),
    Known(
        r"is a view and (?:is being|its base or another view of its base has been) modified",
        "This tensor is a view, a part of another tensor, and cannot be changed in place here: "
        "unbind, split and loops over a tensor return several views at once.",
        "Make a new tensor instead: a = a + 1, or change a.clone().",
    ),
    Known(
        r"Can't detach views in-place",
        "This tensor is a view, a part of another tensor, and cannot lose its history in place.",
        "Make a new tensor without history: x = x.detach().",
        fix=cures.detach_anew,
    ),
    Known(
        r"element (\d+) of tensors does not require grad",
        "This tensor has no history: backward has no graph to follow.",
        "Create an input with requires_grad=True, check that not all parameters are frozen, and "
        "that no line in between discards the history: .detach(), .item(), .data, torch.no_grad() "
        "or torch.tensor(…).",
    ),
    Known(
        r"One of the differentiated Tensors does not require grad",
        "The gradient is asked for a tensor that does not require grad.",
        "Create it with requires_grad=True, and use this tensor itself, not a copy.",
    ),
    Known(
        r"differentiated Tensors? (?:at index (\d+) )?appears? to not have been used in the graph",
        "The result does not depend on one of the tensors for which a gradient is asked.",
        "Use it in the computation, or pass allow_unused=True to get None for it.",
    ),
    Known(
        r"modified by an inplace operation",
        "A value needed by backward was changed in place after it had been saved.",
        "Between the forward pass and backward, create a new tensor: x = x + 1 instead of x += 1.",
    ),
    Known(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "A tensor that requires grad cannot become a numpy array, which has no gradients.",
        "Write x.detach().numpy() if no gradient has to flow through it; torch has most of "
        "numpy's functions, with gradients.",
        fix=cures.detach_before_numpy,
    ),
    Known(
        r"cannot register a hook on a tensor that doesn't require gradient",
        "This tensor does not require grad, so a hook on it would never be called.",
        "Set requires_grad=True on an input from which it is computed.",
    ),
    Known(
        r"can't retain_grad on Tensor that has requires_grad=False",
        "This tensor does not require grad, so it has no gradient to retain.",
        "Set requires_grad=True on an input from which it is computed.",
    ),
    Known(
        r"you can only change requires_grad flags of leaf variables",
        "requires_grad can be changed only on a leaf; this tensor was computed.",
        "Use y.detach() to continue without its history.",
    ),
    Known(
        r"assign a gradient of size '(\[.*?\])' to a tensor of size '(\[.*?\])'",
        "A gradient must have the shape of its tensor: this one has {0}, the tensor {1}.",
        "Assign None, or a tensor created with torch.zeros_like.",
    ),
    Known(
        r"assigned grad expected to be a Tensor or None but got grad of type (\w+)",
        "A gradient is a tensor or None, not {0:a}.",
        "Assign None, or a tensor created with torch.zeros_like.",
    ),
    Known(
        r"assigned grad has data of a different (size|type)",
        "A gradient must have the shape and dtype of its tensor.",
        "Assign None, or a tensor created with torch.zeros_like.",
    ),
    Known(
        r"Variable data has to be a tensor, but got (\w+)",
        "The data of a tensor is a tensor, not {0:a}.",
        "Change the elements instead: with torch.no_grad(): x.fill_(…).",
    ),
    Known(
        r"grad_output\[\d+\] has a shape of (torch\.Size\(.*?\)) and output\[\d+\] has a shape of "
        r"(torch\.Size\(.*?\))",
        "The gradient to start from has the shape {0}, but the output has {1}: they must be equal.",
        "Use torch.ones_like(y), or leave it out for a single number.",
    ),
    Known(
        r"leaf variable has been moved into the graph interior",
        "A leaf that requires grad was changed in place, so that it is no leaf any more.",
        "Make the change inside `with torch.no_grad():`, or write x = x + … for a new tensor.",
    ),
    Known(
        r"support the deepcopy protocol at the moment",
        "A computed tensor cannot be copied with its history.",
        "Copy its values: y.detach().clone().",
        fix=cures.deepcopy_to_clone,
    ),
    Known(
        r"Inference tensors cannot be saved for backward",
        "A tensor made in inference mode cannot take part in a computation with gradients.",
        "Use torch.no_grad() instead of inference_mode(), or y.clone() outside of it.",
        fix=cures.inference_to_no_grad,
    ),
    Known(
        r"Inplace update to inference tensor outside InferenceMode",
        "A tensor made in inference mode cannot be changed in place outside of it.",
        "Change y.clone() instead.",
    ),
    Known(
        r"Setting requires_grad=True on inference tensor",
        "A tensor made in inference mode can never require grad.",
        "Use y.clone() outside of inference mode.",
    ),
    Known(
        r"function (\w+)Backward returned an incorrect number of gradients \(expected (\d+), got "
        r"(\d+)\)",
        "backward of {0} returned {2} gradients, but forward has {1} inputs: each input needs one.",
        "Return one gradient for each argument of forward after ctx; None where none is needed.",
    ),
    Known(
        r"Function (\w+)Backward returned an invalid gradient at index (\d+) - got (\[.*?\]) but "
        r"expected shape compatible with (\[.*?\])",
        "backward of {0} returned a gradient of shape {2} for input {1} (counting from 0), which "
        "has the shape {3}.",
        "The gradient of an input has the input's shape.",
    ),
    Known(
        r"You must implement either the backward or vjp method for your custom autograd\.Function",
        "This Function has no backward.",
        "Add a static method backward(ctx, grad_output) that returns one gradient for each input.",
    ),
    Known(
        r"expected Variable or None \(got (\w+)\)",
        "backward of a Function must return tensors or None, not {0:a}.",
        "Return a tensor: grad_output * ….",
    ),
    Known(
        r"Legacy autograd function with non-static forward method",
        "forward and backward of a Function must be static methods with ctx as first argument.",
        "Write @staticmethod above both, and call MyFunction.apply(x).",
    ),
    Known(
        r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)",
        "save_for_backward keeps tensors, and argument {0} (counting from 0) is {1:a}.",
        "Keep other values on ctx: ctx.factor = ….",
    ),
    Known(
        r"trying to differentiate twice a function that was marked with @once_differentiable",
        "This Function can be differentiated only once.",
        "Leave out @once_differentiable, and compute backward with tensors that have a history.",
    ),
    Known(
        r"Jacobian mismatch for output (\d+) with respect to input (\d+)",
        "The gradient of output {0} with respect to input {1} is not the measured slope.",
        "Check the backward of the function, and that its inputs are double.",
    ),
    Known(
        r"gradcheck expects at least one input tensor to require gradient",
        "gradcheck has nothing to check: none of its inputs requires grad.",
        "Create them with dtype=torch.double and requires_grad=True.",
    ),
    Known(
        r"Function '(\w+)' returned nan values in its (\d+)th output",
        "Anomaly mode stopped backward: {0} computed NaN.",
        "The notes name the line of its forward operation. Check what that operation receives.",
    ),
    Known(
        r"function given to (\w+) should contain a single element",
        "{0} differentiates a function with a single number as its result.",
        "Reduce the result, with .sum() or .mean().",
    ),
    Known(
        r"Expected f\(\*args\) to return a scalar",
        "torch.func.grad differentiates a function with a single number as its result.",
        "Reduce the result with .sum(), or use torch.func.jacrev for all derivatives.",
    ),
    Known(
        r"calling \.item\(\) on a Tensor\. We don't support vmap",
        "Inside vmap a tensor stands for many at once, and has no number to read.",
        "Compute with the tensor itself.",
    ),
    Known(
        r"Unexpected type of gradient|gradients can be .*Tensors and None|"
        r"gradients argument: expected Tensor",
        "The gradient to start from must be a tensor.",
        "Use torch.ones_like(y).",
    ),
)
