"""A language server over stdio: wrong functions as diagnostics, tests and fixes as code actions."""
