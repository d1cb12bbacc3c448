"""Tools that the other folders share and users do not need: Adam, dense layers, threads, files, text, HTML, frames.

The modules are independent of each other. Only fewsolves imports them, and they may change
between versions without notice.
"""
