"""The rules on legal inputs of odd shapes: 0-dim, empty, of size 1, with negative axes."""

from __future__ import annotations

import warnings

import pytest
import torch

from explorer import trace
from explorer.trace import BackwardStep, Flow
from explorer.trace.recording.capture import capture_values
from explorer.trace.recording.passes import RawStep, saved_values
from explorer.trace.recording.torchviz_graph import walk_graph
from explorer.trace.rules import RULES, UNKNOWN, state, statement
from tests.trace.steps import steps_of
from tests.trace.test_rules import multiply_out

SETUP = """\
import torch
import torch.nn.functional as F
torch.manual_seed(1)
z = torch.tensor(0.7, requires_grad=True)
n = torch.randn(0, requires_grad=True)
n2 = torch.randn(0, 3, requires_grad=True)
n3 = torch.randn(2, 0, 4, requires_grad=True)
o = torch.randn(1, requires_grad=True)
o2 = torch.randn(1, 1, requires_grad=True)
c = torch.randn(3, 1, requires_grad=True)
v = torch.randn(4, requires_grad=True)
a = torch.randn(3, 4, requires_grad=True)
B = torch.randn(2, 3, 4, requires_grad=True)
"""
#: Each of them is legal for at least this many of the expressions below.
TENSORS, LEGAL = ("z", "n", "n3", "o", "o2", "c", "v", "B"), 230
#: What torch raises for the others; padding_idx is checked with an assert.
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, AttributeError, AssertionError)

#: Each is tried with every tensor in place of @; some are not legal for some tensors.
EXPRESSIONS = """
@.abs(); @.acos(); @.sin(); @.exp(); @.relu(); @.sigmoid(); @.tanh(); @.softmax(-1);
@.log_softmax(-1); @.softmax(0); @.sum(); @.sum(-1); @.sum(0); @.sum(-1, keepdim=True);
@.sum(()); @.mean(); @.mean(-1); @.mean(0, keepdim=True); @.prod(); @.prod(-1); @.prod(0,
keepdim=True); @.max(); @.min(); @.max(-1)[0]; @.min(0)[0]; @.amax(-1); @.amin(); @.amax((-1,
)); @.median(); @.median(-1)[0]; @.nanmedian(-1)[0]; @.mode(-1)[0]; @.kthvalue(1, -1)[0];
@.var(); @.var(-1); @.var(-1, correction=0); @.std(); @.std(-1, keepdim=True); @.norm();
@.norm(dim=-1); @.norm(1); @.norm(3, dim=-1); @.norm(float('inf')); @.norm(0); @.logsumexp(-1);
@.logsumexp(0); @.cumsum(-1); @.cumprod(-1); @.cummax(-1)[0]; @.cummin(0)[0];
@.logcumsumexp(-1); @.sort(-1)[0]; @.sort(descending=True)[0]; @.topk(1, -1)[0]; @.nansum();
@.nansum(-1); @.nanmean(); @.reshape(-1); @.flatten(); @.squeeze(); @.squeeze(-1); @.squeeze(0);
@.unsqueeze(-1); @.unsqueeze(0); @.T; @.mT; @.transpose(0, -1); @.permute([*range(@.dim())]);
@.flip(-1); @.flip(0); @.flip(()); @.roll(1); @.roll(1, -1); @.roll(-2, 0); @.repeat(2,
*[1]*@.dim()); @.repeat(*[1]*@.dim()); @.repeat(0, *[1]*@.dim()); @.expand(2, *@.shape);
@.expand_as(@); @.tril(); @.triu(1); @.diag(); @.diagonal(); @.diag_embed(); @.diagonal(0, -2,
-1); @.unbind(-1)[0]; @.unbind(0)[-1]; @.split(1, -1)[0]; @.split(2)[-1]; @.chunk(2, -1)[0];
@.tensor_split(2, -1)[-1]; @.split(0)[0]; @.narrow(-1, 0, 1); @.narrow(0, 0, 0); @.select(-1,
-1); @[0]; @[-1]; @[...]; @[None]; @[..., None]; @[:0]; @[..., -1:]; @[..., ::2]; @[..., 1:1];
@[()]; @[torch.tensor([0, 0])]; @[torch.tensor(0)]; @[..., torch.tensor([-1])];
@[torch.tensor([], dtype=torch.long)]; @[@ > 0]; @[@ > 99]; @[True]; @[None, ..., None]; @[:,
None]; @[torch.zeros(1, 1, dtype=torch.long)]; @.index_select(-1, torch.tensor([0, 0]));
@.index_select(0, torch.tensor(0)); @.index_select(0, torch.tensor([], dtype=torch.long));
@.gather(-1, torch.zeros_like(@, dtype=torch.long)); @.gather(0, torch.zeros([0]*@.dim(),
dtype=torch.long)); @.take(torch.tensor([0])); @.take(torch.tensor(-1)); @.take(torch.tensor([],
dtype=torch.long)); @.masked_select(@>0); @.masked_select(torch.tensor(True));
@.masked_fill(@>0, 2.0); @.masked_fill(torch.tensor(True), 2.0); @.masked_fill(@>0, z);
@.masked_scatter(@>0, torch.randn(100)); @.index_fill(-1, torch.tensor([0]), 2.0);
@.index_fill(0, torch.tensor(0), z); @.index_add(-1, torch.tensor([0]), @.narrow(-1, 0, 1));
@.index_copy(-1, torch.tensor([0]), @.narrow(-1, 0, 1)); @.scatter(-1, torch.zeros_like(@,
dtype=torch.long), @*2); @.scatter(-1, torch.zeros_like(@, dtype=torch.long), 2.0);
@.scatter_add(-1, torch.zeros_like(@, dtype=torch.long), @*2); @.unfold(-1, 1, 1); @.unfold(0,
0, 1); @.clamp(0, 1); @.clamp(max=z); @.clamp(min=@); @.pow(2); @.pow(0); @.pow(z); @.clone();
@.to(torch.float64); @.double(); @.view(@.shape); @.view_as(@); @.contiguous(); @.dot(@);
@.matmul(@); @.mv(@); @.__matmul__(@.mT); @.mm(@.t()); @.outer(@); @.inner(@); @.bmm(@.mT);
@.kron(@); @.nan_to_num(); @.sgn(); @.sign(); @.round(); @.floor(); @.frac(); @.renorm(2, 0,
1.0); @.cov(); @.corrcoef(); @.trace(); @.logdet(); @.det(); @.inverse(); @.diff();
@.diff(dim=0); @.cumsum(0); @.quantile(0.5); @.quantile(0.5, -1); @.nanquantile(0.2, -1);
@.rot90(); @.swapaxes(0, -1); @.movedim(0, -1); @.unflatten(-1, (1, -1)); @.unflatten(0, (-1,
1)); @.lerp(@, 0.3); @.lerp(@*2, z); @.addcmul(@, z); @.addcdiv(@, @+9); @.sub(z, alpha=2);
@.add(@, alpha=-1); @.rsub(z); @.atan2(z); @.fmod(z+1); @.remainder(0.7); @.copysign(z);
@.hypot(z); @.xlogy(z.abs()); @.maximum(z); @.minimum(@); @.where(@>0, z); @.where(@>0, @*2);
@.heaviside(z); @.dist(@*2); @.dist(z); @.std(unbiased=False); @.aminmax(); @.count_nonzero();
@.logit(0.2); @.erf(); @.lgamma(); @.sinc(); torch.cat([@]); torch.cat([@, @], -1);
torch.cat([@, @*2], -@.dim()); torch.cat([n, @], -1); torch.cat([torch.tensor([]), @*2], -2);
torch.cat([@, n, @], 0); torch.cat([n, @, @], -@.dim()); torch.cat([torch.tensor([]), n, @,
torch.tensor([])], -1); torch.cat([n, n]); torch.cat([@.detach(), @], 0); torch.cat([@,
@.detach(), @], 0); torch.stack([@, @]); torch.stack([@, @], -1); torch.stack([@]);
torch.hstack([@, @]); torch.vstack([@, @]); torch.dstack([@, @]); torch.column_stack([@, @]);
torch.block_diag(n2, @); torch.atleast_2d(@); torch.atleast_3d(@); torch.where(@>0, @, z);
torch.where(torch.tensor(True), @, z); @+a; @*a; @-c; @/(a.abs()+1); z*@; z/(@.abs()+1); @**2.0;
2.0**@; @*o2; @*o; o2/(@.abs()+1); torch.maximum(@, c); torch.addmm(z, a, a.T)+@.sum();
torch.einsum('...i->...', @); torch.einsum('i..., i...->...', @, @); torch.tensordot(@, @,
@.dim()); torch.tensordot(@, @, 0); F.softplus(@); F.gelu(@); F.silu(@); F.elu(@);
F.leaky_relu(@); F.hardtanh(@); F.hardswish(@); F.logsigmoid(@); F.glu(@*1, -1); F.softmin(@,
-1); F.normalize(@, dim=-1); F.dropout(@, 0.0); F.dropout(@, 1.0); F.dropout(@, 0.5, False);
F.mse_loss(@, @*2); F.mse_loss(@, @*2, reduction='none'); F.l1_loss(@, @*2, reduction='sum');
F.smooth_l1_loss(@, @*2); F.huber_loss(@, @*2); F.binary_cross_entropy_with_logits(@,
torch.ones_like(@)); F.binary_cross_entropy(torch.sigmoid(@), torch.ones_like(@)); F.kl_div(@,
torch.ones_like(@), reduction='batchmean'); F.kl_div(@, @, reduction='none', log_target=True);
F.cross_entropy(@, torch.softmax(@, -1)); F.cross_entropy(@, torch.zeros(@.shape[0],
dtype=torch.long)); F.cross_entropy(@, torch.tensor(0)); F.nll_loss(@, torch.tensor(0));
F.cross_entropy(@, torch.full((@.shape[0], ), -100)); F.layer_norm(@, @.shape[-1:]);
F.layer_norm(@, @.shape); F.rms_norm(@, @.shape[-1:]); F.group_norm(@, 1); F.batch_norm(@, None,
None, training=True); F.instance_norm(@); F.linear(@, torch.randn(5, @.shape[-1],
requires_grad=True)); F.linear(@, torch.randn(@.shape[-1], requires_grad=True)); F.linear(@,
torch.randn(5, @.shape[-1]), torch.randn(5, requires_grad=True)); F.bilinear(@, @,
torch.randn(2, @.shape[-1], @.shape[-1], requires_grad=True)); F.pad(@, (1, 1)); F.pad(@, (0,
0)); F.pad(@, (-1, 0)); F.pad(@, (1, 0), mode='reflect'); F.pad(@, (1, 2), mode='replicate');
F.pad(@, (1, 1), mode='circular'); F.max_pool1d(@, 1); F.avg_pool1d(@, 1);
F.adaptive_avg_pool1d(@, 1); F.adaptive_max_pool1d(@, 2); F.avg_pool2d(@, 1); F.max_pool2d(@,
1); F.conv1d(@, torch.randn(2, @.shape[-2], 1, requires_grad=True)); F.interpolate(@,
scale_factor=2); F.embedding(torch.tensor(0), @); F.embedding(torch.tensor([[0, 0]]), @,
padding_idx=-1); F.embedding(torch.tensor([], dtype=torch.long), @);
F.embedding_bag(torch.tensor([[0, 0]]), @); F.cosine_similarity(@, @*2, -1);
F.pairwise_distance(@, @*2); F.scaled_dot_product_attention(@, @, @);
F.one_hot(torch.tensor([0]))*@; F.prelu(@, o); F.celu(@); F.mish(@); F.threshold(@, 0.1, 2.0);
F.hinge_embedding_loss(@, torch.ones_like(@)); F.margin_ranking_loss(@, @, torch.ones_like(@));
F.poisson_nll_loss(@, torch.ones_like(@)); F.gaussian_nll_loss(@, torch.ones_like(@),
torch.ones_like(@)); torch.linalg.norm(@); torch.linalg.vector_norm(@, 2, -1);
torch.linalg.vector_norm(@, dim=()); torch.linalg.matrix_norm(@); torch.linalg.multi_dot([@,
@.T]); torch.cdist(@, @*2); torch.cartesian_prod(@, @); torch.meshgrid(@, @, indexing='ij')[0];
torch.broadcast_tensors(@, z)[1]; torch.var_mean(@, -1)[0]; torch.var_mean(@)[1];
torch.std_mean(@, 0)[0]; torch.aminmax(@)[0]; torch.aminmax(@, dim=-1)[1]; torch.trapezoid(@);
torch.cumulative_trapezoid(@); torch.searchsorted(@.detach().sort()[0], @.detach())+@;
torch.take_along_dim(@, torch.zeros_like(@, dtype=torch.long), -1); torch.slice_scatter(@,
@[:1], 0, 0, 1); torch.select_scatter(@, @.select(-1, 0), -1, 0); torch.diagonal_scatter(@,
@.diagonal()*2); torch.index_put(@, (torch.tensor([0]), ), z); torch.index_put(@,
(torch.tensor([0, 0]), ), z, accumulate=True); torch.addcmul(z, @, @); torch.addcdiv(z, @,
a.abs()+1); torch.lerp(z, @, 0.5); torch.atan2(z, @); torch.logaddexp(z, @); torch.clamp(z, @,
@+1); torch.fmod(z, @.abs()+1); torch.baddbmm(z, B, B.mT)*@.sum(); torch.addmv(z, a, v)*@.sum();
torch.addr(z, v, v)*@.sum(); torch.addbmm(z, B, B.mT)*@.sum();
torch.view_as_complex(torch.stack([@, @], -1)).abs(); torch.fft.rfft(@).abs();
torch.func.grad(lambda t: (t**2).sum())(@); torch.vmap(lambda t: t*2)(@);
torch.nn.utils.parameters_to_vector([@, z]); @.clone().squeeze_(); @.clone().unsqueeze_(-1);
@.clone().mul_(z); @.clone().zero_(); @.clone().fill_(z); @.clone().copy_(z); torch.ones(2, 3,
4).mul(@); torch.einsum('ij->ji', @); torch.einsum('bij, bjk->bik', @, @.mT); torch.einsum('i,
j->ij', @, @); torch.matmul(@, v); torch.matmul(v, @.mT); torch.matmul(@, B.mT); torch.bmm(@,
@.mT); torch.mv(@, @[0]); torch.unique(@.detach())*z; torch.combinations(@); torch.vander(@);
torch.nn.functional.unfold(@[None, None], 1); F.pixel_shuffle(@, 1); F.channel_shuffle(@, 1);
torch.block_diag(z, @)
"""


def steps_of_torch(output: torch.Tensor) -> list[BackwardStep]:
    """What autograd does from the output back, recorded by hooks of plain torch."""
    weights = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).view(output.shape)
    loss = (output * weights).sum()
    steps = []
    for node in walk_graph([loss]):
        if type(node).__name__ != "AccumulateGrad":
            saved = saved_values(node, RawStep(0, [], {}))
            name, plain = type(node).__name__, {k: _plain(value) for k, value in saved.items()}

            def record(out, came, name=name, plain=plain):
                grads_in = tuple(map(_captured, came))
                flows = tuple(Flow("n1", 0, _captured(grad)) for grad in out)
                steps.append(BackwardStep("n0", name, grads_in, flows, saved=plain))

            node.register_hook(record)
    loss.backward()
    return steps


def _plain(value):
    return value.array() if hasattr(value, "array") else value


def _captured(grad):
    return None if grad is None else capture_values(grad).array()


@pytest.mark.parametrize("tensor", TENSORS)
def test_rules_of_odd_shapes_agree_with_autograd(tensor: str) -> None:
    tried = 0
    for expression in " ".join(EXPRESSIONS.split()).split("; "):
        names: dict[str, object] = {}
        exec(SETUP, names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                output = eval(expression.replace("@", tensor), names)
                output = output[0] if isinstance(output, tuple) else output
                steps = steps_of_torch(output)
            except REFUSALS:
                continue  # not legal for this tensor, or without a gradient
        for step in steps:
            state(step.name, step.grads_in, step.grads_out, step.saved)  # logs what it raises
            if step.name in RULES:
                multiply_out(step)
        tried += 1
    assert tried >= LEGAL


def test_cat_skips_an_empty_tensor_as_a_cache_of_a_language_model_does() -> None:
    """It has one axis only, and a place among the inputs."""
    source = """\
import torch
x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]], requires_grad=True)
e = torch.tensor([], requires_grad=True)
keys = torch.cat([e, x, torch.tensor([]), 2 * x], dim=-2)
(keys * torch.arange(8.0).view(1, 4, 2)).sum().backward()
"""
    traced = trace.run(source)
    assert traced.error is None
    x = traced.variables["x"]
    assert x.grad.tolist() == [[[8, 11], [14, 17]]]  # i + 2 * (i + 4) at the i-th element
    step = next(step for step in steps_of(traced) if step.name == "CatBackward0")
    assert "[0:2]" in step.formula
    assert "[2:4]" in step.formula
    assert step.formula.count("partial L") == 2


def test_a_rule_that_fails_costs_its_statement_alone(monkeypatch, caplog) -> None:
    def broken(*_):
        raise IndexError("tuple index out of range")

    monkeypatch.setattr(statement, "applied", broken)
    traced = trace.run(
        "import torch\nx = torch.ones(2, requires_grad=True)\n(2 * x).sum().backward()"
    )
    assert traced.error is None
    assert traced.variables["x"].grad.tolist() == [2, 2]
    assert {s.words for s in steps_of(traced) if s.name == "MulBackward0"} == {UNKNOWN}
    assert "MulBackward0" in caplog.text
    caplog.clear()
