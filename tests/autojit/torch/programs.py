"""Short programs as tutorials of PyTorch have them, as functions of the module ``torch``.

Each returns numbers and tensors that have to be the same.  Weights and data are drawn by NumPy.
"""

from __future__ import annotations

import copy
import math

import numpy as np


def data(t, *shape, seed=0, grad=False, low=-1.0, high=1.0):
    array = np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
    return t.tensor(array, requires_grad=grad)


def classes(t, count, most, seed=0):
    return t.tensor(np.random.default_rng(seed).integers(0, most, count))


def filled(t, model, seed=1):
    """A model with weights from NumPy, by name."""
    rng = np.random.default_rng(seed)
    with t.no_grad():
        for _, p in sorted(model.named_parameters()):
            p.copy_(t.tensor(rng.uniform(-0.4, 0.4, tuple(p.shape)).astype(np.float32)))
    return model


def grads(model):
    return [p.grad for _, p in sorted(model.named_parameters())]


def trained(t, model, optimizer, loss, steps=4):
    """The losses of some steps, and the weights behind them."""
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        found.append(value.item())
    return [*found, *(p for _, p in sorted(model.named_parameters()))]


def autograd_tutorial(t):
    x, y = t.ones(5), t.zeros(3)
    w, b = data(t, 5, 3, grad=True), data(t, 3, seed=1, grad=True)
    z = t.matmul(x, w) + b
    loss = t.nn.functional.binary_cross_entropy_with_logits(z, y)
    loss.backward()
    inp = t.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    out.backward(t.ones_like(out), retain_graph=True)
    first = inp.grad.clone()
    out.backward(t.ones_like(out), retain_graph=True)
    return w.grad, b.grad, first, inp.grad, z.grad_fn.name(), loss.grad_fn.name()


def polynomial(t):
    x = t.linspace(-math.pi, math.pi, 200)
    y = t.sin(x)
    a, b, c, d = (t.tensor(v, requires_grad=True) for v in (0.1, 0.2, -0.1, 0.3))
    for _ in range(5):
        loss = (a + b * x + c * x**2 + d * x**3 - y).pow(2).sum()
        loss.backward()
        with t.no_grad():
            for p in (a, b, c, d):
                p -= 1e-6 * p.grad
                p.grad = None
    return loss, a, b, c, d


class Legendre:
    def __new__(cls, t):
        class LegendrePolynomial3(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return 0.5 * (5 * x**3 - 3 * x)

            @staticmethod
            def backward(ctx, grad_output):
                (x,) = ctx.saved_tensors
                return grad_output * 1.5 * (5 * x**2 - 1)

        return LegendrePolynomial3


def own_function(t):
    x = data(t, 20, grad=True)
    y = Legendre(t).apply(x * 0.5)
    (y**2).sum().backward()
    return y, x.grad


def blitz_network(t):
    nn, F = t.nn, t.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 12)
            self.fc2 = nn.Linear(12, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = t.flatten(x, 1)
            return self.fc2(F.relu(self.fc1(x)))

    net = filled(t, Net())
    images, target = data(t, 2, 1, 32, 32), data(t, 2, 10, seed=3)
    optimizer = t.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    return trained(t, net, optimizer, lambda net: nn.MSELoss()(net(images), target), 3)


def residual_block(t):
    nn = t.nn

    class Block(nn.Module):
        def __init__(self, inner, outer, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.relu = nn.ReLU(inplace=True)
            self.down = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

        def forward(self, x):
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += self.down(x)
            return self.relu(out)

    net = filled(t, nn.Sequential(Block(3, 4, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    x = data(t, 4, 3, 8, 8, grad=True)
    nn.CrossEntropyLoss()(net(x), classes(t, 4, 4)).backward()
    net.eval()
    return x.grad, *grads(net), net(x), net[0].bn1.running_var, net[0].bn1.num_batches_tracked


def sampled(t, model, idx):
    """Three more tokens, each the likeliest of the three likeliest."""
    with t.no_grad():
        for _ in range(3):
            logits, _ = model(idx)
            values, _ = t.topk(logits[:, -1, :], 3)
            last = logits[:, -1, :].clone()
            last[last < values[:, [-1]]] = -float("inf")
            best = t.nn.functional.softmax(last, dim=-1).argmax(-1, keepdim=True)
            idx = t.cat((idx, best), dim=1)
    return idx


def gpt(t):
    nn, F = t.nn, t.nn.functional

    class Attention(nn.Module):
        def __init__(self, width, heads, length):
            super().__init__()
            self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.heads, self.width = heads, width
            self.register_buffer("mask", t.tril(t.ones(length, length)).view(1, 1, length, length))

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.c_attn(x).split(self.width, dim=2)
            q, k, v = (a.view(B, T, self.heads, C // self.heads).transpose(1, 2) for a in (q, k, v))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
            y = F.softmax(att, dim=-1) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):
        def __init__(self, width, heads, length):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn = Attention(width, heads, length)
            self.mlp = nn.ModuleDict(
                dict(c_fc=nn.Linear(width, 4 * width), c_proj=nn.Linear(4 * width, width),
                     act=nn.GELU(approximate="tanh"))
            )  # fmt: skip

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            m = self.mlp
            return x + m.c_proj(m.act(m.c_fc(self.ln_2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = nn.ModuleDict(
                dict(wte=nn.Embedding(11, 8), wpe=nn.Embedding(6, 8), drop=nn.Dropout(0.0),
                     h=nn.ModuleList([Block(8, 2, 6) for _ in range(2)]), ln_f=nn.LayerNorm(8))
            )  # fmt: skip
            self.lm_head = nn.Linear(8, 11, bias=False)
            self.transformer.wte.weight = self.lm_head.weight

        def forward(self, idx, targets=None):
            pos = t.arange(0, idx.size(1), dtype=t.long).unsqueeze(0)
            g = self.transformer
            x = g.drop(g.wte(idx) + g.wpe(pos))
            for block in g.h:
                x = block(x)
            logits = self.lm_head(g.ln_f(x))
            if targets is None:
                return logits, None
            return logits, F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-1
            )

    model = filled(t, GPT())
    tokens = classes(t, (2, 7), 11)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = t.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-2,
        betas=(0.9, 0.95),
    )  # fmt: skip
    losses = []
    for _ in range(3):
        _, loss = model(tokens[:, :-1], tokens[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = t.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses += [loss, norm]
    idx = sampled(t, model.eval(), tokens[:1, :2])
    return (
        *losses,
        idx,
        sum(p.numel() for p in model.parameters()),
        len(list(model.named_modules())),
    )


def bigram(t):
    words = ["emma", "olivia", "ava"]
    chars = sorted(set("".join(words)))
    index = {c: k + 1 for k, c in enumerate(chars)}
    index["."] = 0
    N = t.zeros((len(index), len(index)), dtype=t.int32)
    xs, ys = [], []
    for w in words:
        for a, b in zip("." + w, w + ".", strict=True):
            N[index[a], index[b]] += 1
            xs.append(index[a])
            ys.append(index[b])
    P = (N + 1).float()
    P /= P.sum(1, keepdims=True)
    xs, ys = t.tensor(xs), t.tensor(ys)
    W = data(t, len(index), len(index), grad=True)
    for _ in range(3):
        logits = t.nn.functional.one_hot(xs, num_classes=len(index)).float() @ W
        counts = logits.exp()
        probs = counts / counts.sum(1, keepdim=True)
        loss = -probs[t.arange(len(xs)), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -50 * W.grad
    return P, loss, W, P[xs, ys].log().mean()


def batch_norm_by_hand(t):
    C, W1 = data(t, 7, 2, grad=True), data(t, 6, 9, seed=1, grad=True)
    gain, bias = t.ones((1, 9), requires_grad=True), t.zeros((1, 9), requires_grad=True)
    X, Y = classes(t, (8, 3), 7), classes(t, 8, 9, seed=2)
    emb = C[X]
    h = emb.view(emb.shape[0], -1) @ W1
    mean, std = h.mean(0, keepdim=True), h.std(0, keepdim=True)
    h = t.tanh(gain * (h - mean) / (std + 1e-5) + bias)
    h.retain_grad()
    loss = t.nn.functional.cross_entropy(h, Y)
    loss.backward()
    return loss, C.grad, W1.grad, gain.grad, bias.grad, h.grad


def variational(t):
    nn, F = t.nn, t.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(12, 8), nn.Linear(8, 3), nn.Linear(8, 3)
            self.fc3, self.fc4 = nn.Linear(3, 8), nn.Linear(8, 12)

        def forward(self, x, eps):
            h = F.relu(self.fc1(x.view(-1, 12)))
            mu, logvar = self.fc21(h), self.fc22(h)
            z = mu + eps * t.exp(0.5 * logvar)
            return t.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    model = filled(t, VAE())
    x, eps = data(t, 5, 3, 4, low=0.0), data(t, 5, 3, seed=4)

    def loss(model):
        out, mu, logvar = model(x, eps)
        bce = F.binary_cross_entropy(out, x.view(-1, 12), reduction="sum")
        return bce - 0.5 * t.sum(1 + logvar - mu.pow(2) - logvar.exp())

    return trained(t, model, t.optim.Adam(model.parameters(), lr=1e-2), loss)


def deep_q(t):
    nn = t.nn
    policy = filled(t, nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    target = copy.deepcopy(policy)
    target.load_state_dict(policy.state_dict())
    state, following = data(t, 6, 4), data(t, 6, 4, seed=1)
    action, reward = classes(t, (6, 1), 2), data(t, 6, seed=2)
    going_on = t.tensor([True, True, False, True, False, True])
    optimizer = t.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
    found = []
    for _ in range(3):
        values = policy(state).gather(1, action)
        best = t.zeros(6)
        with t.no_grad():
            best[going_on] = target(following[going_on]).max(1).values
        expected = best * 0.99 + reward
        loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        mine, theirs = policy.state_dict(), target.state_dict()
        for key in mine:
            theirs[key] = mine[key] * 0.005 + theirs[key] * 0.995
        target.load_state_dict(theirs)
        found += [loss, policy(state).max(1).indices, *target.parameters()]
    return found


def reinforce(t):
    nn, F = t.nn, t.nn.functional
    net = filled(t, nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)))
    states, actions = data(t, 5, 4), classes(t, 5, 3)
    returns = t.tensor([3.0, 2.5, 1.0, 0.5, 2.0])
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    shares = F.log_softmax(net(states), dim=-1)
    chosen = shares.gather(1, actions[:, None]).squeeze(1)
    entropy = -(shares.exp() * shares).sum(-1).mean()
    loss = t.stack([-p * r for p, r in zip(chosen, returns, strict=True)]).sum() - 0.01 * entropy
    loss.backward()
    return loss, entropy, *grads(net)


def adversarial(t):
    nn = t.nn
    G = filled(t, nn.Sequential(nn.Linear(3, 6), nn.LeakyReLU(0.2), nn.Linear(6, 4), nn.Tanh()))
    D = filled(t, nn.Sequential(nn.Linear(4, 6), nn.LeakyReLU(0.2, inplace=True), nn.Linear(6, 1),
                                nn.Sigmoid()), seed=2)  # fmt: skip
    criterion = nn.BCELoss()
    dopt = t.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
    gopt = t.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
    real, found = data(t, 5, 4, seed=3), []
    for k in range(3):
        D.zero_grad()
        label = t.full((5,), 1.0, dtype=t.float)
        errD_real = criterion(D(real).view(-1), label)
        errD_real.backward()
        fake = G(data(t, 5, 3, seed=10 + k))
        label.fill_(0.0)
        errD_fake = criterion(D(fake.detach()).view(-1), label)
        errD_fake.backward()
        dopt.step()
        G.zero_grad()
        label.fill_(1.0)
        errG = criterion(D(fake).view(-1), label)
        errG.backward()
        gopt.step()
        found += [errD_real + errD_fake, errG]
    return *found, *grads(G), *grads(D)


def gradient_penalty(t):
    D = filled(t, t.nn.Sequential(t.nn.Linear(4, 6), t.nn.Tanh(), t.nn.Linear(6, 1)))
    real, fake, eps = data(t, 5, 4), data(t, 5, 4, seed=1), data(t, 5, 1, seed=2, low=0.0)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = D(mixed)
    (g,) = t.autograd.grad(outputs=out, inputs=mixed, grad_outputs=t.ones_like(out),
                           create_graph=True, retain_graph=True, only_inputs=True)  # fmt: skip
    penalty = ((g.norm(2, dim=1) - 1) ** 2).mean()
    (D(fake).mean() - D(real).mean() + 10 * penalty).backward()
    return penalty, *[p.grad for p in D.parameters() if p.grad is not None]


def text_model(t):
    nn = t.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(9, 5, padding_idx=0)
            self.lstm = nn.LSTM(5, 6, num_layers=2, batch_first=True, bidirectional=True)
            self.out = nn.Linear(12, 9)

        def forward(self, x, state=None):
            y, state = self.lstm(self.embed(x), state)
            return self.out(y), state

    model = filled(t, Model())
    x = classes(t, (3, 7), 9)
    out, (h, c) = model(x[:, :-1])
    loss = nn.CrossEntropyLoss(ignore_index=0)(out.transpose(1, 2), x[:, 1:])
    loss.backward()
    again, _ = model(x[:, 1:], (h.detach(), c.detach()))
    return loss, out, h, c, again, *grads(model)


def physics_informed(t):
    net = filled(t, t.nn.Sequential(t.nn.Linear(1, 8), t.nn.Tanh(), t.nn.Linear(8, 1)))
    x = t.linspace(0, 1, 11).view(-1, 1).requires_grad_(True)

    def loss(net):
        u = net(x)
        ones = t.ones_like(u)
        du = t.autograd.grad(u, x, ones, create_graph=True)[0]
        ddu = t.autograd.grad(du, x, grad_outputs=t.ones_like(du), create_graph=True)[0]
        residual = ddu + math.pi**2 * t.sin(math.pi * x)
        return (residual**2).mean() + (u[0] ** 2 + u[-1] ** 2).sum()

    return trained(t, net, t.optim.Adam(net.parameters(), lr=1e-2), loss, 3)


def lbfgs(t):
    x = t.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = t.optim.LBFGS([x], lr=1, max_iter=10, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss

    return [optimizer.step(closure) for _ in range(3)], x


def meta_learning(t):
    w, b = data(t, 3, 1, grad=True), t.zeros(1, requires_grad=True)
    meta = t.optim.SGD([w, b], lr=0.1)
    outer = 0.0
    for task in range(3):
        x, y = data(t, 6, 3, seed=task), data(t, 6, 1, seed=task + 10)
        fast = [w, b]
        for _ in range(2):
            loss = ((x @ fast[0] + fast[1] - y) ** 2).mean()
            g = t.autograd.grad(loss, fast, create_graph=True)
            fast = [p - 0.1 * d for p, d in zip(fast, g, strict=True)]
        outer = outer + ((t.relu(x @ fast[0]) + fast[1] - y) ** 2).mean()
    meta.zero_grad()
    outer.backward()
    meta.step()
    return outer, w, b, w.grad


def rate_finder(t):
    model = filled(t, t.nn.Linear(3, 1))
    optimizer = t.optim.SGD(model.parameters(), lr=1e-4)
    schedule = t.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 10 ** (k / 3))
    x, y, found = data(t, 8, 3), data(t, 8, 1, seed=1), []
    for _ in range(6):
        loss = t.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        found += [schedule.get_last_lr()[0], loss.item()]
    return found


def accumulation(t):
    model = filled(t, t.nn.Linear(3, 2))
    optimizer = t.optim.Adam(model.parameters(), lr=0.05)
    x, y = data(t, 12, 3), classes(t, 12, 2)
    loader = t.utils.data.DataLoader(t.utils.data.TensorDataset(x, y), batch_size=3, shuffle=False)
    for k, (a, b) in enumerate(loader):
        loss = t.nn.functional.cross_entropy(model(a), b) / 2
        loss.backward()
        if (k + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
    return loss, *model.parameters(), len(loader)


def moving_average(t):
    model = filled(t, t.nn.Sequential(t.nn.Linear(3, 4, bias=False), t.nn.BatchNorm1d(4)))
    average = copy.deepcopy(model)
    for p in average.parameters():
        p.requires_grad_(False)
    optimizer = t.optim.RMSprop(model.parameters(), lr=0.01, momentum=0.9, centered=True)
    for k in range(3):
        optimizer.zero_grad()
        (model(data(t, 5, 3, seed=k)) * data(t, 5, 4, seed=k + 9)).sum().backward()
        optimizer.step()
        with t.no_grad():
            for a, p in zip(average.parameters(), model.parameters(), strict=True):
                a.mul_(0.9).add_(p.data, alpha=0.1)
    return *average.parameters(), *model.buffers(), *model.parameters()


def hooks(t):
    model = filled(t, t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 1)))
    seen = {}
    model[1].register_forward_hook(lambda m, a, out: seen.__setitem__("out", out.detach()))
    model[0].register_full_backward_hook(lambda m, gi, go: seen.__setitem__("go", go[0]))
    model[2].weight.register_hook(lambda g: g * 2)
    model.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
    x = data(t, 2, 3, grad=True)
    model(x).sum().backward()
    return seen["out"], seen["go"], x.grad, *grads(model)


def states(t):
    model = filled(
        t, t.nn.Sequential(t.nn.Linear(3, 4, bias=False), t.nn.BatchNorm1d(4), t.nn.Linear(4, 1))
    )
    optimizer = t.optim.Adam(model.parameters(), lr=0.01)
    x = data(t, 6, 3)
    trained(t, model, optimizer, lambda m: m(x).pow(2).mean(), 2)
    other = t.nn.Sequential(t.nn.Linear(3, 4, bias=False), t.nn.BatchNorm1d(4), t.nn.Linear(4, 1))
    missing = other.load_state_dict(model.state_dict())
    second = t.optim.Adam(other.parameters(), lr=0.5)
    second.load_state_dict(optimizer.state_dict())
    after = trained(t, other, second, lambda m: m(x).pow(2).mean(), 2)
    return *after, list(model.state_dict()), str(missing), sorted(optimizer.state_dict())


def weights_of_schedules(t):
    found = []
    S = t.optim.lr_scheduler
    for make in (
        lambda o: S.StepLR(o, 2, 0.5), lambda o: S.MultiStepLR(o, [1, 4], 0.1),
        lambda o: S.ExponentialLR(o, 0.9), lambda o: S.CosineAnnealingLR(o, 5),
        lambda o: S.OneCycleLR(o, 0.3, total_steps=12), lambda o: S.LinearLR(o, 0.2, 1.0, 4),
        lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2), lambda o: S.PolynomialLR(o, 5, 2.0),
        lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [2]),
        lambda o: S.CyclicLR(o, 0.01, 0.1, step_size_up=3, step_size_down=2, mode="triangular2"),
    ):  # fmt: skip
        o = t.optim.SGD([t.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        schedule = make(o)
        for _ in range(9):
            found += [o.param_groups[0]["lr"], o.param_groups[0]["momentum"]]
            o.step()
            schedule.step()
    return found


def per_sample(t):
    model = filled(t, t.nn.Linear(3, 2))
    params = {k: v.detach() for k, v in model.named_parameters()}
    x, y = data(t, 5, 3), classes(t, 5, 2)

    def loss(params, a, b):
        out = t.func.functional_call(model, params, (a.unsqueeze(0),))
        return t.nn.functional.cross_entropy(out, b.unsqueeze(0))

    g = t.func.vmap(t.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    hessian = t.func.hessian(lambda v: (v**3).sum())(x[0])
    jacobian = t.autograd.functional.jacobian(lambda v: t.tanh(v) * v.sum(), x[0])
    return g["weight"], g["bias"], hessian, jacobian


def contrastive(t):
    F = t.nn.functional
    a, b = data(t, 6, 4, grad=True), data(t, 6, 4, seed=1, grad=True)
    za, zb = F.normalize(a, dim=1), F.normalize(b, dim=-1)
    logits = za @ zb.T / 0.1
    labels = t.arange(6)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    z = t.cat([za, zb])
    sim = F.cosine_similarity(z.unsqueeze(1), z.unsqueeze(0), dim=2)
    sim = sim.masked_fill(t.eye(12, dtype=t.bool), -9e15)
    nll = -sim / 0.5 + t.logsumexp(sim / 0.5, dim=-1)
    (loss + nll.diagonal(6).mean()).backward()
    return loss, nll, a.grad, b.grad


def distillation(t):
    F = t.nn.functional
    student, teacher = data(t, 4, 5, grad=True), data(t, 4, 5, seed=1)
    T = 2.0
    kd = F.kl_div(F.log_softmax(student / T, 1), F.softmax(teacher / T, 1), reduction="batchmean")
    soft = -t.sum(F.softmax(teacher / T, -1) * F.log_softmax(student / T, -1)) / 4 * T**2
    (kd * T * T + soft).backward()
    return kd, soft, student.grad


def attention_masks(t):
    F = t.nn.functional
    q, k, v = (data(t, 2, 3, 5, 4, seed=s, grad=True) for s in range(3))
    full = F.scaled_dot_product_attention(q, k, v)
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    mask = t.ones(5, 5, dtype=t.bool).tril()
    masked = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3)
    added = F.scaled_dot_product_attention(q, k, v, attn_mask=data(t, 5, 5, seed=9))
    (full + causal * 2 + masked * 3 + added).pow(2).sum().backward()
    return full, causal, masked, added, q.grad, k.grad, v.grad


def encoder(t):
    nn = t.nn
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    model = filled(t, nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8)))
    x = data(t, 3, 5, 8, grad=True)
    padding = t.tensor([[False] * 5, [False] * 4 + [True], [False] * 3 + [True] * 2])
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    out = model(x, mask=mask, src_key_padding_mask=padding)
    out[~padding].sum().backward()
    return out[~padding], x.grad, *grads(model)


def indexing(t):
    x = data(t, 4, 5, 3, grad=True)
    y = x[:, ::2][1:, :, -1] * 2
    z = x[t.tensor([0, 2, 2]), :, t.tensor([1, 0, 0])]
    mask = x > 0.2
    total = y.sum() + (z**2).sum() + x[mask].exp().sum() + x[..., None, 0].sum() * 0.1
    w = x.clone()
    w[1, 2:] = 7.0
    w[:, 0] *= 3
    w[w < -0.5] = 0
    total = total + (w**2).sum()
    total.backward()
    flat = t.zeros(6).index_add(0, t.tensor([0, 1, 1]), data(t, 3))
    put = t.zeros(3, 4).scatter_(1, t.tensor([[1], [2], [0]]), 1.0)
    return total, x.grad, flat, put, x.topk(2, dim=1)[0], x.sort(dim=1)[1], x.argmax(1)


def einsum(t):
    a, b, c = data(t, 2, 3, 4, grad=True), data(t, 2, 4, 5, seed=1, grad=True), data(t, 3, seed=2)
    x = t.einsum("bij,bjk->bik", a, b)
    y = t.einsum("bij,i->bj", a, c)
    z = t.einsum("bii->b", t.einsum("bij,bik->bjk", a, a))
    s = t.einsum("...ij->...ji", a)
    total = x.sum() + y.pow(2).sum() + z.sum() + (s[0] ** 3).sum()
    total.backward()
    return x, y, z, s, a.grad, b.grad


def regression(t):
    x = data(t, 20, 3)
    y = x @ t.tensor([[1.0], [-2.0], [0.5]]) + 0.3
    model = filled(t, t.nn.Sequential(t.nn.Linear(3, 5), t.nn.Tanh(), t.nn.Linear(5, 1)))
    optimizer = t.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=1e-2)
    plateau = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    found = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = t.nn.HuberLoss()(model(x), y)
        loss.backward()
        optimizer.step()
        plateau.step(loss.detach() * 0 + 1)
        found += [loss, optimizer.param_groups[0]["lr"]]
    return found


def matrices(t):
    L = t.linalg
    a = data(t, 4, 4, grad=True)
    s = a @ a.T + 4 * t.eye(4)
    chol = L.cholesky(s)
    sol = L.solve(s, data(t, 4, 2, seed=1))
    w, _ = L.eigh(s)
    sv = L.svd(a).S
    found = [
        chol.sum(),
        sol.pow(2).sum(),
        w.log().sum(),
        sv.sum(),
        L.slogdet(s)[1],
        L.inv(s).trace(),
    ]
    found += [L.norm(a), L.matrix_norm(a), L.det(s), t.logdet(s), L.pinv(a)[0, 0], L.matrix_rank(s)]
    found += [L.lstsq(a, data(t, 4, 2, seed=1)).solution.sum(), L.svdvals(a).sum()]
    found += [L.solve_triangular(chol, data(t, 4, 2, seed=1), upper=False).sum()]
    found += [
        L.matrix_exp(a).sum(),
        L.multi_dot([a, s, a]).sum(),
        L.eigvalsh(s).sum(),
        L.qr(s).R.abs().sum(),
    ]
    found += [
        L.vector_norm(a, 1),
        L.cond(s),
        t.cdist(a, s).sum(),
        t.linalg.cross(a[:3, :3], s[:3, :3]).sum(),
    ]
    sum(f.sum() for f in found if f.dtype.is_floating_point).backward()
    return *found, a.grad


def recurrent(t):
    nn, found = t.nn, []
    x = data(t, 5, 2, 3, grad=True)
    for kind, options in (("GRU", {"num_layers": 2, "bidirectional": True}), ("RNN", {}),
                          ("RNN", {"nonlinearity": "relu", "bias": False})):  # fmt: skip
        model = filled(t, getattr(nn, kind)(3, 4, **options))
        y, h = model(x)
        again, _ = model(x[:, 0], h[:, 0].detach())
        (y.pow(2).sum() + h.sum() + again.sum()).backward()
        found += [y, h, again, *grads(model), str(model), next(iter(model.state_dict()))]
    for kind in ("GRUCell", "LSTMCell", "RNNCell"):
        cell = filled(t, getattr(nn, kind)(3, 4))
        state = None
        for row in x:
            state = cell(row, state)
        last = state[0] if isinstance(state, tuple) else state
        last.sum().backward()
        found += [last, cell(x[0, 0].detach())[0], *grads(cell), str(cell)]
    return *found, x.grad


PROGRAMS = [
    f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__
    and getattr(f, "__code__", None) and f.__code__.co_varnames[: f.__code__.co_argcount] == ("t",)
]  # fmt: skip
