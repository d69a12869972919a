"""Every thread and every wait: questions, the CLI that answers them, and the handlers between."""
