"""The papers: their figures, cell by cell, and their values as presets."""
