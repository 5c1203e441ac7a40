"""A run from configuration to records: jobs of every kind, and the one path that all of them take."""
