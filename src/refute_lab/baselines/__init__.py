"""What the papers compare with: methods, and what they alone use."""
