"""The report as one HTML page that needs nothing else, and its pictures as files: made of results' JSON objects.

Read `page` first: what stands on the page; then `parts`, of a run's and a network's; `sweep`, of several runs that
differ in their configurations; `pictures` and `charts`, what is drawn and how.

Why so: the page is one file that needs no network and works without JavaScript, as it is sent by mail and opened years
later.
"""
