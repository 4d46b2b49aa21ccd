"""Tests of the methods that ask a model; `scripted` and `pseudocode` are shared by them."""
