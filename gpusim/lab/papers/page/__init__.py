"""The folder of a reproduction: its page with a summary in front, claims, CSV files, pictures."""
