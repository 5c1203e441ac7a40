"""The model's version behind a recorded figure: its parts, which versions are equal, how old a figure is."""
