"""The kinds of figures: what each shows as tables and picture, and the values that its claims are judged by."""
