"""The engine without a model: inputs, edits, fitness, ranking."""
