"""The paper's attacker: a TabTransformer on reports, in PyTorch.

Huang, Khetan, Cvitkovic and Karnin, "TabTransformer: tabular data modeling using contextual
embeddings" (2020). Reports are all categories, so this is the part of the architecture for
categories: an embedding for each category of each column, a transformer encoder across columns, and
a perceptron on the concatenated result. Packages that offer more pull in much that is not needed
here and change quickly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.attack.bayes import Model
from seepage.attack.learned import Lesson, Progress, missing_torch
from seepage.attack.population import Observations

if TYPE_CHECKING:
    import torch

WIDTH, HEADS, DEPTH, DROPOUT = 32, 4, 2, 0.1
BATCH, EPOCHS, PATIENCE, RATE = 512, 12, 2, 2e-3
PASSES = 300_000
"""Reports seen in training, over all epochs, about; there are at least two epochs."""

BETTER = 1e-4
"""An epoch must lower the mean loss of the check by so many nats to count as progress."""


@dataclass(frozen=True, eq=False)
class TransformerModel:
    """A trained network; see `fit_transformer`.

    Parameters
    ----------
    network : torch.nn.Module
        From categories, int of shape (n, c), to unnormalised log-beliefs of shape (n, k).
    offsets : array of int, shape (c,)
        Added to the categories of each column, so that all columns share one table of embeddings.
    """

    network: torch.nn.Module
    offsets: IntArray

    def predict_proba(self, seen: Observations) -> FloatArray:
        """Belief in each value, shape (n, k)."""
        import torch

        self.network.eval()
        parts = []
        with torch.no_grad():
            for start in range(0, seen.size, 8 * BATCH):
                rows = torch.from_numpy(seen.columns[start : start + 8 * BATCH] + self.offsets)
                parts.append(torch.softmax(self.network(rows).double(), dim=1).numpy())
        return np.concatenate(parts)


def fit_transformer(train: Lesson, check: Lesson, k: int, seed: int, progress: Progress) -> Model:
    """Train on simulated reports until the loss on `check` no longer falls.

    Deterministic for a seed on one machine; the state of PyTorch's own generator is left alone.

    Parameters
    ----------
    train, check : Lesson
        Of different records.
    k : int
        Number of values of the secret.
    seed : int
    progress : callable

    Raises
    ------
    MissingDependencyError
        If PyTorch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise missing_torch() from error
    sizes = train.seen.column_sizes
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small products: more threads gain little, and change the rounding
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = _network(sum(sizes), len(sizes), k)
            _train(network, _tensors(train, offsets), _tensors(check, offsets), progress)
    finally:
        torch.set_num_threads(threads)
    return TransformerModel(network, offsets)


def _network(vocabulary: int, columns: int, k: int) -> torch.nn.Module:
    from torch import nn

    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 2 * WIDTH, DROPOUT, activation="gelu", batch_first=True, norm_first=True
    )
    wide = columns * WIDTH
    hidden = min(4 * wide, 256)
    return nn.Sequential(
        nn.Embedding(vocabulary, WIDTH),
        nn.TransformerEncoder(layer, DEPTH, nn.LayerNorm(WIDTH), enable_nested_tensor=False),
        nn.Flatten(),
        nn.Linear(wide, hidden),
        nn.GELU(),
        nn.Dropout(DROPOUT),
        nn.Linear(hidden, k),
    )


Tensors = tuple["torch.Tensor", "torch.Tensor"]


def _tensors(lesson: Lesson, offsets: IntArray) -> Tensors:
    import torch

    return torch.from_numpy(lesson.seen.columns + offsets), torch.from_numpy(lesson.truth)


def _train(network: torch.nn.Module, train: Tensors, check: Tensors, progress: Progress) -> None:
    import torch

    rows, truth = train
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-2)
    loss_of = torch.nn.CrossEntropyLoss()
    per_epoch = -(-len(truth) // BATCH)
    epochs = max(2, min(EPOCHS, 1 + PASSES // len(truth)))
    steps = epochs * per_epoch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    best, kept, idle = np.inf, None, 0
    for epoch in range(epochs):
        network.train()
        order = torch.randperm(len(truth))
        for batch in range(per_epoch):
            chosen = order[batch * BATCH : (batch + 1) * BATCH]
            optimiser.zero_grad()
            loss_of(network(rows[chosen]), truth[chosen]).backward()
            optimiser.step()
            schedule.step()
            progress(epoch * per_epoch + batch + 1, steps)
        loss = _loss(network, check)
        idle = 0 if loss < best - BETTER else idle + 1
        if loss < best:
            best, kept = loss, {name: x.clone() for name, x in network.state_dict().items()}
        if idle == PATIENCE:
            break
    if kept is not None:
        network.load_state_dict(kept)


def _loss(network: torch.nn.Module, check: Tensors) -> float:
    import torch

    rows, truth = check
    network.eval()
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(truth), 8 * BATCH):
            part = slice(start, start + 8 * BATCH)
            out = network(rows[part])
            total += float(torch.nn.functional.cross_entropy(out, truth[part], reduction="sum"))
    return total / len(truth)
