"""Protection's two views in a notebook: the circle of sequence numbers, and both paths in time.

`circle` shows what a PTE did with each copy that came: its number on the circle of all numbers,
the last number accepted, the window, and the slots.  `times` shows when each copy left the PTI
and when it came to the PTE, on path 1 and on path 2.
"""
