"""Well-known names that are not supported, each with what to do instead."""

from __future__ import annotations

_WHOLE_PROCESS = "It would affect every run. Leave this line out."

#: Names of torch and its objects.
LEFT_OUT_NAMES = {
    "load": "Programs here cannot read files. Write the numbers into the program.",
    "save": "Programs here cannot write files. Print what you want to keep.",
    "compile": "Run the function without compiling it.",
    "cuda": "Programs run on the CPU. Leave .cuda() out.",
    "backends": "Programs run on the CPU. Leave this line out.",
    "data_ptr": "Memory addresses are not available. Compare values, or use `is`.",
    "storage": "Raw memory is not accessible.",
    "untyped_storage": "Raw memory is not accessible.",
    "as_strided": "Raw memory is not accessible. Use unfold, or indexing.",
    "resize_": "It exposes uninitialised memory. Use reshape or a new tensor.",
    "set_": "It replaces a tensor's memory. Use copy_, or a new tensor.",
    "share_memory_": "Memory cannot be shared between processes here. Leave this line out.",
    "new": "It returns uninitialised memory. Use new_zeros.",
    "set_default_dtype": "It would affect every run. Pass dtype=torch.float64 where you need it.",
    "set_default_tensor_type": "It would affect every run. Pass dtype= where you need it.",
    "set_num_threads": _WHOLE_PROCESS,
    "set_detect_anomaly": _WHOLE_PROCESS,
    "use_deterministic_algorithms": _WHOLE_PROCESS,
    "detect_anomaly": "Not needed here: the app reports the failing line anyway.",
    "ParameterDict": "Use a ParameterList, or attributes of the module.",
    "EmbeddingBag": "Use Embedding, then .mean(dim=1).",
    "Subset": "Index the tensors instead.",
    "random_split": "Index the tensors with torch.randperm instead.",
    "_modules": "Use .named_children().",
    "_parameters": "Use .named_parameters().",
    "_buffers": "Use .named_buffers().",
}

#: Modules that people import.
LEFT_OUT_MODULES = {
    "matplotlib": "This page draws the figures. Leave the plotting lines out.",
    "torchviz": "This page draws the graph of every program. Leave make_dot out.",
    "torchsummary": "The Network page shows this table for any network.",
    "torchinfo": "The Network page shows this table for any network.",
    "os": "Programs here cannot access files or the system.",
    "sys": "Programs here cannot access the system.",
    "subprocess": "Programs here cannot access the system.",
    "pathlib": "Programs here cannot access files.",
    "pickle": "Programs here cannot access files.",
    "warnings": "Leave it out: warnings are listed with the result.",
    "cv2": "Upload images on the Feature maps page.",
    "PIL": "Upload images on the Feature maps page.",
    "pandas": "Write the numbers into the program.",
    "d2l": "Write the helper functions you need into the program.",
    "tqdm": "Loop over the range itself.",
    "dataclasses": "Write __init__ yourself.",
    "abc": "Write a plain class.",
}

#: Built-in functions.
LEFT_OUT_BUILTINS = {
    "open": "Programs here cannot access files. Write the numbers into the program.",
    "input": "Programs here cannot ask for input. Write the value into the program.",
    "exec": "Write the code itself.",
    "eval": "Write the expression itself.",
    "compile": "Write the code itself.",
    "globals": "Use the variable by its name.",
    "locals": "Use the variable by its name.",
    "vars": "Use the attribute by its name.",
    "dir": "The Glossary lists all supported names.",
    "help": "The Glossary describes all supported names.",
    "exit": "Leave it out: the program ends after its last line.",
    "quit": "Leave it out: the program ends after its last line.",
    "breakpoint": "Leave it out: the page shows each step of the backward pass.",
}
