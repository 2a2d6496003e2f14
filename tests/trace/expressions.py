"""Expressions for every kind of node: what the rules, the check and the script are tried on."""

import re

SETUP = """\
import torch
import torch.nn.functional as F
a = torch.randn(3, 4, requires_grad=True)
b = torch.randn(3, 4, requires_grad=True)
p = (torch.rand(3, 4) + 0.5).requires_grad_()
s = (torch.rand(3, 4) * 1.6 - 0.8).requires_grad_()
v = torch.randn(4, requires_grad=True)
v2 = torch.randn(4, requires_grad=True)
M = torch.randn(4, 4, requires_grad=True)
S = (torch.eye(4) * 5 + 0.5).requires_grad_()
B = torch.randn(2, 3, 4, requires_grad=True)
C = torch.randn(2, 4, 5, requires_grad=True)
X1 = torch.randn(2, 2, 6, requires_grad=True)
K1 = torch.randn(3, 2, 3, requires_grad=True)
X2 = torch.randn(1, 2, 5, 5, requires_grad=True)
K2 = torch.randn(3, 2, 3, 3, requires_grad=True)
bias1 = torch.randn(3, requires_grad=True)
t = torch.tensor([0, 3, 1])
i1 = torch.tensor([2, 0])
idx = torch.tensor([[0, 1, 2, 0], [3, 3, 1, 0], [1, 0, 2, 3]])
"""


def _split(text: str) -> list[str]:
    return [expression.strip() for expression in " ".join(text.split()).split(";")]


#: By group, separated by semicolons.
EXPRESSIONS: dict[str, list[str]] = {
    "Element by element": _split(
        """
        torch.abs(a); torch.acos(s); torch.acosh(p+1); a+b; torch.addcdiv(a,b,p);
        torch.addcmul(a,a,b); torch.asin(s); torch.asinh(a); torch.atan(a);
        torch.atan2(a,p); torch.atanh(s); torch.ceil(a); a.clamp(-0.5,0.5); a.clamp(min=b);
        a.clamp(max=0.3); a.clamp(min=0.1); torch.clamp_max(a,b); torch.clamp(a,b-1,b+0.1);
        torch.copysign(a,b); torch.cos(a); torch.cosh(a); torch.deg2rad(a);
        torch.digamma(p); a/p; a/2; torch.div(a,p,rounding_mode="floor"); 2/p; torch.erf(a);
        torch.erfc(a); torch.erfinv(s); torch.exp(a); torch.exp2(a); torch.expm1(a);
        torch.floor(a); torch.fmod(a,p); a%2.0; torch.frac(a); torch.hypot(a,b);
        torch.i0(a); torch.lerp(a,b,0.3); torch.lerp(a,b,s); torch.lgamma(p); torch.log(p);
        torch.log10(p); torch.log1p(p); torch.log2(p); torch.logaddexp(a,b);
        torch.logaddexp2(a,b); torch.logit(p/4); torch.logit(p/4,eps=0.2);
        torch.maximum(a,b); torch.minimum(a,b); torch.fmax(a,b); torch.fmin(a,b); a*b; a*3;
        torch.nan_to_num(a); -a; a**2; p**b; 2.0**a; p**0.5; a**3; a**0; torch.rad2deg(a);
        torch.reciprocal(p); 1/p; torch.relu(a); torch.remainder(a,p); a.round();
        torch.rsqrt(p); torch.rsub(a,b); 1-a; torch.selu(a); torch.sigmoid(a);
        torch.sign(a); a.sgn(); torch.sin(a); torch.sinc(a); torch.sinh(a);
        torch.softmax(a,1); torch.log_softmax(a,-1); torch.sqrt(p); torch.square(a); a-b;
        a-b*2; torch.sub(a,b,alpha=2); torch.add(a,b,alpha=3); torch.tan(a); torch.tanh(a);
        torch.trunc(a); torch.where(a>0,a,b); torch.xlogy(a,p); torch.threshold(a,0.1,20.0);
        torch.celu(a); torch.prelu(a,v); F.dropout(a,0.5); torch.dropout(a,0.5,True)
        """
    ),
    "Reducing": _split(
        """
        a.sum(); a.sum().mean(0); a.sum().var(0,unbiased=False); a.sum().amax(0);
        a.sum(0); a.sum(1,keepdim=True); a.mean(); a.mean(0); a.mean((0,1));
        a.prod(); a.prod(1); a.max(); a.max(1)[0]; a.max(1).values; a.min(); a.min(0)[0];
        a.amax(1); a.amin(); torch.aminmax(a).max; torch.amax(torch.relu(a),1); a.std();
        a.std(0); a.var(); a.var(1,unbiased=False); torch.var_mean(a)[0];
        torch.std_mean(a,1)[1]; a.median(); a.median(1)[0]; a.mode(1)[0]; a.norm();
        a.norm(dim=1); torch.norm(a,p=1); a.norm(3); torch.linalg.norm(a);
        torch.linalg.vector_norm(a,dim=1); torch.linalg.vector_norm(a,1);
        torch.linalg.vector_norm(a,float("inf")); torch.linalg.matrix_norm(a);
        a.logsumexp(1); a.cumsum(0); a.cumprod(1); torch.cummax(a,1)[0];
        torch.cummin(a,1)[0]; torch.logcumsumexp(a,1); a.nansum(); a.nanmean();
        a.quantile(0.3); torch.dist(a,b); torch.trapezoid(a)
        """
    ),
    "Choosing and placing": _split(
        """
        a.gather(1,idx); a.index_select(1,i1); torch.index_add(a,1,i1,b[:,:2]);
        torch.index_copy(a,1,i1,b[:,:2]); a.index_fill(1,i1,2.0); a.masked_select(a>0);
        a.masked_fill(a>0,0.5); a.narrow(1,1,2); a.take(torch.tensor([0,5]));
        torch.take_along_dim(a,idx,1); torch.scatter(a,1,idx,b); a.scatter(1,idx,2.0);
        torch.scatter_add(a,1,idx,b); torch.scatter_reduce(a,1,idx,b,"sum"); a.select(0,1);
        a.sort(1)[0]; a.sort()[0]; a.topk(2,1)[0]; a.kthvalue(2,1)[0]; a.msort();
        a.diagonal(); M.diag(); v.diag(); v.diag_embed(); a.tril(); a.triu();
        torch.masked_scatter(a,a>0,b); torch.select_scatter(a,v,0,1);
        torch.slice_scatter(a,b[:1],0,0,1); a[0]; a[1:,::2]; a[i1]; a[:,i1]; a[a>0]; a[0,1];
        a[None]; a[-1]; a[...,-1]; a[[0,1],[1,2]]
        """
    ),
    "Shapes": _split(
        """
        a.reshape(4,3); a.t().reshape(2,6); a.view(-1); a.flatten(); a.ravel();
        a[:1].squeeze(0); a[:1].squeeze(); a[:1].squeeze((0,)); a.unsqueeze(0);
        a.unsqueeze(-1); a.transpose(0,1); a.T; a.t(); v.t(); a.mT; a.permute(1,0);
        a.movedim(0,1); a.flip(0); a.fliplr(); a.roll(1,0); a.roll(2); a.rot90();
        v.expand(3,4); torch.broadcast_to(v,(3,4)); a.expand(2,3,4); torch.atleast_3d(a);
        a.clone(); a.contiguous(); a.unbind(0)[0]+a.unbind(0)[1];
        torch.meshgrid(v,v,indexing="ij")[0]; torch.combinations(v); a.repeat(2,1);
        a.tile(2); a.double(); a.to(torch.float64); a.unfold(1,2,1); a.view_as(b);
        a.view(2,6)
        """
    ),
    "Joining and splitting": _split(
        """
        torch.cat([a,b]); torch.cat([a,b],1); torch.stack([a,b]); torch.stack([a,b,a],-1);
        torch.hstack([a,b]); torch.vstack([a,b]); torch.split(a,2,1)[1];
        a.split([1,3],1)[0]; a.chunk(2,1)[1]; torch.repeat_interleave(a,2,1);
        a.repeat_interleave(torch.tensor([1,2,1]),0); torch.block_diag(a,b);
        a.tensor_split(2,1)[0]
        """
    ),
    "Linear algebra": _split(
        """
        a@M; v@M; M@v; a@v; v@v; B@C; torch.mm(a,M); torch.bmm(B,C); torch.mv(M,v);
        v.dot(v2); v.inner(v2); torch.outer(v,v2); torch.vdot(v,v2); torch.addmm(a,a,M);
        torch.addmm(a,a,M,beta=0.5,alpha=2); torch.addmv(v,M,v2);
        torch.addbmm(torch.zeros(3,5),B,C); torch.baddbmm(torch.zeros(2,3,5),B,C);
        torch.addr(M,v,v2); torch.einsum("ij,kj->ik",a,b); torch.tensordot(a,b,2);
        torch.kron(a,M); torch.cross(a[:,:3],b[:,:3],dim=1); M.trace(); S.det(); S.logdet();
        torch.slogdet(S)[1]; S.inverse(); S.cholesky(); torch.matrix_exp(M);
        torch.matrix_power(M,3); torch.cdist(a,b); torch.cov(a);
        torch.cosine_similarity(a,b); torch.diff(a); torch.trapz(a); F.linear(a,M,v);
        F.linear(a,M); F.bilinear(a,b,torch.randn(2,4,4).requires_grad_()); B@M[:4]; B@v;
        torch.linalg.solve(S,v); torch.linalg.inv(S); torch.linalg.cross(a[:,:3],b[:,:3]);
        torch.linalg.multi_dot([a,M,M]); torch.linalg.vecdot(a,b); torch.linalg.cholesky(S);
        torch.linalg.det(S); torch.linalg.qr(M)[0].abs(); torch.linalg.eigvalsh(S);
        torch.linalg.svdvals(M); torch.linalg.pinv(M);
        torch.linalg.solve_triangular(S,S,upper=True); torch.renorm(a,2,0,1.0);
        torch.special.expit(a); torch.special.ndtr(a); torch.special.entr(p);
        torch.special.log_ndtr(a); torch.special.polygamma(1,p); torch.fft.rfft(v).abs();
        torch.fft.fft(v).real
        """
    ),
    "Activations and losses": _split(
        """
        F.relu(a); F.relu6(a); F.leaky_relu(a); F.elu(a); F.selu(a); F.celu(a); F.gelu(a);
        F.gelu(a,approximate="tanh"); F.silu(a); F.mish(a); F.softplus(a); F.softsign(a);
        F.hardtanh(a); F.hardsigmoid(a); F.hardswish(a); F.logsigmoid(a); F.softmin(a,1);
        F.tanhshrink(a); F.softshrink(a); F.hardshrink(a); F.glu(a); F.rrelu(a);
        F.rrelu(a,training=True); F.normalize(a); F.mse_loss(a,b);
        F.mse_loss(a,b,reduction="sum"); F.mse_loss(a,b,reduction="none"); F.l1_loss(a,b);
        F.smooth_l1_loss(a,b); F.huber_loss(a,b); F.cross_entropy(a,t);
        F.cross_entropy(a,t,reduction="sum");
        F.cross_entropy(a,t,weight=torch.tensor([1.,2,3,4]));
        F.cross_entropy(a,torch.softmax(b,1)); F.nll_loss(torch.log_softmax(a,1),t);
        F.nll_loss(a,t,reduction="none");
        F.binary_cross_entropy(torch.sigmoid(a),(b>0).float());
        F.binary_cross_entropy_with_logits(a,(b>0).float()); F.kl_div(a,p);
        F.hinge_embedding_loss(a,b.sign()); F.margin_ranking_loss(a,b,torch.ones(3,4));
        F.cosine_embedding_loss(a,b,torch.ones(3)); F.poisson_nll_loss(a,p);
        F.gaussian_nll_loss(a,b,p); F.multi_margin_loss(a,t); F.pairwise_distance(a,b);
        F.triplet_margin_loss(a,b,p)
        """
    ),
    "Layers": _split(
        """
        F.embedding(t%2,a); F.conv_transpose2d(X2,K2.transpose(0,1),stride=2,padding=1);
        torch.dist(a,b,1);
        F.conv2d(X2,torch.randn(4,1,3,3).requires_grad_(),groups=2,dilation=2);
        torch.cat([a,torch.ones(3,4),b]); F.soft_margin_loss(a,(b.detach()).sign());
        F.batch_norm(X2,torch.zeros(2),torch.ones(2),v[:2],v2[:2]); F.conv1d(X1,K1,bias1);
        F.conv1d(X1,K1,padding=1,stride=2); F.conv2d(X2,K2,bias1); F.conv2d(X2,K2);
        F.conv_transpose2d(X2,K2.transpose(0,1)); F.max_pool1d(X1,2); F.max_pool2d(X2,2);
        F.avg_pool1d(X1,2); F.avg_pool2d(X2,2); F.adaptive_avg_pool2d(X2,1);
        F.adaptive_avg_pool2d(X2,2); F.adaptive_avg_pool1d(X1,2);
        F.adaptive_max_pool2d(X2,2); F.batch_norm(X2,None,None,training=True);
        F.layer_norm(a,(4,)); F.layer_norm(a,(4,),v,v2); F.group_norm(X2,1);
        F.instance_norm(X2); F.rms_norm(a,(4,)); F.local_response_norm(X2,2);
        F.pad(a,(1,1)); F.pad(X1,(1,1),mode="reflect"); F.pad(X1,(1,1),mode="replicate");
        F.interpolate(X2,scale_factor=2); F.interpolate(X2,scale_factor=2,mode="bilinear");
        F.unfold(X2,2); F.fold(F.unfold(X2,2),(5,5),2);
        F.pixel_shuffle(torch.cat([X2,X2],1),2); F.scaled_dot_product_attention(B,B,B);
        F.lp_pool2d(X2,2,2); F.one_hot(t)*1.0*a[0,0]
        """
    ),
    "In place": _split(
        """
        a.clone().add_(1); a.clone().mul_(b); a.clone().fill_(v[0]); a.clone().zero_()+a;
        a.clone().copy_(b); a.detach()*b; torch.complex(a,b).abs(); a.clone().sigmoid_();
        a.clone().relu_(); a.clone().exp_(); a.clone().masked_fill_(a>0,1.0);
        a.clone().index_fill_(1,i1,0.0); a.clone().index_put_((i1,),v);
        a.clone().scatter_(1,idx,b); a.type(torch.float64); a.clone().div_(2)
        """
    ),
}


def program(expression: str) -> str:
    """A program that runs backward from the expression, with uneven gradients.

    It makes only the tensors that the expression names: the app explains every other one, too.
    """
    names = set(re.findall(r"\w+", expression))
    setup = (line for line in SETUP.splitlines(True) if line.split()[0] in {"import", *names})
    return (
        f"{''.join(setup)}out = {expression}\n"
        "weights = torch.linspace(-1, 2, out.numel()).view(out.shape)\n"
        "(out * weights).sum().backward()\n"
    )
