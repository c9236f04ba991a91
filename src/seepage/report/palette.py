"""One colour scale for charts and pages: ordered by lightness, so it survives colour blindness.

The page mixes the same two ends in OKLCH by style sheet; charts need the stops written out.
"""

from __future__ import annotations

import math

LOW = (0.965, 0.03, 95.0)
"""Nothing leaks, on a light ground: OKLCH lightness, chroma, hue in degrees."""

HIGH = (0.31, 0.13, 350.0)
"""The whole budget leaks."""

INK = "#1f1d24"
MUTED = "#6b6772"
GRID = "#e4e1e8"
EXACT = "#7a1745"
TRIAD = "#c4651a"
GRR = "#2f7f86"
OWN = "#c9c4cf"


def oklch_to_hex(lightness: float, chroma: float, hue: float) -> str:
    """Convert an OKLCH colour (Ottosson, 2020) to sRGB, clipping what the screen cannot show."""
    a = chroma * math.cos(math.radians(hue))
    b = chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1.0, max(0.0, x)))):02x}" for x in linear)


def _gamma(x: float) -> float:
    return 12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055


def ramp(stops: int = 9) -> list[str]:
    """Colours from `LOW` to `HIGH`, the short way round the hue circle (yellow, orange, plum)."""
    turn = (HIGH[2] - LOW[2] + 180) % 360 - 180
    colours = []
    for i in range(stops):
        s = i / (stops - 1)
        colours.append(
            oklch_to_hex(
                LOW[0] + s * (HIGH[0] - LOW[0]),
                # More colour in the middle than at the ends keeps the steps apart.
                LOW[1] + s * (HIGH[1] - LOW[1]) + 0.2 * s * (1 - s),
                (LOW[2] + s * turn) % 360,
            )
        )
    return colours
