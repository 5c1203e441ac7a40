"""The folder of a reproduction: its page with a summary in front, claims, CSV files, pictures.

Why so: a page is made of stored records alone and runs nothing, so that it can be drawn again at any time.
"""
