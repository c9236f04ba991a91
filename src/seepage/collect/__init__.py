"""Randomised collection of several attributes: mechanisms, designs, estimates, relationships."""
