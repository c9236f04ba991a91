"""Pipelines over tables."""
