"""Errors of layers, losses and optimizers."""

from __future__ import annotations

from explorer.program.error_messages import cures
from explorer.program.error_messages.known import Known

MODULES = (
    Known(
        r"'(\w+)' object has no attribute 'detach'",
        "Parameter needs a tensor, not {0:a}.",
        "Create a tensor first, for example with torch.tensor.",
        code="Parameter",
    ),
    Known(
        r"cannot assign (module|parameters?|buffers?) before Module\.__init__\(\) call",
        "{0:A} was assigned before the class called its base's __init__.",
        "Write super().__init__() as the first line of __init__.",
        fix=cures.call_super,
    ),
    Known(
        r"Module \[(\w+)\] is missing the required \"forward\" function",
        "{0} has no method that is named exactly `forward`.",
        "Check its spelling and its indentation; call the layers of a ModuleList one by one.",
        fix=cures.rename_forward,
    ),
    Known(
        r"(\w+)\.forward\(\) takes (\d+) positional arguments? but (\d+) were given",
        "forward of {0} takes {1} arguments, self included, and got {2}.",
        "Check the call, and the definition: def forward(self, x).",
    ),
    Known(
        r"cannot assign '(.*?)' as parameter '(\w+)'",
        "{1} is a parameter: only an nn.Parameter or None can take its place.",
        "Write nn.Parameter(…), or change the values inside `with torch.no_grad():` with .copy_().",
        fix=cures.wrap_in_parameter,
    ),
    Known(
        r"cannot assign '(.*?)' as child module '(\w+)'",
        "{1} is a layer: only a module or None can take its place.",
    ),
    Known(
        r"(?:torch\.nn\.functional\.)?([\w.]+) is not a Module subclass",
        "The layers of a Sequential or ModuleList must be modules, and {0} is none.",
        "Write nn.ReLU() instead of F.relu; pass layers one by one, or a list with a star: "
        "nn.Sequential(*layers).",
        fix=cures.star_the_list,
    ),
    Known(
        r"'(\w+)' object is not iterable",
        "An optimizer needs a list of parameters, not {0:a}.",
        "Pass model.parameters().",
        fix=cures.pass_parameters,
        code=r"(?:SGD|Adam\w*|RMSprop|Adagrad|Adadelta|NAdam|RAdam|LBFGS|Optimizer)\(",
    ),
    Known(
        r"params argument given to the optimizer should be an iterable of Tensors or dicts",
        "An optimizer needs a list of parameters, not one tensor.",
        "Put it into a list: [w].",
        fix=cures.put_into_list,
    ),
    Known(
        r"optimizer got an empty parameter list",
        "The optimizer got no parameters: an empty list, or a generator that was used up before.",
        "Pass model.parameters() directly. A plain list hides layers: use nn.ModuleList.",
    ),
    Known(
        r"can't optimize a non-leaf Tensor",
        "An optimizer changes leaves, and this tensor was computed from others.",
        "Pass the leaf itself; create it as w = (…).detach().requires_grad_().",
    ),
    Known(
        r"optimizer can only optimize Tensors, but one of the params is (\w+)",
        "An optimizer changes tensors, and one of these is {0}.",
        "Leave it out.",
    ),
    Known(
        r"some parameters appear in more than one parameter group",
        "A parameter is in two groups of the optimizer.",
        "Each parameter belongs to one group. Layers that share a weight have one parameter for "
        "both: leave it out of the second group.",
    ),
    Known(
        r"Invalid learning rate: (\S+)",
        "The learning rate {0} is negative.",
        "Use a positive one, such as 0.01.",
    ),
    Known(
        r"Invalid (beta parameter|momentum value|weight_decay value|epsilon value)(?: at index \d)?"
        r": (\S+)",
        "The {0} {1} is outside its range.",
        "Betas lie in [0, 1); momentum, weight decay and eps are not negative.",
    ),
    Known(
        r"Nesterov momentum requires a momentum and zero dampening",
        "nesterov=True needs a momentum above 0, and dampening 0.",
        "Add momentum=0.9.",
        fix=cures.add_momentum,
    ),
    Known(
        r"step\(\) missing 1 required positional argument: 'closure'",
        "This optimizer evaluates the loss several times in a step, so step needs a function.",
        "Define closure() that clears the gradients, computes the loss, calls backward and returns "
        "the loss; then call step(closure).",
    ),
    Known(
        r"step\(\) missing 1 required positional argument: 'metrics'",
        "ReduceLROnPlateau watches a number: step needs it.",
        "Pass the validation loss: scheduler.step(loss).",
    ),
    Known(
        r"TypeError: (\w+) is not an Optimizer",
        "A scheduler needs an optimizer as its first argument, not {0:a}.",
        "Pass the optimizer itself.",
    ),
    Known(
        r"You must define either total_steps OR \(epochs AND steps_per_epoch\)",
        "OneCycleLR needs the number of all steps.",
        "Pass total_steps=….",
    ),
    Known(
        r"KeyError: 'param(s|_groups)'",
        "This is not what an optimizer expects: the key 'param{0}' is missing.",
        "A group is {{'params': [...]}}; a state dict comes from optimizer.state_dict().",
    ),
    Known(
        r"attribute '(\w+)' already exists",
        "The module has an attribute {0} already.",
        "Use another name.",
    ),
    Known(
        r"dropout probability has to be between 0 and 1, but got (\S+)",
        "The probability of dropout lies between 0 and 1; {0} does not.",
    ),
    Known(
        r"(?:normal|log_normal_?) expects std >|but found std",
        "A standard deviation cannot be negative.",
        "Predict its logarithm and use std.exp(), or F.softplus.",
    ),
    Known(
        r"invalid multinomial distribution|probability tensor contains either",
        "These are no probabilities: one is negative, infinite or nan, or all are 0.",
        "Apply softmax to the scores first.",
    ),
    Known(
        r"cannot sample n_sample > prob_dist",
        "More samples are asked for than there are categories.",
        "Pass replacement=True.",
    ),
    Known(
        r"(\w+) is not a valid value for reduction",
        "There is no reduction {0}.",
        'It is "mean", "sum" or "none".',
    ),
    Known(
        r"label_smoothing must be between 0\.0 and 1\.0\. Got: (\S+)",
        "label_smoothing lies between 0 and 1; {0} does not.",
    ),
    Known(
        r"Muon only supports 2D parameters whereas we found .* size: (torch\.Size\(.*?\))",
        "Muon steps matrices only, and one parameter has the shape {0}.",
        "Give biases and other shapes to AdamW.",
    ),
    Known(
        r"Expected parameter (\w+) \(.*?\) of distribution (\w+)\(.*?\) to satisfy the "
        r"constraint (\w+)",
        "{0} of {1} has a value that is not allowed ({2}), or nan.",
        "A scale must be positive, as after .exp() or F.softplus; look for nan.",
    ),
    Known(
        r"No inf checks were recorded for this optimizer|Attempted unscale_ but _scale is None",
        "The GradScaler has not scaled a loss of this optimizer yet.",
        "Call scaler.scale(loss).backward() before scaler.step(optimizer).",
    ),
    Known(
        r"unscale_\(\) has already been called on this optimizer since the last update",
        "unscale_ was called twice for one step.",
        "Call scaler.update() after scaler.step(optimizer).",
    ),
)
