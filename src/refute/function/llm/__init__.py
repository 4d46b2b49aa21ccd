"""Function level with a language model: UTGen's generators, the vote, BuildUT and UTDebug.

The paper is arXiv 2502.01619; `docs/utgen.md` maps each of its steps to the function that does it.
`methods.METHODS` is the registry that the commands use.
"""
