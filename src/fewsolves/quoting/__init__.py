"""Quoting: what a method will cost before it is paid for.

Begin with `price.py` (what a method needs at least, by which a budget is accepted or refused); `quote.py` is
`fewsolves.quote`, with what was measured before (`measured.json`). Imported by `fitting`, whose plans check their
budget here, and by the commands.
"""
