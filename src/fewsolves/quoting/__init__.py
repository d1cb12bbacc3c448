"""Quoting: the expected price of a method, before it is paid.

Begin with `price.py` (what a method needs at least, by which a budget is accepted or refused); `quote.py` is
`fewsolves.quote`, with what was measured before (`measured.json`). Imported by `fitting`, whose plans check their
budget here, and by the commands.
"""
