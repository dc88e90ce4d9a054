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
        # A place is a copy that a port can still make. A surrogate takes one and brings eight.
        tree = {sender: []}
        places = [sender] * COPIES
        homes = {}
        for port in members:
            homes.setdefault(port // PLACES, []).append(port)
        away = [leaf for leaf in homes if leaf != sender // PLACES]
        few_first = sorted(away, key=lambda leaf: len(homes[leaf]))
        short = len(members) - len(places)
        count = 0 if short <= 0 else (short + COPIES - 2) // (COPIES - 1)
        empty = [leaf for leaf in range(leaves) if leaf not in [*homes, sender // PLACES]]
        chosen = few_first[-count:] if count else []
        chosen = empty[: count - len(chosen)] + chosen
        for leaf in chosen:
            port = places.pop(0)
            new = leaf * PLACES + SURROGATE
            tree[port].append(new)
            tree[new] = []
            places += [new] * COPIES
        for port in list(places):
            own = homes.get(port // PLACES)
            if own:
                tree[port].append(own.pop())
                places.remove(port)
        for own in homes.values():
            while own:
                tree[places.pop()].append(own.pop())
        return tree

    def suspend(self, ahead, suspended):
        """Part 3. Whether a queue has to wait for its siblings, True or False: it has sent `ahead`
        cells more than the slowest of them, and it waits already if `suspended` is True."""
        return ahead > 17 - 9 * suspended

    def drop(self, waiting, size):
        """Part 4. What happens to a new copy of a frame of `size` bytes if `waiting` units wait in
        its queue: "keep" it; or "newest", it is dropped; or "oldest", it is kept, and the first one
        that waits is dropped. All copies of a port share 740 units."""
        after = waiting + -(-size // CELL)
        return "keep" if after < 200 else "oldest"

    def weight(self, share, latest, largest):
        """Part 5. A port's buffer is too full, and one of its flows is told to slow down. It is
        drawn by weights from 0 to 1000. This is the weight of a flow that has `share` sixteenths of
        what is in the buffer; `latest` is True if the frame that came in last is one of its, and
        `largest` if no flow has more in the buffer."""
        return 1 if largest else 0
