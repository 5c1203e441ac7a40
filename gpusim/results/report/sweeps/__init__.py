"""A sweep as what is told of it: its points by the roles of their axes, what matters, which design is best, in words.

`points` has the data and their means, `effects` says how much each axis matters, `front` which points nobody beats,
`answers` puts it into words. Drawn by `gpusim.results.report.page.figures`.

Why so: what an axis does is said over all other axes that every value has, so that like is compared with like.
"""
