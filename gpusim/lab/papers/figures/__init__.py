"""The kinds of figures: what each shows as tables and picture, and the values that its claims are judged by.

Why so: each kind of figure gives labelled values first, and table, picture and claims are made of these, so that no two
of them can differ.
"""
