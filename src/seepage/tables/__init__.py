"""Frames and files to domains, codes and counts: the only layer that sees data frames."""
