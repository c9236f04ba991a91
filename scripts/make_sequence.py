"""Make the example sequence: one invented person's presence at home by the hour.

    python scripts/make_sequence.py

Two weeks of a chain on two states, simulated with a fixed seed; nothing comes from a real person.
"""

from __future__ import annotations

import numpy as np

from seepage.example import example_sequence_path
from seepage.sequence.chain import MarkovChain

HOURS, OPTED_OUT, SEED = 14 * 24, 200, 7
CHAIN = MarkovChain(np.array([[0.88, 0.12], [0.3, 0.7]]), states=("home", "away"))


def main() -> None:
    """Write the file."""
    codes = CHAIN.simulate(HOURS, rng=SEED)
    rows = ["hour,place,opt_out"]
    rows += [f"{t},{CHAIN.states[c]},{int(t == OPTED_OUT)}" for t, c in enumerate(codes.tolist())]
    example_sequence_path().write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
