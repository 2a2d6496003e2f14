# Recurrent networks, letter by letter and window by window.
#
# Of these programs nothing may be said.

# ======== truncated backpropagation through time
# The hidden state is detached between windows, so each backward ends at its window.
import torch
from torch import nn

torch.manual_seed(0)
series = torch.sin(torch.linspace(0, 20, 121))
rnn = nn.LSTM(1, 12, batch_first=True)
readout = nn.Linear(12, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *readout.parameters()], lr=0.01)
for epoch in range(3):
    hidden = None
    for start in range(0, 120, 20):
        x = series[start:start + 20].view(1, 20, 1)
        y = series[start + 1:start + 21].view(1, 20, 1)
        if hidden is not None:
            hidden = tuple(h.detach() for h in hidden)
        out, hidden = rnn(x, hidden)
        loss = nn.functional.mse_loss(readout(out), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

# ======== repackaged hidden state
import math
import torch
from torch import nn

class RNNModel(nn.Module):
    def __init__(self, ntoken, nhid):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(ntoken, nhid)
        self.rnn = nn.GRU(nhid, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        return self.decoder(self.drop(output)), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(1, bsz, self.nhid)

def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)

ntokens, bptt, clip = 7, 5, 0.25
corpus = (torch.arange(126) % ntokens).view(3, 42).t().contiguous()
model = RNNModel(ntokens, 10)
criterion = nn.CrossEntropyLoss()
lr = 5.0
for epoch in range(2):
    model.train()
    total_loss = 0.0
    hidden = model.init_hidden(3)
    for i in range(0, corpus.size(0) - 1, bptt):
        seq_len = min(bptt, len(corpus) - 1 - i)
        data, targets = corpus[i:i + seq_len], corpus[i + 1:i + 1 + seq_len].reshape(-1)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output.view(-1, ntokens), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    print(f"epoch {epoch} | ppl {math.exp(total_loss / 9):8.2f}")

# ======== names by a cell, letter by letter
import torch
import torch.nn as nn

class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        return self.softmax(self.h2o(hidden)), hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)

letters = "abcdefghijklmnopqrstuvwxyz"
names = [("anna", 0), ("ella", 0), ("otto", 1), ("hugo", 1), ("lea", 0), ("bruno", 1)]

def to_tensor(name):
    t = torch.zeros(len(name), 1, len(letters))
    for i, letter in enumerate(name):
        t[i][0][letters.index(letter)] = 1
    return t

rnn = RNN(len(letters), 8, 2)
criterion = nn.NLLLoss()
learning_rate = 0.1
for epoch in range(4):
    current_loss = 0
    for name, category in names:
        hidden = rnn.initHidden()
        rnn.zero_grad()
        line = to_tensor(name)
        for i in range(line.size()[0]):
            output, hidden = rnn(line[i], hidden)
        loss = criterion(output, torch.tensor([category]))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-learning_rate)
        current_loss += loss.item()
    print(epoch, current_loss / len(names))

# ======== padded batches
# Row 0 of the embedding pads and has no gradient; ignore_index keeps padding out of the loss.
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

sentences = [torch.tensor([1, 2, 3, 4]), torch.tensor([2, 5]), torch.tensor([3, 4, 6])]
tags = [torch.tensor([0, 1, 1, 0]), torch.tensor([1, 0]), torch.tensor([1, 0, 1])]
x = pad_sequence(sentences, batch_first=True, padding_value=0)
y = pad_sequence(tags, batch_first=True, padding_value=-100)
embedding = nn.Embedding(7, 6, padding_idx=0)
lstm = nn.LSTM(6, 8, batch_first=True, bidirectional=True)
fc = nn.Linear(16, 2)
params = [*embedding.parameters(), *lstm.parameters(), *fc.parameters()]
optimizer = torch.optim.Adam(params, lr=0.02)
criterion = nn.CrossEntropyLoss(ignore_index=-100)
for epoch in range(10):
    out, _ = lstm(embedding(x))
    loss = criterion(fc(out).view(-1, 2), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
assert embedding.weight[0].abs().sum() == 0

# ======== encoder and decoder with teacher forcing
import random
import torch
from torch import nn

random.seed(0)
encoder = nn.GRU(4, 8)
decoder_cell = nn.GRUCell(4, 8)
embed, out = nn.Embedding(6, 4), nn.Linear(8, 6)
modules = nn.ModuleList([encoder, decoder_cell, embed, out])
optimizer = torch.optim.Adam(modules.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()
source = torch.tensor([[2, 3, 4, 5]]).t()
target = torch.tensor([5, 4, 3, 2])
for iteration in range(8):
    optimizer.zero_grad()
    _, hidden = encoder(embed(source))
    hidden = hidden.squeeze(0)
    token = torch.tensor([1])
    loss = 0
    use_teacher_forcing = random.random() < 0.5
    for t in range(4):
        hidden = decoder_cell(embed(token), hidden)
        logits = out(hidden)
        loss += criterion(logits, target[t:t + 1])
        if use_teacher_forcing:
            token = target[t:t + 1]
        else:
            token = logits.topk(1).indices.squeeze(1).detach()
    loss.backward()
    optimizer.step()
    print(iteration, loss.item() / 4)
