"""Policies of a fabric that makes copies: your answers to lab 07.

This is a small part of Python: numbers, texts, lists, tuples, dicts and sets; if, for, while and
functions of your own; math.ceil, floor, log2 and sqrt; abs, all, any, dict, enumerate, float, int,
len, list, map, max, min, print, range, reversed, round, set, sorted, str, sum, tuple and zip. A
policy keeps nothing from one question to the next.
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
        cells = math.ceil(size / CELL)
        interface = size * 8 / (cells * SLOT)
        return min(load, interface / copies)

    def tree(self, sender, members, leaves):
        """Part 2. Who copies for whom: a dict that has, for each port that makes copies, the list
        of ports that it sends them to. `sender` is a server's port, `members` are the ports of all
        servers that are to get the frame, and the fabric has so many `leaves`."""
        # Level by level: each port of a level feeds as many surrogates as are still needed.
        needed = 0
        while COPIES + needed * (COPIES - 1) < len(members):
            needed += 1
        crowd = [0] * leaves
        for port in members:
            crowd[port // PLACES] += 1
        crowd[sender // PLACES] = -1
        order = sorted(range(leaves), key=lambda leaf: (crowd[leaf], leaf), reverse=True)
        waiting = [leaf * PLACES + SURROGATE for leaf in order[:needed]]
        waiting.reverse()
        tree = {sender: []}
        level = [sender]
        while waiting:
            above, level = level, []
            for port in above:
                tree[port], waiting = waiting[:COPIES], waiting[COPIES:]
                level += tree[port]
            for port in level:
                tree[port] = []
        left = set(members)
        for port in tree:
            for member in members:
                near = member // PLACES == port // PLACES and member in left
                if near and len(tree[port]) < COPIES:
                    tree[port].append(member)
                    left.discard(member)
        rest = [member for member in members if member in left]
        for port in tree:
            while rest and len(tree[port]) < COPIES:
                tree[port].append(rest.pop())
        return tree

    def suspend(self, ahead, suspended):
        """Part 3. Whether a queue has to wait for its siblings, True or False: it has sent `ahead`
        cells more than the slowest of them, and it waits already if `suspended` is True."""
        low, high = 6, 18
        return ahead > low if suspended else ahead > high

    def drop(self, waiting, size):
        """Part 4. What happens to a new copy of a frame of `size` bytes if `waiting` units wait in
        its queue: "keep" it; or "newest", it is dropped; or "oldest", it is kept, and the first one
        that waits is dropped. All copies of a port share 740 units."""
        return "keep" if waiting + math.ceil(size / CELL) <= 240 else "oldest"

    def weight(self, share, latest, largest):
        """Part 5. A port's buffer is too full, and one of its flows is told to slow down. It is
        drawn by weights from 0 to 1000. This is the weight of a flow that has `share` sixteenths of
        what is in the buffer; `latest` is True if the frame that came in last is one of its, and
        `largest` if no flow has more in the buffer."""
        return share * share
