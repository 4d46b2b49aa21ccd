"""An MCP server over stdio: a few verbs for agents, with typed results."""
