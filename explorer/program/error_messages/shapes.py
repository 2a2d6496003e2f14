"""Errors about shapes, sizes and indices, of torch and numpy."""

from __future__ import annotations

from explorer.program.error_messages import cures
from explorer.program.error_messages.known import Known

SHAPES = (
    Known(
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        "The shapes do not match: ({0}, {1}) @ ({2}, {3}) needs {1} and {2} to be equal.",
        "For a layer, set in_features to {1}; for a product, transpose one of them with .T.",
        shows="shapes",
        fix=cures.fit_linear,
    ),
    Known(
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)"
        r" at non-singleton dimension (\d+)",
        "The shapes do not match: dimension {2} has sizes {0} and {1}, and neither is 1.",
        "Reshape one of them, or add a dimension of size 1 with .unsqueeze().",
        shows="shapes",
    ),
    Known(
        r"output with shape (\[.*?\]) doesn't match the broadcast shape (\[.*?\])",
        "An operation in place cannot make a tensor larger: the result has the shape {1}, and it "
        "must fit into {0}.",
        "Write x = x + … instead of x += …, which makes a new tensor.",
        shows="shapes",
    ),
    Known(
        r"shape '(\[.*?\])' is invalid for input of size (\d+)",
        "{1} elements do not fit into the shape {0}.",
        "The sizes must multiply to {1}; one of them can be -1, which torch works out.",
        shows="shapes",
    ),
    Known(
        r"view size is not compatible with input tensor's size and stride",
        "view needs the elements to lie in memory in the order of the new shape, and after a "
        "transpose or permute they do not.",
        "Write .reshape(…), which copies them if necessary.",
        shows="shapes",
        fix=cures.view_to_reshape,
    ),
    Known(
        r"Sizes of tensors must match except in dimension (\d+)\. "
        r"Expected size (\d+) but got size (\d+) for tensor number (\d+)",
        "cat along dimension {0} needs all other dimensions to be equal: tensor number {3} of the "
        "list (counting from 0) has size {2} where the first has {1}.",
        "Join them along another dimension, or give them equal sizes.",
        shows="shapes",
    ),
    Known(
        r"stack expects each tensor to be equal size, but got (\[.*?\]) at entry 0 and "
        r"(\[.*?\]) at entry (\d+)",
        "stack needs tensors of one shape: the first has {0}, number {2} (counting from 0) has "
        "{1}.",
        "Use torch.cat to join tensors along a dimension that exists.",
        shows="shapes",
    ),
    Known(
        r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
        "cat needs tensors with the same number of dimensions: these have {0} and {1}.",
        "Add a dimension with .unsqueeze(0), or use torch.stack for tensors of one shape.",
        shows="shapes",
    ),
    Known(
        r"[Gg]iven .*weight of size (\[.*?\]), expected input(\[.*?\]) to have (\d+) channels, "
        r"but got (\d+)",
        "The convolution expects {2} channels, but its input of shape {1} has {3}.",
        "Check in_channels, and that the input is (batch, channels, height, width).",
        fix=cures.fit_channels,
    ),
    Known(
        r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input to (\w+), but got input of size: "
        r"(\[.*?\])",
        "{2} needs an input with {1} dimensions (batch, channels, …), and this one has the shape "
        "{3}.",
        "Add the missing dimensions: x.unsqueeze(0) for each of them.",
    ),
    Known(
        r"padded input size per channel: \((.*?)\)\. Kernel size: \((.*?)\)",
        "The kernel of {1} is larger than its input of {0}.",
        "Use a smaller kernel, padding, or fewer pooling layers before.",
    ),
    Known(
        r"Given input size: \((.*?)\)\. Calculated output size: \((.*?)\)\. Output size",
        "The input of {0} is too small for this pooling: its output would be {1}.",
        "Use fewer pooling layers, or a larger input.",
    ),
    Known(
        r"running_mean should contain (\d+) elements not (\d+)",
        "The BatchNorm layer was made for {1} features, but its input has {0}.",
        "Set num_features to {0}.",
        fix=cures.fit_features,
    ),
    Known(
        r"Expected more than 1 value per channel when training, got input size (torch\S*\(.*?\))",
        "BatchNorm in training mode needs more than one value for each channel, to compute their "
        "variance. The input has the shape {0}.",
        "Use a batch of at least 2, or call model.eval() to use the running statistics.",
    ),
    Known(
        r"expected ([\w ]+D)(?: or (\d)D)? input \(got (\d)D input\)",
        "This layer needs {0:a} input, and got one with {2} dimensions.",
        "Check the shape: it should be (batch, channels, …).",
        shows="shapes",
    ),
    Known(
        r"Given normalized_shape=(\[.*?\]), expected input with shape \[.*?\], but got input of "
        r"size(\[.*?\])",
        "LayerNorm normalises the last dimensions {0}, but its input has the shape {1}.",
        "Set normalized_shape to the last size of the input.",
    ),
    Known(
        r"index out of range in self",
        "An index is not smaller than the number of rows of the embedding.",
        "Set num_embeddings to the largest index + 1, or check the indices.",
        shows="shapes",
    ),
    Known(
        r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
        "There are {0} predictions, but {1} targets.",
        "Each row of the scores needs one target: check both shapes.",
        shows="shapes",
    ),
    Known(
        r"Target (-?\d+) is out of bounds",
        "The class {0} does not exist: classes count from 0 to the number of scores − 1.",
        "Give the last layer more outputs, or let the classes begin at 0.",
        shows="shapes",
    ),
    Known(
        r"0D or 1D target tensor expected, multi-target not supported",
        "The target holds class indices and needs one dimension: one index for each row.",
        "Remove the other dimension: target.squeeze(1).",
        shows="shapes",
    ),
    Known(
        r"Using a target size \((torch.*?)\) that is different to the input size \((torch.*?)\)",
        "The target has the shape {0} and the input {1}: they must be the same.",
        "Give both the same shape, for example with target.view_as(input).",
        shows="shapes",
    ),
    Known(
        r"Target size \((torch.*?)\) must be the same as input size \((torch.*?)\)",
        "The target has the shape {0} and the input {1}: they must be the same.",
        "Give both the same shape, for example with target.view_as(input).",
        shows="shapes",
    ),
    Known(
        r"all elements of (input|target) should be between 0 and 1",
        "binary_cross_entropy takes probabilities, and the {0} has values outside 0 to 1.",
        "Use F.binary_cross_entropy_with_logits for raw scores, or apply torch.sigmoid first.",
        fix=cures.with_logits,
    ),
    Known(
        r"inconsistent tensor size, expected tensor (\[.*?\]) and src (\[.*?\])",
        "dot needs two vectors of one length: these have {0} and {1}.",
        "Check the lengths.",
        shows="shapes",
    ),
    Known(
        r"1D tensors expected, but got (\d)D and (\d)D tensors",
        "dot multiplies two vectors, and these have {0} and {1} dimensions.",
        "Use @ for matrices, or (a * b).sum() for the sum of all products.",
        shows="shapes",
    ),
    Known(
        r"Expected size for first two dimensions of batch2 tensor to be: (\[.*?\]) but got: "
        r"(\[.*?\])",
        "bmm needs (batch, n, m) and (batch, m, p): the second should begin with {0} and begins "
        "with {1}.",
        "Check the batch sizes, or transpose with .transpose(1, 2).",
        shows="shapes",
    ),
    Known(
        r"batch[12] must be a 3D tensor",
        "bmm multiplies batches of matrices: both tensors need 3 dimensions.",
        "Use @, which takes any number of dimensions.",
        shows="shapes",
    ),
    Known(
        r"(mat2|self|mat1) must be a matrix",
        "mm multiplies two matrices, and one of these has another number of dimensions.",
        "Use @, which also takes vectors.",
        shows="shapes",
    ),
    Known(
        r"size mismatch, got input \((\d+)\), mat \((\d+)x(\d+)\), vec \((\d+)\)",
        "The shapes do not match: ({1}, {2}) @ ({3},) needs {2} and {3} to be equal.",
        "Transpose the matrix with .T, or check the sizes.",
        shows="shapes",
    ),
    Known(
        r"einsum\(\): subscript (\w) has size (\d+) for operand (\d+) which does not broadcast "
        r"with previously seen size (\d+)",
        "The letter {0} of einsum stands for two sizes: {3} before, and {1} in operand {2} "
        "(counting from 0).",
        "Check the letters against the shapes.",
        shows="shapes",
    ),
    Known(
        r"einsum\(\): (fewer|more) operands were provided than specified",
        "einsum got {0} tensors than its equation has parts.",
        "Give one tensor for each part between the commas.",
    ),
    Known(
        r"Dimension out of range \(.* in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)",
        "There is no dimension {2}: they count from 0 to {1}, or from −1 backwards.",
        "Check dim against the number of dimensions.",
        shows="shapes",
    ),
    Known(
        r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)",
        "permute needs each dimension once: the tensor has {0}, and {1} are listed.",
        "List all {0} dimensions in their new order.",
        shows="shapes",
    ),
    Known(
        r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at "
        r"non-singleton dimension (\d+)\.\s+Target sizes: (\[.*?\])\.\s+Tensor sizes: (\[.*?\])",
        "A tensor of shape {4} does not fit into the shape {3}: size {1} cannot become {0}, only "
        "size 1 can be repeated.",
        "Check the shapes on both sides.",
        shows="shapes",
    ),
    Known(
        r"Number of dimensions of repeat dims can not be smaller",
        "repeat needs a count for each dimension of the tensor.",
        "Add a 1 for each dimension that is not to be repeated.",
        shows="shapes",
    ),
    Known(
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        "There is no index {0} in dimension {1}, which has size {2}: indices count from 0.",
        shows="shapes",
    ),
    Known(
        r"too many indices for tensor of dimension (\d+)",
        "There are more indices than the tensor's {0} dimensions.",
        shows="shapes",
    ),
    Known(
        r"invalid index of a 0-dim tensor|len\(\) of a 0-d tensor|iteration over a 0-d tensor",
        "This tensor is a single number without dimensions: it has no items and no length.",
        "Use it as it is, or .item() for a Python number.",
        shows="shapes",
    ),
    Known(
        r"shape of the mask (\[.*?\]) at index (\d+) does not match the shape of the indexed "
        r"tensor (\[.*?\])",
        "A mask must have the shape of what it selects from: the mask has {0}, the tensor {2}.",
        "Make the mask from the tensor itself, as in x[x > 0].",
    ),
    Known(
        r"Index tensor must have the same number of dimensions as (input|self) tensor",
        "gather and scatter need an index with as many dimensions as the tensor.",
        "Add a dimension to the index: index.unsqueeze(1).",
        shows="shapes",
    ),
    Known(
        r"expected sequence of length (\d+) at dim (\d+) \(got (\d+)\)",
        "The lists in torch.tensor have different lengths: {0} and {2}.",
        "Give all rows the same length.",
    ),
    Known(
        r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)",
        "The recurrent layer was made for inputs of size {0}, and the last size is {1}.",
        "Set input_size to {1}.",
        shows="shapes",
    ),
    Known(
        r"Expected hidden(?:\[\d\])? size \((.*?)\), got \[(.*?)\]",
        "The hidden state needs the shape ({0}), and has ({1}).",
        "It is (layers, batch, hidden size), without batch_first too.",
    ),
    Known(
        r"embed_dim must be divisible by num_heads",
        "The heads of attention share embed_dim equally, so num_heads must divide it.",
        "Choose embed_dim as a multiple of num_heads.",
    ),
    Known(
        r"must be batches of square matrices, but they are (\d+) by (\d+) matrices",
        "Only a square matrix has an inverse, and this one is {0} by {1}.",
        "Use torch.linalg.pinv or torch.linalg.lstsq for other shapes.",
        shows="shapes",
    ),
    Known(
        r"because the input matrix is singular",
        "The matrix is singular: it has no inverse.",
        "Add a small multiple of torch.eye(n), or use torch.linalg.pinv.",
    ),
    Known(
        r"not positive-definite",
        "The Cholesky decomposition needs a symmetric matrix with positive eigenvalues.",
        "Add a small multiple of torch.eye(n).",
    ),
    Known(
        r"dim to be specified for input\.numel\(\) == 0|on zero-size array|empty sequence",
        "There is no largest or smallest of no elements: this tensor or list is empty.",
        "Check what should have filled it.",
        shows="shapes",
    ),
    Known(
        r"negative dimension|must be non-negative|negative dimensions are not allowed",
        "A size cannot be negative.",
        "Check the numbers that make the shape.",
    ),
    Known(
        r"Provided sizes (\[.*?\]) don't multiply up to the size of dim (\d+) \((\d+)\)",
        "The sizes {0} do not multiply to {2}, the size of dimension {1}.",
        shows="shapes",
    ),
    Known(
        r"Class values must be smaller than num_classes",
        "one_hot got a class that is not smaller than num_classes.",
        "Classes count from 0: num_classes must be at least the largest class + 1.",
    ),
    Known(
        r"matmul: Input operand 1 has a mismatch in its core dimension .*"
        r"\(size (\d+) is different from (\d+)\)",
        "The shapes of these arrays do not match: {1} and {0} must be equal for @.",
        "Transpose one of them with .T, or check the sizes.",
    ),
    Known(
        r"operands could not be broadcast together with shapes (\(.*?\)) (\(.*?\))",
        "The shapes of these arrays do not match: {0} and {1}.",
        "Sizes must be equal, or one of them 1, counted from the last.",
    ),
    Known(
        r"cannot reshape array of size (\d+) into shape (\(.*?\))",
        "{0} elements do not fit into the shape {1}.",
        "The sizes must multiply to {0}; one of them can be -1.",
    ),
    Known(
        r"Padding size (\d+) is not supported for (\d)D input tensor",
        "This kind of padding does not exist for a tensor with {1} dimensions.",
        "Add the dimensions of batch and channel first, with x[None, None].",
    ),
    Known(
        r"too many values to unpack \(expected (\d+)\)",
        "There are more values than the {0} names on the left.",
        "A tensor unpacks into the items of its first dimension. Give each value a name.",
        shows="shapes",
    ),
    Known(
        r"not enough values to unpack \(expected (\d+), got (\d+)\)",
        "There are {0} names on the left, but only {1} values.",
        "A tensor unpacks into the items of its first dimension. Print its shape or length.",
        shows="shapes",
    ),
    Known(
        r"size mismatch for ([\w.]+): copying a param with shape (torch.*?) from checkpoint, the "
        r"shape in current model is (torch\.Size\(.*?\))",
        "The state dict is of another model: {0} has the shape {1} there and {2} here.",
        "Build the model with the same sizes as the one that was saved.",
    ),
    Known(
        r"(Missing|Unexpected) key\(s\) in state_dict: (\"[\w.]+\")",
        "The state dict does not belong to this model: {0} key {1}.",
        "Build the model as it was saved, or pass strict=False to load what fits.",
    ),
    Known(
        r"zero-dimensional tensor \(at position (\d+)\) cannot be concatenated",
        "cat joins tensors along a dimension, and tensor {0} of the list is a single number.",
        "Use torch.stack for numbers.",
        shows="shapes",
    ),
    Known(
        r"expect(?:s|ed) a non-empty (?:list of Tensors|TensorList|sequence)",
        "There is nothing to join: the list is empty.",
        "Check the loop that should have filled it.",
    ),
    Known(
        r"Expected target size (\[.*?\]), got (\[.*?\])",
        "The target should have the shape {0}, and has {1}.",
        "The scores are (batch, classes, …): the classes come second, the target has no classes.",
        shows="shapes",
    ),
    Known(
        r"Size does not match at dimension (\d+) expected index (\[.*?\]) to be no larger than "
        r"\w+ (\[.*?\])",
        "The index of shape {1} is larger than the tensor of shape {2} in dimension {0}.",
        "Cut the index, or expand the tensor.",
    ),
    Known(
        r"num_channels \((\d+)\) must be divisible by num_groups \((\d+)\)",
        "GroupNorm shares {0} channels among {1} groups, which must be possible without remainder.",
        "Choose num_groups as a divisor of {0}.",
    ),
    Known(
        r"number of channels in input to be divisible by num_groups",
        "GroupNorm shares the channels among the groups, which must be possible without remainder.",
        "Choose num_groups as a divisor of the number of channels.",
        shows="shapes",
    ),
    Known(
        r"weight tensor should be defined either for all (\d+) classes or no classes but got "
        r"weight tensor of shape: (\[.*?\])",
        "The loss needs a weight for each of the {0} classes, and weight has the shape {1}.",
    ),
    Known(
        r"input has inconsistent input_size: got (\d+),? expected (\d+)",
        "The cell was made for inputs of size {1}, and the last size is {0}.",
        "Set input_size to {0}.",
        shows="shapes",
    ),
    Known(
        r"hidden\d has inconsistent hidden_size: got (\d+),? expected (\d+)",
        "The cell has a hidden size of {1}, and the hidden state given has {0}.",
        shows="shapes",
    ),
    Known(
        r"Input batch size (\d+) doesn't match hidden\d batch size (\d+)",
        "The input has {0} samples, and the hidden state {1}.",
        "Make the hidden state for this batch.",
        shows="shapes",
    ),
    Known(
        r"only one dimension can be inferred",
        "Only one size can be -1: torch works out one of them.",
    ),
    Known(
        r"start \((-?\d+)\) \+ length \((-?\d+)\) exceeds dimension size \((\d+)\)",
        "narrow goes beyond the end: {0} + {1} is more than {2}.",
    ),
    Known(
        r"expects? a tensor with <= 2 dimensions, but self is (\d+)D|expected a matrix, but got "
        r"tensor with dim (\d+)",
        "This needs a matrix, and the tensor has {0}{1} dimensions.",
        "Use .transpose(dim0, dim1), or .mT for batches of matrices.",
        shows="shapes",
    ),
    Known(
        r"Expected reduction dim (-?\d+) to have non-zero size",
        "There is no largest or smallest of no elements: dimension {0} is empty.",
        shows="shapes",
    ),
    Known(
        r"Expected (\d)-dimensional input for (\d)-dimensional weight ?(\[.*?\]), but got "
        r"(\d)-dimensional input of size (\[.*?\])",
        "The weight {2} needs an input with {0} dimensions, and this one is {4}.",
        "Add or remove a dimension, with .unsqueeze or .squeeze.",
    ),
    Known(
        r"selected (?:index|number) k out of range",
        "There are fewer than k elements in this dimension.",
        shows="shapes",
    ),
    Known(
        r"dim (\d+) appears multiple times in the list of dims|diagonal dimensions cannot be "
        r"identical",
        "A dimension is named twice.",
    ),
    Known(
        r"size mismatch|inconsistent tensor size|shapes? .*(cannot|must|mismatch)",
        "The shapes of these tensors do not match.",
        "Print the shape of each tensor on this line.",
        shows="shapes",
    ),
)
