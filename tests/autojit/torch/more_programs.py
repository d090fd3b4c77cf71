"""Layers, losses and functions of PyTorch, each in a few lines: see ``programs``."""

from __future__ import annotations

import copy

from .programs import classes, data, filled, grads


def _through(t, model, *inputs, weights=True):
    """The result, and the gradients of inputs and weights."""
    if weights:
        filled(t, model)
    y = model(*inputs)
    (y * data(t, *y.shape, seed=7)).sum().backward()
    return [y, *(x.grad for x in inputs if x.grad is not None), *grads(model), str(model)]


def transposed_convolutions(t):
    nn, found = t.nn, []
    for form in (
        (3, 4, 3),
        (3, 2, 4, 2, 1),
        (4, 6, 3, 2, 1, 1, 2),
        (3, 2, 3, 2, 2, 1, 1, False, 2),
    ):
        found += _through(t, nn.ConvTranspose2d(*form), data(t, 2, form[0], 5, 4, grad=True))
        found += _through(t, nn.ConvTranspose1d(*form), data(t, 2, form[0], 5, grad=True))
    up = nn.ConvTranspose2d(2, 2, 3, stride=2, padding=1)
    found += [filled(t, up)(data(t, 1, 2, 4, 4), output_size=(8, 8))]
    return found


def images(t):
    nn, F, found = t.nn, t.nn.functional, []
    x = data(t, 2, 4, 5, 6, grad=True)
    for model in (
        nn.Upsample(scale_factor=2), nn.Upsample(size=(7, 9)),
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
        nn.Upsample(scale_factor=(1.5, 2.0), mode="bilinear"),
        nn.Upsample(size=(3, 4), mode="bilinear", align_corners=False),
        nn.PixelShuffle(2), nn.Unfold(3, padding=1, stride=2), nn.ReflectionPad2d(2),
        nn.ReplicationPad2d((1, 2, 0, 3)), nn.CircularPad2d(2), nn.ZeroPad2d((1, 0, -1, 2)),
        nn.ConstantPad2d(1, 3.5), nn.InstanceNorm2d(4, affine=True), nn.InstanceNorm2d(4),
        nn.AdaptiveAvgPool2d((3, 4)), nn.AdaptiveAvgPool2d(5), nn.AvgPool2d(2, 2, 1),
        nn.MaxPool2d(3, 2, 1), nn.GroupNorm(2, 4), nn.Hardshrink(), nn.Softshrink(0.2),
        nn.Tanhshrink(), nn.CELU(0.7), nn.Softmax(dim=1), nn.PReLU(4),
        nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode="circular", stride=2),
        nn.Conv2d(4, 4, 3, padding="same", groups=2, dilation=2, padding_mode="replicate"),
    ):  # fmt: skip
        x.grad = None
        found += _through(t, model, x)
    found += [F.pixel_unshuffle(x[..., :4, :], 2), F.interpolate(x, scale_factor=0.5)]
    found += [F.interpolate(x, size=3, mode="area"), F.pad(x[0, 0], (1, 1), value=2.0)]
    found += [F.interpolate(x[:, :, 0], scale_factor=2, mode="linear")]
    return found


def distances(t):
    nn, found = t.nn, []
    a, b, c = (data(t, 5, 4, seed=s, grad=True) for s in range(3))
    signs = t.tensor([1, -1, 1, 1, -1])
    for loss, inputs in (
        (nn.TripletMarginLoss(), (a, b, c)), (nn.TripletMarginLoss(2.0, swap=True), (a, b, c)),
        (nn.CosineEmbeddingLoss(0.1), (a, b, signs)), (nn.MultiMarginLoss(), (a, classes(t, 5, 4))),
        (nn.HingeEmbeddingLoss(reduction="sum"), (a[:, 0], signs)),
        (nn.MultiLabelSoftMarginLoss(), (a, (b > 0).float())), (nn.PairwiseDistance(), (a, b)),
        (nn.MarginRankingLoss(0.3), (a[:, 0], b[:, 0], signs)),
        (nn.BCEWithLogitsLoss(pos_weight=t.tensor([1.0, 2.0, 3.0, 4.0])), (a, (b > 0).float())),
        (nn.CrossEntropyLoss(weight=t.tensor([1.0, 2.0, 3.0, 4.0]), label_smoothing=0.1),
         (a, classes(t, 5, 4))),
        (nn.NLLLoss(ignore_index=1), (a, classes(t, 5, 4))),
        (nn.KLDivLoss(reduction="sum"), (a, b)),
    ):  # fmt: skip
        for x in (a, b, c):
            x.grad = None
        value = loss(*inputs)
        value.sum().backward()
        found += [value, a.grad, b.grad, str(loss)]
    return found


def transformer(t):
    nn = t.nn
    model = filled(t, nn.Transformer(8, 2, 1, 2, 12, dropout=0.0, batch_first=True))
    src, tgt = data(t, 2, 5, 8, grad=True), data(t, 2, 4, 8, seed=1, grad=True)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    padding = t.tensor([[False] * 5, [False] * 3 + [True] * 2])
    y = model(
        src, tgt, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding
    )
    y.pow(2).sum().backward()
    layer = filled(t, nn.TransformerDecoderLayer(8, 2, 12, 0.0, "gelu", norm_first=True))
    z = layer(tgt.transpose(0, 1), src.transpose(0, 1))
    attention = filled(t, nn.MultiheadAttention(8, 2, kdim=6, vdim=4))
    out, shares = attention(tgt, data(t, 2, 4, 6), data(t, 2, 4, 4), average_attn_weights=False)
    return [y, src.grad, tgt.grad, *grads(model), z, out, shares, mask, len(model.state_dict())]


def statistics(t):
    x = data(t, 4, 5, grad=True)
    found = [
        t.quantile(x, 0.3),
        t.quantile(x, t.tensor([0.25, 0.5]), dim=1),
        x.quantile(0.5, 0, True),
    ]
    found += [*t.std_mean(x, 1), *t.var_mean(x), t.cdist(x, x[1:] + 1), t.dist(x, x * 0.5)]
    found += [*t.aminmax(x, dim=1), *t.kthvalue(x, 2, 1), *x.cummax(1), *x.cummin(0), x.diff()]
    found += [
        t.logcumsumexp(x, 1),
        t.trapezoid(x),
        t.trapz(x, t.tensor([0.0, 1, 3, 4, 7])),
        t.cov(x),
    ]
    found += [t.cumulative_trapezoid(x, dx=0.5), t.corrcoef(x), t.nanmean(x, 1), x.sum(axis=1)]
    sum(f.sum() for f in found if f.dtype == t.float32).backward()
    edges = t.tensor([-0.5, 0.0, 0.5])
    found += [
        t.bucketize(x.detach(), edges),
        t.searchsorted(edges, t.tensor([0.0, 0.1]), right=True),
    ]
    return [*found, t.histc(x.detach(), 4, -1, 1), x.grad]


def arrangements(t):
    x = data(t, 4, 4, grad=True)
    v = x[0]
    found = [
        t.tril_indices(3, 4, -1),
        t.triu_indices(3, 3, 1),
        t.tile(v, (2, 2)),
        t.rot90(x, 1, (0, 1)),
    ]
    found += [t.diag_embed(x), t.diag_embed(x, 1, 0, 2), t.diagflat(v, -1), t.block_diag(x, v)]
    found += [t.cartesian_prod(v, v[:2]), t.combinations(v), *t.broadcast_tensors(v, x)]
    found += [
        t.tensordot(x, x, 1),
        t.tensordot(x, x, ([0], [1])),
        x.unfold(1, 2, 1),
        v.unfold(0, 3, 1),
    ]
    found += [*t.tensor_split(v, 3), *t.hsplit(x, 2), t.column_stack((v, x)), t.dstack((v, v))]
    found += [
        t.take_along_dim(x, t.tensor([[0], [1], [2], [3]]), 1),
        t.fliplr(x),
        t.vander(v.detach(), 3),
    ]
    found += [
        x.index_fill(0, t.tensor([1]), 2.0),
        x.index_copy(0, t.tensor([2]), x[:1]),
        x.mT,
        x.adjoint(),
    ]
    found += [
        x.index_put((t.tensor([0, 1]), t.tensor([1, 1])), t.tensor([5.0, 6.0]), accumulate=True)
    ]
    found += [
        t.atleast_2d(v),
        t.fmax(x, v),
        t.heaviside(x.detach(), t.tensor(0.5)),
        x.clamp_min(0.1),
    ]
    found += [
        t.logaddexp2(x, v),
        t.float_power(x + 2, 2),
        t.baddbmm(x[None], x[None], x[None], beta=0.5),
    ]
    found += [t.cross(x[:, :3], x[:, 1:], dim=1), t.isin(t.tensor([1, 2, 3]), t.tensor([2, 5]))]
    sum(f.sum() for f in found if f.dtype.is_floating_point and f.requires_grad).backward()
    return [
        *found,
        x.grad,
        x.T.contiguous().view(-1),
        x.transpose(0, 1).contiguous().is_contiguous(),
    ]


def kinks(t):
    found = []
    for f, points in (
        (t.xlogy, ((0.0, 2.0), (1.5, 2.0), (0.0, 0.0))),
        (t.hypot, ((3.0, 4.0), (0.0, 0.0), (0.0, 1.0))),
        (t.fmod, ((5.0, 3.0), (-5.0, 3.0))), (t.maximum, ((1.0, 1.0), (2.0, 1.0))),
        (t.pow, ((0.0, 0.0), (0.0, 2.0), (2.0, 0.0))), (t.fmax, ((1.0, 1.0), (float("nan"), 1.0))),
    ):  # fmt: skip
        for a, b in points:
            x, y = t.tensor(a, requires_grad=True), t.tensor(b, requires_grad=True)
            f(x, y).backward()
            found += [x.grad, y.grad]
    F = t.nn.functional
    for f in (
        t.abs, t.sqrt, t.relu, lambda x: x.norm(), lambda x: x.clamp(0, 1), t.sign, F.hardtanh,
        F.leaky_relu, F.elu, F.relu6, F.hardswish, F.softsign,
    ):  # fmt: skip
        for point in (0.0, 1.0, 6.0, -3.0):
            if f is t.sqrt and point < 0:
                continue
            x = t.tensor(point, requires_grad=True)
            f(x).backward()
            found.append(x.grad)
    return found


def distributions(t):
    D, found = t.distributions, []
    a, b = data(t, 2, 3, grad=True), data(t, 2, 3, seed=1, low=0.3, high=1.5, grad=True)
    x, share = data(t, 4, 2, 3, seed=2), data(t, 2, 3, seed=3, low=0.1, high=0.9)
    c = b.detach() * 1.3 + 0.1
    ones = (x > 0).float()
    cases = [
        (D.Normal(a, b), D.Normal(a * 2, c), x),
        (D.Laplace(a, b), D.Laplace(a * 2, c), x),
        (D.Exponential(b), D.Exponential(c), share),
        (D.Gamma(b, c), D.Gamma(c, b), share),
        (D.Beta(b, c), D.Beta(c, b), share),
        (D.Bernoulli(share), D.Bernoulli(logits=a), ones),
        (D.Categorical(logits=a), D.Categorical(b), classes(t, (4, 2), 3)),
        (D.Independent(D.Normal(a, b), 1), D.Independent(D.Normal(a, 1.0), 1), x),
    ]
    L = t.tril(data(t, 3, 3, seed=4)) + 2 * t.eye(3)
    cases += [(D.MultivariateNormal(a, scale_tril=L), D.MultivariateNormal(a * 2, L @ L.mT), x)]
    for p, q, value in cases:
        found += [p.log_prob(value), p.entropy(), q.log_prob(value), D.kl_divergence(p, q)]
        found += [str(p.batch_shape), str(p.event_shape), str(p.sample((5,)).shape)]
        if not isinstance(p, D.Categorical):
            found += [p.mean, p.variance, p.stddev]
    more = (D.Uniform(a, a + b), D.LogNormal(a, b), D.Poisson(b))
    for p, value in zip(more, (a.detach() + 0.01, share, t.floor(3 * share)), strict=True):
        found += [p.log_prob(value), p.mean, p.variance]
    found += [D.Normal(a, b).cdf(x), D.Normal(a, b).icdf(share), D.LogNormal(a, b).entropy()]
    found += [cases[6][0].probs, cases[6][1].logits, cases[5][1].probs]
    sum(f.sum() for f in found if not isinstance(f, str) and f.requires_grad).backward()
    t.manual_seed(0)
    z = D.Normal(t.zeros(1, requires_grad=True), t.ones(1)).rsample((1000,))
    return [*found, a.grad, b.grad, z.requires_grad, abs(z.mean().item()) < 0.2]


def transforms(t):
    x, y = data(t, 4, 6, grad=True), data(t, 3, 6, seed=1, low=0.1, high=0.9, grad=True)
    F, S = t.fft, t.special
    found = [F.rfft(x), F.irfft(F.rfft(x) * 2, n=6), F.fft2(x), F.fft(x, dim=0, norm="ortho")]
    found += [F.ifft(F.fft(x)), F.rfftn(x), F.fftshift(x), F.fftfreq(5, 0.5)]
    found += [S.expit(x), S.entr(y), S.ndtr(x), S.gammaln(y + 1), S.log_softmax(x, -1), S.i1(y)]
    found += [S.log_ndtr(x), S.ndtri(y), S.erfcx(y), S.xlogy(y, y)]
    rows = [x[0], x[1, :4], x[2, :1]]
    found += [t.nn.utils.rnn.pad_sequence(rows, padding_value=-1.0)]
    found += [t.nn.utils.rnn.pad_sequence(rows, batch_first=True)]
    total = sum((f.abs() ** 2).sum() for f in found)
    total.backward()
    return [*found, x.grad, y.grad]


def parametrized(t):
    nn, found = t.nn, []
    P = nn.utils.parametrize

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    model = filled(t, nn.Linear(3, 3))
    P.register_parametrization(model, "weight", Doubled())
    optimizer = t.optim.Adam(model.parameters(), lr=0.1)
    x = data(t, 4, 3)
    for _ in range(3):
        optimizer.zero_grad()
        (model(x) ** 2).sum().backward()
        optimizer.step()
    found += [str(model), model.weight, *model.state_dict(), *model.state_dict().values()]
    model.weight = data(t, 3, 3, seed=3)
    found += [model.weight, model.parametrizations.weight.original]
    twin = copy.deepcopy(model)
    P.register_parametrization(model, "weight", Symmetric())
    found += [twin.weight, str(P.is_parametrized(model))]
    with P.cached():
        found += [model.weight, model.weight is model.weight]
    P.remove_parametrizations(model, "weight")
    found += [model.weight, str(model), str(P.is_parametrized(model))]
    normed = nn.utils.weight_norm(filled(t, nn.Linear(3, 2)))
    found += [*_through(t, normed, x, weights=False), *normed.state_dict()]
    nn.utils.remove_weight_norm(normed)
    for call in (
        lambda: P.register_parametrization(nn.Linear(2, 3), "weight", nn.Flatten(0)),
        lambda: P.remove_parametrizations(nn.Linear(2, 3), "weight"),
        lambda: P.register_parametrization(nn.ReLU(), "weight", Doubled()),
    ):
        try:
            call()
        except ValueError as error:
            found.append(str(error)[:60])
    return [*found, normed(x)]


def bags(t):
    found = []
    table = data(t, 7, 3, grad=True)
    shares = data(t, 8, seed=2, grad=True)
    indices = t.tensor([0, 2, 3, 3, 6, 1, 1, 5])
    for mode in ("sum", "mean", "max"):
        for starts in ([0, 3, 3, 5], [0, 0, 1, 8], [0, 8, 8]):
            for padding, last in ((None, False), (3, True), (1, False)):
                y = t.nn.functional.embedding_bag(
                    indices, table, t.tensor(starts), mode=mode, padding_idx=padding,
                    include_last_offset=last, per_sample_weights=shares if mode == "sum" else None,
                )  # fmt: skip
                (y * data(t, *y.shape, seed=4)).sum().backward()
                found += [y, table.grad.clone()]
    bag = t.nn.EmbeddingBag.from_pretrained(table.detach(), mode="max")
    return [*found, shares.grad, bag(indices.reshape(2, 4)), str(bag)]


PROGRAMS = [
    f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__
    and f.__code__.co_varnames[: f.__code__.co_argcount] == ("t",)
]  # fmt: skip
