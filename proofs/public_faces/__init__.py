"""Every public face with indices, masks, offsets and arrays, called with hostile ones under
sanitizers.
"""
