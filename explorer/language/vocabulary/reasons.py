"""Why a well-known name is left out, and what to do instead."""

from __future__ import annotations

_WHOLE_PROCESS = "It would change every run. Leave this line out."

#: Names of torch and its objects.
REASONS = {
    "load": "Programs here cannot read files. Write the numbers into the program.",
    "save": "Programs here cannot write files. Print what you want to keep.",
    "compile": "Compiling is left out: run the function as it is.",
    "cuda": "Programs run on the processor. Leave .cuda() out.",
    "backends": "Programs run on the processor. Leave this line out.",
    "data_ptr": "Memory addresses are not shown. Compare values, or use `is`.",
    "storage": "Raw memory is out of reach.",
    "untyped_storage": "Raw memory is out of reach.",
    "as_strided": "Raw memory is out of reach. Use unfold, or indexing.",
    "resize_": "It exposes uninitialised memory. Use reshape or a new tensor.",
    "set_": "It exchanges a tensor's memory. Use copy_, or a new tensor.",
    "share_memory_": "Sharing memory between processes is left out.",
    "new": "It returns whatever memory held before. Use new_zeros.",
    "set_default_dtype": "It would change every run. Give dtype=torch.float64 where you need it.",
    "set_default_tensor_type": "It would change every run. Give dtype= where you need it.",
    "set_num_threads": _WHOLE_PROCESS,
    "set_detect_anomaly": _WHOLE_PROCESS,
    "use_deterministic_algorithms": _WHOLE_PROCESS,
    "detect_anomaly": "The failing line is named here without it. Leave it out.",
    "ParameterDict": "Use a ParameterList, or attributes of the module.",
    "EmbeddingBag": "Use Embedding, then .mean(dim=1).",
    "Subset": "Index the tensors instead.",
    "random_split": "Index the tensors with torch.randperm instead.",
    "_modules": "Use .named_children().",
    "_parameters": "Use .named_parameters().",
    "_buffers": "Use .named_buffers().",
}

#: Modules people import that have no place here.
MODULES = {
    "matplotlib": "This page draws the pictures. Leave the plotting lines out.",
    "torchviz": "This page draws the graph of every program. Leave make_dot out.",
    "torchsummary": "The Network page prints this table for any network.",
    "torchinfo": "The Network page prints this table for any network.",
    "os": "Programs here cannot reach files or the system.",
    "sys": "Programs here cannot reach the system.",
    "subprocess": "Programs here cannot reach the system.",
    "pathlib": "Programs here cannot reach files.",
    "pickle": "Programs here cannot reach files.",
    "warnings": "Leave it out: warnings are listed beside the result.",
    "cv2": "Upload images on the Feature maps page.",
    "PIL": "Upload images on the Feature maps page.",
    "pandas": "Write the numbers into the program.",
    "d2l": "Write the few helper functions you need into the program.",
    "tqdm": "Loop over the range itself.",
    "dataclasses": "Write __init__ yourself.",
    "abc": "Write a plain class.",
}
