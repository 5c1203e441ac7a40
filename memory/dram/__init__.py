"""DRAM: standards as tables of sourced timings, controllers command by command, and a checker of the protocol.

`standards` holds the tables, `constraints` the timing rules, `spec` and `timing` what a configuration makes of them;
`state` is what a channel keeps, `requests` a request's way through its bank, `commands` what each command does,
`scheduler`, `page_policy` and `refresh` what is decided, `advance` when, and `controller` the interface. `checker`
replays a recorded command stream and knows nothing of how it came about.
"""
