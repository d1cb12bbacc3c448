"""Tools that the other folders share and users do not need: Adam, dense layers, threads, files, text, HTML, frames.

Each module stands for itself; there is no order to read them in. Only fewsolves imports them, and they may change
between versions without notice.
"""
