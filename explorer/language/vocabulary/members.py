"""What may be read of torch's objects, and assigned on a tensor."""

from __future__ import annotations

import torch
from torch import nn

#: What may be read of a tensor.
TENSOR = """
    T mT H mH data grad grad_fn requires_grad is_leaf retains_grad shape ndim dtype device layout
    itemsize nbytes real imag is_cuda is_sparse is_quantized output_nr name names
    backward register_hook register_post_accumulate_grad_hook retain_grad requires_grad_ detach
    detach_ clone item tolist numpy size dim ndimension numel nelement element_size stride
    storage_offset is_contiguous contiguous is_floating_point is_complex is_signed is_inference
    to cpu type type_as float double half bfloat16 int long short char byte bool
    view view_as reshape reshape_as flatten ravel unflatten squeeze squeeze_ unsqueeze unsqueeze_
    transpose transpose_ swapaxes swapdims t t_ permute movedim moveaxis expand expand_as
    broadcast_to repeat repeat_interleave tile flip fliplr flipud roll rot90 unfold diagonal diag
    diag_embed diagflat tril tril_ triu triu_ unbind split split_with_sizes tensor_split chunk
    narrow select hsplit vsplit
    abs abs_ absolute neg neg_ negative positive sign sgn signbit ceil ceil_ floor floor_ round
    round_ trunc trunc_ fix frac frac_ reciprocal reciprocal_ sqrt sqrt_ rsqrt rsqrt_ square
    square_ exp exp_ exp2 exp2_ expm1 expm1_ log log_ log10 log10_ log1p log1p_ log2 log2_ sin
    sin_ cos cos_ tan tan_ asin acos atan atan_ sinh cosh tanh tanh_ asinh acosh atanh arcsin
    arccos arctan sigmoid sigmoid_ logit relu relu_ softmax log_softmax erf erf_ erfc erfinv
    digamma lgamma sinc nan_to_num nan_to_num_ clamp clamp_ clamp_min clamp_min_ clamp_max
    clamp_max_ clip clip_ hardshrink
    add add_ sub sub_ subtract subtract_ mul mul_ multiply multiply_ div div_ divide divide_
    true_divide floor_divide floor_divide_ remainder remainder_ fmod pow pow_ float_power addcmul
    addcmul_ addcdiv addcdiv_ lerp lerp_ atan2 copysign hypot logaddexp maximum minimum fmax fmin
    xlogy
    logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor
    eq ne lt le gt ge equal greater less greater_equal less_equal not_equal isclose allclose
    isfinite isinf isnan isreal is_same_size is_nonzero
    sum mean prod max min amax amin aminmax argmax argmin all any std var median mode norm
    logsumexp cumsum cumsum_ cumprod cummax cummin logcumsumexp nansum nanmean count_nonzero
    quantile dist histc bincount unique trace det logdet slogdet inverse pinverse cholesky
    matrix_exp matrix_power
    sort argsort topk kthvalue msort nonzero gather scatter scatter_ scatter_add scatter_add_
    scatter_reduce index_select index_add index_add_ index_copy index_copy_ index_fill index_fill_
    index_put index_put_ masked_select masked_fill masked_fill_ masked_scatter where take
    take_along_dim put_ fill_ fill_diagonal_ zero_ copy_
    matmul mm bmm mv dot inner outer vdot ger addmm addmm_ addmv baddbmm addbmm cross kron
    diff renorm cov corrcoef
    normal_ uniform_ random_ bernoulli bernoulli_ exponential_ multinomial
    new_tensor new_zeros new_ones new_full angle conj resolve_conj _version _base
"""
#: What may be assigned on a tensor.
TENSOR_WRITES = frozenset({"grad", "data", "requires_grad"})

MODULE = """
    forward parameters named_parameters children named_children modules named_modules buffers
    named_buffers get_parameter get_submodule get_buffer zero_grad train eval training
    requires_grad_ to float double half cpu type apply state_dict load_state_dict add_module
    register_module register_parameter register_buffer register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_backward_hook extra_repr append extend insert keys values items update pop clear
    flatten_parameters
"""

OPTIMIZER = "step zero_grad param_groups state state_dict load_state_dict add_param_group defaults"
SCHEDULER = "step get_last_lr state_dict last_epoch base_lrs optimizer"

#: Readable names by class; a class has those of its bases too.
MEMBERS: dict[type, str] = {
    torch.Tensor: TENSOR,
    nn.Module: MODULE,
    torch.optim.Optimizer: OPTIMIZER,
    torch.optim.lr_scheduler.LRScheduler: SCHEDULER,
    torch.optim.lr_scheduler.ReduceLROnPlateau: SCHEDULER,
    torch.autograd.graph.Node: """name next_functions variable metadata register_hook
        register_prehook""",
    torch.utils.hooks.RemovableHandle: "remove",
    torch.autograd.function.FunctionCtx: """save_for_backward mark_non_differentiable mark_dirty
        set_materialize_grads""",
    torch.autograd.function.BackwardCFunction: """saved_tensors needs_input_grad
        materialize_grads""",
    torch.Size: "numel count index",
    torch.device: "type index",
    torch.dtype: "is_floating_point is_complex is_signed itemsize",
    torch.finfo: "eps max min tiny smallest_normal resolution bits dtype",
    torch.iinfo: "max min bits",
    torch.Generator: "manual_seed initial_seed",
    torch.utils.data.TensorDataset: "tensors",
    torch.utils.data.DataLoader: "dataset batch_size drop_last",
}
