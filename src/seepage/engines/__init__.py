"""Engines that count, randomise and aggregate where the records are."""
