"""UTGen (arXiv 2502.01619): training data, fine-tuning, and the choice of a checkpoint."""
