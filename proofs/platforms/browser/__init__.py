"""CPython as WebAssembly: the extension compiled for it, the golden answers replayed in it, plans
made in a browser by it.
"""
