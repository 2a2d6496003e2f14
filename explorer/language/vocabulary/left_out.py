"""Well-known names that are not supported, each with what to do instead."""

from __future__ import annotations

#: Names of torch and its objects.
LEFT_OUT_NAMES = {
    "data_ptr": "Memory addresses are not available. Compare values, or use `is`.",
    "untyped_storage": "Raw memory is not accessible.",
    "as_strided": "Raw memory is not accessible. Use unfold, or indexing.",
    "resize_": "It exposes uninitialised memory. Use reshape or a new tensor.",
    "set_": "It replaces a tensor's memory. Use copy_, or a new tensor.",
    "share_memory_": "A run is one process here: use the tensor as it is.",
    "EmbeddingBag": "Use Embedding, then .mean(dim=1).",
    "_parameters": "Use .named_parameters().",
    "_buffers": "Use .named_buffers().",
}

#: Names that PyTorch or numpy has removed or moved, and the names to use now.
MOVED_NAMES = {
    "torch.eig": "torch.linalg.eig",
    "torch.symeig": "torch.linalg.eigh",
    "torch.gels": "torch.linalg.lstsq",
    "torch.lstsq": "torch.linalg.lstsq",
    "torch.solve": "torch.linalg.solve",
    "torch.triangular_solve": "torch.linalg.solve_triangular",
    "torch.gesv": "torch.linalg.solve",
    "torch.potrf": "torch.linalg.cholesky",
    "torch.matrix_rank": "torch.linalg.matrix_rank",
    "torch.range": "torch.arange",
    "torch.nn.utils.clip_grad_norm": "torch.nn.utils.clip_grad_norm_",
    "numpy.float": "float",
    "numpy.int": "int",
    "numpy.bool": "bool",
    "numpy.product": "numpy.prod",
}

#: Modules that people import.
LEFT_OUT_MODULES = {
    "subprocess": "Programs here cannot access the system.",
    "pickle": "Programs here cannot access files.",
    "tensorflow": "Programs here use PyTorch: loss.backward() does the work of tf.GradientTape.",
    "keras": "Programs here use PyTorch: write the model as an nn.Module.",
    "jax": "Programs here use PyTorch: torch.func.grad(f) does the work of jax.grad(f).",
    "autograd": "Programs here use PyTorch: torch.func.grad(f) does the work of grad(f).",
    "pytorch_lightning": "Write the model as an nn.Module, and the training loop yourself.",
    "lightning": "Write the model as an nn.Module, and the training loop yourself.",
    "requests": "Programs here have no network. Write the numbers into the program.",
    "urllib": "Programs here have no network. Write the numbers into the program.",
    "cv2": "Upload images on the Feature maps page.",
    "pandas": "Write the numbers into the program.",
    "d2l": "Write the helper functions you need into the program.",
}

#: Built-in functions.
LEFT_OUT_BUILTINS = {
    "input": "Programs here cannot ask for input. Write the value into the program.",
    "exec": "Write the code itself.",
    "eval": "Write the expression itself.",
    "compile": "Write the code itself.",
    "globals": "Use the variable by its name.",
    "locals": "Use the variable by its name.",
    "breakpoint": "Leave it out: the page shows each step of the backward pass.",
}
