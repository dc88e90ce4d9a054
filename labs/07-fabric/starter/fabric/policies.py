"""Policies of a fabric that makes copies: your answers to lab 07.

This is a small part of Python. What there is:
- numbers, texts with f"{x}", lists, tuples, dicts and sets; if, for and while;
- functions of your own, also inside of methods, and lambda; they call each other up to 700 deep;
- math.ceil, floor, log, log2, sqrt, inf and pi;
- abs, all, any, bool, dict, divmod, enumerate, filter, float, int, len, list, map, max, min, print,
  range, reversed, round, set, sorted, str, sum, tuple and zip.

What there is not: isinstance, del, try, with, raise, assert, global, match, := and classes within.
If there is one of these statements in the file, nothing of it is judged: `./lab check` says so.

A policy keeps nothing from one question to the next: nothing can be assigned to self, and lists
outside of methods cannot be changed. What you are given is a copy. A question may take 2,000,000
steps for tree, 100,000 for rate and 20,000 for the others; each element of a list is a step.
"""

import math

CELL = 256  # bytes; a buffer is counted in units of as many
SLOT = 17.621  # nanoseconds that a port's interface takes to read one cell
COPIES = 8  # a port makes at most so many copies of a frame
PLACES = 8  # a port has the number 8 x leaf + place; servers have the places 0 to 4
SURROGATE = 5  # the place of the port that sends frames back into its leaf


class Policies:
    """Your policies, one for each part of the lab."""

    def rate(self, copies, size, load):
        """Part 1. How many Gb/s each copy gets if there is no cache: `copies` copies of frames of
        `size` bytes, of which a server sends `load` Gb/s."""
        # TODO rate: how much can the interface read, and for how many copies?

    def tree(self, sender, members, leaves):
        """Part 2. Who copies for whom: a dict that has, for each port that makes copies, the list
        of ports that it sends them to. `sender` is a server's port, `members` are the ports of all
        servers that are to get the frame, and the fabric has so many `leaves`."""
        # TODO tree: no port makes more than eight copies; surrogates make more of them

    def suspend(self, ahead, suspended):
        """Part 3. Whether a queue has to wait for its siblings, True or False: it has sent `ahead`
        cells more than the slowest of them, and it waits already if `suspended` is True."""
        # TODO suspend: when does a queue begin to wait, and when does it go on?

    def drop(self, waiting, size):
        """Part 4. What happens to a new copy of a frame of `size` bytes if `waiting` units wait in
        its queue: "keep" it; or "newest", it is dropped; or "oldest", it is kept, and the first one
        that waits is dropped. All copies of a port share 740 units."""
        # TODO drop: how long may a queue get, and what goes then?

    def weight(self, share, latest, largest):
        """Part 5. A port's buffer is too full, and one of its flows is told to slow down. It is
        drawn by weights from 0 to 1000. This is the weight of a flow that has `share` sixteenths of
        what is in the buffer; `latest` is True if the frame that came in last is one of its, and
        `largest` if no flow has more in the buffer."""
        # TODO weight: whose fault is it that the buffer is full?
