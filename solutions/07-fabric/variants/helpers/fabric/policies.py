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


def units(size):
    """Buffer units of a frame."""
    return max(1, math.ceil(size / CELL))


class Policies:
    """Your policies, one for each part of the lab."""

    def rate(self, copies, size, load):
        """Part 1. How many Gb/s each copy gets if there is no cache: `copies` copies of frames of
        `size` bytes, of which a server sends `load` Gb/s."""
        return min(load, self.interface(size) / copies)

    def interface(self, size):
        return size * 8 / (units(size) * SLOT)

    def tree(self, sender, members, leaves):
        """Part 2. Who copies for whom: a dict that has, for each port that makes copies, the list
        of ports that it sends them to. `sender` is a server's port, `members` are the ports of all
        servers that are to get the frame, and the fabric has so many `leaves`."""
        # A surrogate takes one copy and makes eight, so each one adds seven.
        count = max(0, math.ceil((len(members) - COPIES) / (COPIES - 1)))
        at = {}
        for port in members:
            at.setdefault(port // PLACES, []).append(port)
        # The leaves with the most members; of these, those with few first: ports near the sender
        # have their hands full with surrogates. The sender's leaf has no links to spare for one.
        others = [leaf for leaf in range(leaves) if leaf != sender // PLACES]
        others.sort(key=lambda leaf: len(at.get(leaf, [])))
        nodes = [sender]
        for leaf in others[len(others) - count :]:
            nodes.append(leaf * PLACES + SURROGATE)
        found = {node: [] for node in nodes}
        for place in range(1, len(nodes)):
            found[nodes[(place - 1) // COPIES]].append(nodes[place])
        # Members of its own leaf cost no way through a spine.
        for node in nodes:
            own = at.get(node // PLACES, [])
            room = COPIES - len(found[node])
            found[node] += own[:room]
            at[node // PLACES] = own[room:]
        left = [port for ports in at.values() for port in ports]
        for node in nodes:
            room = COPIES - len(found[node])
            found[node] += left[:room]
            left = left[room:]
        return found

    def suspend(self, ahead, suspended):
        """Part 3. Whether a queue has to wait for its siblings, True or False: it has sent `ahead`
        cells more than the slowest of them, and it waits already if `suspended` is True."""
        return ahead > {True: 8, False: 18}[suspended]

    def drop(self, waiting, size):
        """Part 4. What happens to a new copy of a frame of `size` bytes if `waiting` units wait in
        its queue: "keep" it; or "newest", it is dropped; or "oldest", it is kept, and the first one
        that waits is dropped. All copies of a port share 740 units."""
        return "oldest" if self.full(waiting + units(size)) else "keep"

    MOST = 300

    def full(self, length):
        return length > self.MOST

    def weight(self, share, latest, largest):
        """Part 5. A port's buffer is too full, and one of its flows is told to slow down. It is
        drawn by weights from 0 to 1000. This is the weight of a flow that has `share` sixteenths of
        what is in the buffer; `latest` is True if the frame that came in last is one of its, and
        `largest` if no flow has more in the buffer."""
        return 1000 if largest and share > 2 else 0
