"""Mechanisms as printed by Maßny, Bitar, Ye and El Rouayheb (2025), for comparison.

"Between Close Enough to Reveal and Far Enough to Protect: a New Privacy Region for Correlated
Data". The three-region mechanism does not keep its promise: its argument bounds the event that all
records are redacted, not that all are redacted up to one that is released. Plans made here carry
their exact leakage beside the ε asked for.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from seepage._numeric import FloatArray, extremes_allowed
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import binary_influence, clear_distance
from seepage.sequence.windows import check_binary, window_table

Variant = Literal["text", "algorithm"]


@extremes_allowed
def three_region_table(
    chain: MarkovChain, n: int, position: int, epsilon: float, variant: Variant
) -> FloatArray:
    """Redaction probabilities of the three-region mechanism, shape (n, k).

    Equations (1) and (2) with half of ε for each side, all of it for the only side when the hidden
    record is first or last (equation (3)); "algorithm" is Algorithm 2, whose regions compare with ε
    and whose probabilities are ``exp(−ε/(2R))``.
    """
    alpha, beta, zero = check_binary(chain, "the published three-region mechanism")
    one = 1 - zero
    distance = np.arange(1, n)
    low, high = (
        binary_influence(alpha, beta, distance) if n > 1 else np.zeros((2, 0))
    )  # of a released 0 and 1, after relabelling
    r = np.zeros((n, 2))
    r[position] = 1.0
    ends = position in {0, n - 1}
    share = epsilon if ends else epsilon / 2
    limit = epsilon if variant == "algorithm" else share
    spend = epsilon / 2 if variant == "algorithm" else share
    for length, step in ((position, -1), (n - position - 1, 1)):
        where = position + step * distance[:length]
        medium = (low[:length] <= limit) & (limit < high[:length])
        r[where[low[:length] > limit]] = 1.0
        r[where[medium], one] = 1.0
        if medium.any():
            r[where[medium], zero] = np.exp(-spend / medium.sum())
    return r


@extremes_allowed
def quilt_table(chain: MarkovChain, n: int, position: int, epsilon: float) -> FloatArray:
    """Redaction probabilities of Algorithm 1 (Markov quilt) as printed, shape (n, k).

    Δ*(ε) is the smallest distance at which the max-influence is at most ε, as the text defines it;
    the closed form of the paper's appendix is not used. A hidden record right of the middle is
    handled from the other end, as the paper assumes.
    """
    alpha, beta, _ = check_binary(chain, "the printed Markov quilt mechanism")
    mirrored = position > n - 1 - position
    p = (n - position) if mirrored else position + 1  # counted from 1, as in the paper
    whole = clear_distance(chain, epsilon, most=n)
    half = clear_distance(chain, epsilon / 2, most=n)
    # Without a clear distance within the sequence everything on the side is redacted.
    d_whole, d_half = (n if d is None else d for d in (whole, half))
    far = float(binary_influence(alpha, beta, np.array(n + 1 - p)).max())
    near = float(binary_influence(alpha, beta, np.array(p - 1)).max()) if p > 1 else np.inf
    if p == 1 or epsilon < far + near or p + d_whole - 2 * d_half < 0:
        left, right = p - 1, min(d_whole, n - p)
    else:
        left = right = d_half
    left, right = min(left, p - 1), min(right, n - p)
    if mirrored:
        left, right = right, left
    return window_table(n, 2, position, left, right)
