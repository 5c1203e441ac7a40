"""The model beside real cards: measured points are run on it, compared, and what no source tells is fitted to them."""
