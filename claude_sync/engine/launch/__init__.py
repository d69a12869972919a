"""How the CLI is started."""
