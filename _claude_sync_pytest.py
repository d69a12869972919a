"""Empty: environments that were installed from a checkout of 0.1 still name this module."""
