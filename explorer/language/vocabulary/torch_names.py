"""Which functions, classes and attributes of torch the language has, by group.

Each name was reviewed for what it could access. Deliberately left out: whatever loads, saves,
compiles, shares or exposes memory, starts threads or processes, changes process-wide state, or
returns uninitialised memory. A name that is not listed does not exist for a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch._functorch.autograd_function import WrappedCtx
from torch.nn import functional

from explorer.language.vocabulary.more_torch import DISTRIBUTION_NAMES


@dataclass(frozen=True)
class Group:
    """Names of attributes of `holder`, which a program spells `prefix.name`."""

    title: str
    prefix: str
    holder: Any
    names: str


GROUPS = (
    Group(
        "Creating tensors",
        "torch",
        torch,
        """tensor as_tensor from_numpy zeros zeros_like ones ones_like full full_like arange
        linspace logspace eye rand rand_like randn randn_like randint randint_like randperm normal
        bernoulli multinomial poisson complex polar heaviside tril_indices triu_indices
        """,
    ),
    Group(
        "Element by element",
        "torch",
        torch,
        """bitwise_left_shift bitwise_right_shift conj_physical frexp gcd lcm hardshrink ldexp
        igamma igammac mvlgamma polygamma resolve_conj
        abs absolute acos acosh add addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan
        arctan2 arctanh asin asinh atan atan2 atanh ceil clamp clamp_max clamp_min clip conj
        copysign cos cosh deg2rad digamma div divide erf erfc erfinv exp exp2 expm1 fix float_power
        floor floor_divide fmod frac hypot i0 imag lerp lgamma log log10 log1p log2 logaddexp
        logaddexp2 logit maximum minimum fmax fmin mul multiply nan_to_num neg negative
        nextafter positive pow rad2deg real reciprocal relu remainder round rsqrt rsub selu
        sigmoid sign sgn signbit sin sinc sinh softmax log_softmax sqrt square sub subtract tan
        tanh true_divide trunc where xlogy threshold celu prelu dropout
        bitwise_and bitwise_or bitwise_xor bitwise_not
        logical_and logical_or logical_not logical_xor""",
    ),
    Group(
        "Element by element",
        "torch",
        torch,
        """abs_ acos_ acosh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_
        cosh_ erf_ exp2_ exp_ expm1_ floor_ frac_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_
        reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_
        xlogy_ zero_""",
    ),
    Group(
        "Comparing",
        "torch",
        torch,
        """is_conj is_signed promote_types
        allclose isclose eq ne lt le gt ge equal greater greater_equal less less_equal not_equal
        isfinite isinf isnan isposinf isneginf isin isreal is_tensor is_floating_point is_complex
        is_nonzero is_same_size numel""",
    ),
    Group(
        "Reducing",
        "torch",
        torch,
        """sum mean prod max min amax amin aminmax argmax argmin all any std var std_mean var_mean
        median nanmedian mode norm logsumexp cumsum cumprod cummax cummin logcumsumexp nansum
        nanmean count_nonzero quantile nanquantile dist trapezoid histc bincount unique
        unique_consecutive""",
    ),
    Group(
        "Selecting",
        "torch",
        torch,
        """argwhere diagonal_scatter unravel_index
        gather index_select index_add index_copy index_fill masked_select masked_fill narrow
        nonzero take take_along_dim scatter scatter_add scatter_reduce select sort argsort topk
        kthvalue msort searchsorted bucketize diagonal diag diag_embed diagflat tril triu
        masked_scatter select_scatter slice_scatter""",
    ),
    Group(
        "Shapes",
        "torch",
        torch,
        """adjoint channel_shuffle pixel_shuffle pixel_unshuffle
        reshape flatten ravel squeeze unsqueeze transpose swapaxes swapdims t permute movedim
        moveaxis flip fliplr flipud roll rot90 broadcast_to broadcast_tensors broadcast_shapes
        atleast_1d atleast_2d atleast_3d unflatten view_as_real view_as_complex clone
        detach unbind meshgrid cartesian_prod combinations""",
    ),
    Group(
        "Joining and splitting",
        "torch",
        torch,
        """cat concat concatenate stack hstack vstack dstack column_stack row_stack split
        tensor_split chunk hsplit vsplit dsplit repeat_interleave tile block_diag""",
    ),
    Group(
        "Linear algebra",
        "torch",
        torch,
        """gradient ger svd qr svd_lowrank pca_lowrank pairwise_distance cholesky_inverse
        matmul mm bmm mv dot inner outer vdot addmm addmv addbmm baddbmm addr einsum tensordot
        kron cross trace det logdet slogdet inverse pinverse cholesky cholesky_solve
        matrix_exp matrix_power chain_matmul cdist cov corrcoef cosine_similarity vander
        diff cumulative_trapezoid trapz renorm bilinear conv1d conv2d conv3d""",
    ),
    Group(
        "Linear algebra",
        "torch.linalg",
        torch.linalg,
        """matmul matrix_exp vander tensorinv tensorsolve
        norm vector_norm matrix_norm det slogdet inv solve lstsq cholesky qr eigh eigvalsh svd
        svdvals pinv matrix_power matrix_rank cond cross multi_dot vecdot diagonal
        solve_triangular""",
    ),
    Group(
        "Special functions",
        "torch.special",
        torch.special,
        """expit erf erfc erfinv exp2 expm1 log1p logit logsumexp log_softmax softmax digamma
        gammaln polygamma xlogy entr i0 sinc log_ndtr ndtr""",
    ),
    Group(
        "Fourier",
        "torch.fft",
        torch.fft,
        """fft ifft rfft irfft fft2 ifft2 fftn ifftn rfft2
        irfft2 rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift""",
    ),
    Group(
        "Autograd",
        "torch",
        torch,
        """no_grad enable_grad inference_mode is_grad_enabled is_inference_mode_enabled
        set_grad_enabled manual_seed get_default_dtype is_inference result_type can_cast
        Generator Size dtype finfo iinfo""",
    ),
    Group(
        "Types of numbers",
        "torch",
        torch,
        """float float16 float32 float64 double half bfloat16 int int8 int16 int32 int64 long short
        uint8 bool complex64 complex128 strided preserve_format contiguous_format pi e inf
        nan newaxis""",
    ),
    Group(
        "Autograd",
        "torch.autograd",
        torch.autograd,
        "grad backward Function Variable no_grad enable_grad",
    ),
    Group(
        "Autograd",
        "torch.autograd.functional",
        torch.autograd.functional,
        "jacobian hessian vjp jvp vhp hvp",
    ),
    Group(
        "Autograd",
        "torch.autograd.function",
        torch.autograd.function,
        "once_differentiable Function",
    ),
    Group(
        "Function transforms",
        "torch.func",
        torch.func,
        "grad grad_and_value vmap jacrev jacfwd hessian jvp vjp functional_call",
    ),
    Group(
        "Function transforms",
        "functorch",
        torch.func,
        "grad grad_and_value vmap jacrev jacfwd hessian jvp vjp",
    ),
    Group("Function transforms", "torch", torch, "vmap"),
    Group(
        "Activations and losses",
        "torch.nn.functional",
        functional,
        """relu relu_ relu6 leaky_relu elu selu celu gelu silu mish softplus softsign tanh sigmoid
        hardtanh hardsigmoid hardswish logsigmoid softmax softmin log_softmax gumbel_softmax
        tanhshrink softshrink hardshrink threshold glu prelu rrelu normalize
        mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy
        binary_cross_entropy_with_logits kl_div hinge_embedding_loss margin_ranking_loss
        triplet_margin_loss cosine_embedding_loss soft_margin_loss poisson_nll_loss
        gaussian_nll_loss multi_margin_loss cosine_similarity pairwise_distance""",
    ),
    Group(
        "Layers as functions",
        "torch.nn.functional",
        functional,
        """linear bilinear embedding one_hot conv1d conv2d conv3d conv_transpose1d conv_transpose2d
        max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d
        adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d lp_pool2d batch_norm layer_norm
        group_norm instance_norm rms_norm local_response_norm dropout dropout1d dropout2d
        alpha_dropout pad interpolate upsample unfold fold pixel_shuffle pixel_unshuffle
        grid_sample affine_grid scaled_dot_product_attention""",
    ),
    Group(
        "Layers",
        "torch.nn",
        nn,
        """ReflectionPad1d ReflectionPad3d
        ConstantPad1d ConstantPad3d ZeroPad1d ZeroPad3d CircularPad1d CircularPad2d CircularPad3d
        Dropout3d FeatureAlphaDropout InstanceNorm3d LPPool1d LPPool2d LPPool3d ChannelShuffle
        Module Parameter Sequential ModuleList ModuleDict ParameterList Linear
        Bilinear Identity Flatten Unflatten Embedding
        Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
        MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d
        AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
        BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm InstanceNorm1d InstanceNorm2d
        RMSNorm LocalResponseNorm Dropout Dropout1d Dropout2d AlphaDropout
        RNN LSTM GRU RNNCell LSTMCell GRUCell MultiheadAttention TransformerEncoderLayer
        TransformerEncoder TransformerDecoderLayer TransformerDecoder Transformer
        Upsample UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle
        ZeroPad2d ReflectionPad2d ConstantPad2d Fold Unfold CosineSimilarity PairwiseDistance
        Buffer""",
    ),
    Group(
        "Activations as layers",
        "torch.nn",
        nn,
        """ReLU ReLU6 LeakyReLU PReLU RReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Hardtanh
        Hardsigmoid Hardswish LogSigmoid Softplus Softsign Softmax Softmin LogSoftmax Softmax2d
        Tanhshrink Softshrink Hardshrink Threshold GLU""",
    ),
    Group(
        "Losses as layers",
        "torch.nn",
        nn,
        """MultiLabelSoftMarginLoss
        MSELoss L1Loss SmoothL1Loss HuberLoss CrossEntropyLoss NLLLoss BCELoss
        BCEWithLogitsLoss KLDivLoss HingeEmbeddingLoss MarginRankingLoss TripletMarginLoss
        CosineEmbeddingLoss SoftMarginLoss PoissonNLLLoss GaussianNLLLoss MultiMarginLoss""",
    ),
    Group("Layers", "torch.nn.parameter", nn.parameter, "Parameter"),
    Group("Layers", "torch.nn.modules", nn, "Module"),
    Group(
        "Initialising",
        "torch.nn.init",
        nn.init,
        """uniform_ normal_ constant_ ones_ zeros_ eye_ dirac_ xavier_uniform_ xavier_normal_
        kaiming_uniform_ kaiming_normal_ trunc_normal_ orthogonal_ sparse_ calculate_gain
        uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform
        kaiming_normal orthogonal sparse""",
    ),
    Group(
        "Gradients of a whole model",
        "torch.nn.utils",
        nn.utils,
        "clip_grad_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters",
    ),
    Group(
        "Optimizers",
        "torch.optim",
        torch.optim,
        """Adafactor Muon
        SGD Adam AdamW Adamax NAdam RAdam Adagrad Adadelta RMSprop Rprop ASGD LBFGS""",
    ),
    Group(
        "Learning-rate schedules",
        "torch.optim.lr_scheduler",
        torch.optim.lr_scheduler,
        """StepLR MultiStepLR ExponentialLR CosineAnnealingLR LambdaLR LinearLR ConstantLR
        PolynomialLR OneCycleLR CyclicLR ReduceLROnPlateau CosineAnnealingWarmRestarts
        MultiplicativeLR SequentialLR ChainedScheduler""",
    ),
)

#: What may be read on a tensor.
_TENSOR = """
    addr arccosh arcsinh arctanh arctan2 argwhere adjoint bitwise_left_shift bitwise_right_shift
    acos_ asin_ cosh_ sinh_ tan_ acosh_ asinh_ atanh_ atan2_ digamma_ erfinv_ lgamma_ logit_ sgn_
    sign_ sinc_ hypot_ fmod_ float_power_ copysign_ xlogy_ nextafter deg2rad rad2deg i0 heaviside
    logaddexp2 isneginf isposinf polygamma mvlgamma prelu logical_and_ logical_or_ logical_not_
    logical_xor_ bitwise_and_ bitwise_or_ bitwise_not_ bitwise_xor_ eq_ ne_ lt_ le_ gt_ ge_
    log_normal_ cauchy_ geometric_ masked_scatter_ scatter_reduce_ select_scatter slice_scatter
    diagonal_scatter nanquantile unique_consecutive svd qr is_conj conj_physical frexp gcd lcm
    ldexp igamma igammac new_empty dsplit
    T mT H mH data grad grad_fn requires_grad is_leaf retains_grad shape ndim dtype device layout
    itemsize nbytes real imag is_cuda is_sparse is_quantized output_nr name names
    backward register_hook register_post_accumulate_grad_hook retain_grad requires_grad_ detach
    detach_ clone item tolist numpy size dim ndimension numel nelement element_size stride
    storage storage_offset is_contiguous contiguous is_floating_point is_complex is_signed
    is_inference new
    to cpu cuda xpu pin_memory is_cpu is_mps is_xpu is_meta get_device type type_as float
    double half bfloat16 int long short char byte bool
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
WRITABLE_TENSOR_NAMES = frozenset({"grad", "data", "requires_grad"})

_MODULE = """
    _modules forward parameters named_parameters children named_children modules named_modules
    buffers named_buffers get_parameter get_submodule get_buffer zero_grad train eval training
    requires_grad_ to float double half bfloat16 cpu cuda xpu type apply state_dict
    load_state_dict add_module
    register_module register_parameter register_buffer register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_backward_hook register_state_dict_pre_hook register_state_dict_post_hook
    register_load_state_dict_pre_hook register_load_state_dict_post_hook
    extra_repr append extend insert keys values items update pop clear
    flatten_parameters
"""

_OPTIMIZER = """
    step zero_grad param_groups state state_dict load_state_dict add_param_group defaults
    register_step_pre_hook register_step_post_hook register_state_dict_pre_hook
    register_state_dict_post_hook register_load_state_dict_post_hook
"""
_SCHEDULER = "step get_last_lr state_dict last_epoch base_lrs optimizer _step_count"

#: Readable names by class; a class has those of its bases too.
MEMBERS: dict[type, str] = {
    torch.Tensor: _TENSOR,
    torch.distributions.Distribution: DISTRIBUTION_NAMES,
    nn.Module: _MODULE,
    torch.optim.Optimizer: _OPTIMIZER,
    torch.optim.lr_scheduler.LRScheduler: _SCHEDULER,
    torch.optim.lr_scheduler.ReduceLROnPlateau: _SCHEDULER,
    torch.autograd.graph.Node: """name next_functions variable metadata register_hook
        register_prehook""",
    torch.utils.hooks.RemovableHandle: "remove",
    torch.autograd.forward_ad.UnpackedDualTensor: "primal tangent",
    torch.autograd.function.FunctionCtx: """save_for_backward save_for_forward
        mark_non_differentiable mark_dirty set_materialize_grads""",
    WrappedCtx: """save_for_backward save_for_forward mark_non_differentiable mark_dirty
        set_materialize_grads saved_tensors needs_input_grad materialize_grads""",
    torch._functorch.autograd_function.VmapInfo: "batch_size randomness",
    torch.autograd.function.BackwardCFunction: """saved_tensors needs_input_grad
        materialize_grads""",
    torch.Size: "numel count index",
    torch.device: "type index",
    torch.dtype: "is_floating_point is_complex is_signed itemsize",
    torch.finfo: "eps max min tiny smallest_normal resolution bits dtype",
    torch.iinfo: "max min bits",
    torch.Generator: "manual_seed initial_seed",
    torch.utils.data.TensorDataset: "tensors",
    torch.utils.data.DataLoader: "dataset batch_size drop_last sampler num_workers collate_fn",
    torch.utils.data.Subset: "dataset indices",
    torch.utils.data.ConcatDataset: "datasets cumulative_sizes",
}
