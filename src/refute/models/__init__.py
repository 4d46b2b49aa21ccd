"""A language model behind one contract: HTTP servers, transformers in process, batches, replay."""
