"""Tests that a project lacks: mutants that its tests do not kill, and the test that kills each."""
