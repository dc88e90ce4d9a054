"""Policies of a fabric that makes copies: your answers to lab 07.

This is a small part of Python. What there is:
- numbers, texts with f"{x}", lists, tuples, dicts and sets; if, for and while;
- functions of your own, also inside methods, and lambda; they call each other up to 700 deep;
- math.ceil, floor, log, log2, sqrt, inf and pi;
- abs, all, any, bool, dict, divmod, enumerate, filter, float, int, len, list, map, max, min, print,
  range, reversed, round, set, sorted, str, sum, tuple and zip.

What there is not: isinstance, del, try, with, raise, assert, global, match, := and inner classes.
A file with one of these statements gets no points at all; `./lab check` names its line.

A policy keeps nothing from one question to the next: nothing can be assigned to self, and lists
outside methods cannot be changed. What you are given is a copy. A question may take 2,000,000
steps for tree, 100,000 for rate and 20,000 for the others; each element of a list is a step.
"""

import math

CELL = 256  # bytes, in a cell as in a unit of memory
SLOT = 17.621  # nanoseconds that a port's interface takes to read one cell
COPIES = 8  # of a frame, the most that a port makes
PLACES = 8  # of a leaf: port 8 * leaf + place; servers are at places 0 to 4
SURROGATE = 5  # the place of the port that sends frames back into its leaf


class Policies:
    """Your policies, one for each part of the lab."""

    def rate(self, copies, size, load):
        """Part 1. How many Gb/s each copy gets without a cache. A server sends `load` Gb/s in
        frames of `size` bytes, and its port makes `copies` copies of each."""
        # BEGIN SOLUTION rate: how much can the interface read, and for how many copies?
        cells = math.ceil(size / CELL)
        interface = size * 8 / (cells * SLOT)
        return min(load, interface / copies)
        # END SOLUTION

    def tree(self, sender, members, leaves):
        """Part 2. Who copies for whom: a dict that has, for each port that makes copies, the list
        of ports that it sends them to. `sender` is a server's port, `members` are the ports of all
        servers that should get the frame, and `leaves` is how many leaves the fabric has."""
        # BEGIN SOLUTION tree: no port makes more than eight copies; surrogates make more of them
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
        # END SOLUTION

    def suspend(self, ahead, suspended):
        """Part 3. Whether a queue has to wait for its siblings, True or False: it has sent `ahead`
        cells more than the slowest of them, and `suspended` is True if it waits already."""
        # BEGIN SOLUTION suspend: when does a queue begin to wait, and when does it go on?
        return ahead > (10 if suspended else 18)
        # END SOLUTION

    def drop(self, waiting, size):
        """Part 4. What happens to a new copy of a frame of `size` bytes if `waiting` units wait in
        its queue: "keep" it; or "newest", it is dropped; or "oldest", it is kept, and the first one
        that waits is dropped. All frames of a port share 740 units."""
        # BEGIN SOLUTION drop: how long may a queue get, and what goes then?
        return "keep" if waiting + math.ceil(size / CELL) <= 240 else "oldest"
        # END SOLUTION

    def weight(self, share, latest, largest):
        """Part 5. A port's buffer is too full, and one of its flows is told to slow down. It is
        drawn by weights from 0 to 1000. This is the weight of a flow that has `share` sixteenths of
        what is in the buffer; `latest` is True if it has sent the frame that came in last, and
        `largest` if no flow has more in the buffer."""
        # BEGIN SOLUTION weight: whose fault is it that the buffer is full?
        return 1 if largest else 0
        # END SOLUTION
