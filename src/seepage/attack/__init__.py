"""Inference of a secret attribute from randomised reports: attackers, their scores, bounds."""
