"""The live view: a page on the loopback interface that shows a run while it runs."""
