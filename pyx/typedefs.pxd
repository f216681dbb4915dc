# The integer widths of the engine, named once. Header-only: a .pxd here never holds a function body
# that is not inline, because kernels are separate modules that meet in Python only.

ctypedef signed int owner_t          # int32: position of a client in its list, -1 = nobody
ctypedef signed int index_t          # int32: a row of some table
ctypedef long long offset_t          # int64: where a list begins in its column
ctypedef unsigned char byte_t        # uint8: text
ctypedef unsigned int hash_t         # uint32: a place on the ring
