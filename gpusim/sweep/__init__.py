"""Sweeps: many runs of one configuration with some of its values varied, each stored as soon as it has ended.

`points` chooses the points, `constraints` leaves out what cannot be, `tasks` makes a point's work of it, `executor`
says where work is done, `running` goes from a specification to a store with all points in it.
"""
