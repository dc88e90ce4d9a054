"""How many memory blocks a table takes: exact for the layouts that the chip's compiler prefers.

Facts: docs/fit.md names the source of each formula. Units: entries, bits, and blocks as in `chip`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from p4lab.fit import chip
from p4lab.fit.graph import Action, Gress, Resource, Unit

TERNARY_KINDS = {"ternary", "lpm", "range", "optional"}
DEFAULT_SIZE = 512  # of a table that does not say; bf-p4c warns and takes this


@dataclass(frozen=True)
class Blocks:
    """Memory in one stage."""

    srams: int = 0
    map_rams: int = 0
    tcam_width: int = 0  # blocks side by side
    tcam_depth: int = 0  # blocks of 512 entries below one another

    @property
    def tcams(self) -> int:
        return self.tcam_width * self.tcam_depth

    def __add__(self, other: Blocks) -> Blocks:
        return Blocks(
            self.srams + other.srams,
            self.map_rams + other.map_rams,
            self.tcam_width + other.tcam_width,
            self.tcam_depth + other.tcam_depth,
        )


@dataclass(frozen=True)
class Layout:
    """How one unit lies in memory, whatever its number of entries."""

    kind: str  # exact, ternary, hash action, no key, condition
    entries: int
    key_bits: int
    immediate: int  # bits of action data beside the match
    action_bits: int  # bits of action data in a table of their own
    overhead: int  # bits beside the match: immediate, which action, pointers
    direct: tuple[Resource, ...]  # one cell per entry
    idle_timeout: bool

    @property
    def splits(self) -> bool:
        """Whether entries may lie in several stages."""
        return self.kind in ("exact", "ternary")

    @property
    def key_bytes(self) -> int:
        return ceil(self.key_bits / 8)

    def blocks(self, entries: int) -> Blocks:
        """What so many of its entries take in one stage."""
        match = Blocks()
        if self.kind == "ternary":
            match = Blocks(
                srams=self._indirection(entries),
                tcam_width=ceil(self.key_bits / chip.TCAM_BITS),
                tcam_depth=ceil(entries / chip.TCAM_ENTRIES),
            )
        elif self.kind == "exact":
            match = Blocks(srams=self._exact(entries))
        beside = Blocks(srams=self._action_data(entries))
        for resource in self.direct:
            beside += cells(resource, entries)
        if self.idle_timeout:
            beside += Blocks(map_rams=ceil(entries / (chip.SRAM_ROWS * 8)))
        return match + beside

    def _indirection(self, entries: int) -> int:
        """RAM that says what to do on a hit in the TCAM, which holds keys only."""
        if self.overhead == 0:
            return 0
        per_word = chip.SRAM_BITS // max(8, _power(self.overhead))
        return ceil(entries / (chip.SRAM_ROWS * max(1, per_word)))

    def _exact(self, entries: int) -> int:
        """Ways of a hash table; the row's number stands for ten bits of the key."""
        tag = max(0, self.key_bits - chip.GHOST_BITS)
        bits = tag + chip.VERSION_BITS + self.overhead
        best = None
        for width in range(1, chip.MAX_WAY_WIDTH + 1):
            pack = min(width * chip.SRAM_BITS // bits, chip.MAX_PACK, width * chip.MAX_PACK_ROW)
            if pack == 0:
                continue
            depth = ceil(entries / (chip.SRAM_ROWS * pack))
            direct = self.key_bits < chip.GHOST_BITS and depth == 1
            cost = width * (depth if direct else max(depth, chip.MIN_WAYS))
            if best is None or cost < best:
                best = cost
        return best if best is not None else chip.SRAMS + 1

    def _action_data(self, entries: int) -> int:
        if self.action_bits == 0:
            return 0
        if self.action_bits > chip.SRAM_BITS:
            width = ceil(self.action_bits / chip.SRAM_BITS)
            return width * ceil(entries / chip.SRAM_ROWS)
        per_word = chip.SRAM_BITS // self.action_bits
        return ceil(entries / (chip.SRAM_ROWS * per_word))


def layout(gress: Gress, unit: Unit) -> Layout:
    """How the unit lies in memory."""
    if unit.kind == "condition":
        return Layout(
            "condition", 0, sum(hi - lo + 1 for _, lo, hi in unit.reads), 0, 0, 0, (), False
        )
    hits = [action for action in unit.actions if not action.default_only]
    data = max((_data_bits(action) for action in hits), default=0)
    resources = [gress.resources[index] for index in unit.resources]
    direct = tuple(r for r in resources if r.size is None and r.kind in CELLS)
    table = unit.table
    keys = [key for key in table.keys if key.kind != "selector"] if table else []
    if not keys:
        action_bits = 0 if data <= chip.MAX_IMMEDIATE else _power(data)
        return Layout("no key", 1, 0, data - min(data, action_bits), action_bits, 0, (), False)
    assert table is not None
    entries = max(1, table.const_entries or table.size or DEFAULT_SIZE)
    key_bits = sum(key.width + (ceil(key.width / 4) if key.kind == "range" else 0) for key in keys)
    profile = any(r.kind in ("action_profile", "selector") for r in resources)
    pointer = _pointer_bits(gress, unit)
    if profile:
        action_bits, immediate = 0, 0
    else:
        action_bits = _action_table_bits(data)
        immediate = max(0, data - action_bits)
    codes = _bits_for(len(hits))
    ternary = any(key.kind in TERNARY_KINDS for key in keys)
    every_key = key_bits < 20 and entries >= 1 << key_bits
    if not ternary and every_key and codes + pointer == 0 and not profile:
        # Nothing to compare: the key is the index.
        action_bits = 0 if data == 0 else _power(data)
        return Layout(
            "hash action", entries, key_bits, 0, action_bits, 0, direct, table.idle_timeout
        )
    overhead = immediate + codes + pointer
    kind = "ternary" if ternary else "exact"
    return Layout(
        kind, entries, key_bits, immediate, action_bits, overhead, direct, table.idle_timeout
    )


def attached(gress: Gress, unit: Unit) -> list[tuple[int, Blocks]]:
    """Memories with a size of their own that the unit works on: resource, blocks."""
    found = []
    for index in unit.resources:
        resource = gress.resources[index]
        if resource.size is not None and resource.kind in CELLS:
            found.append((index, cells(resource, resource.size)))
        elif resource.kind == "action_profile":
            widest = max((_data_bits(action) for action in unit.actions), default=0)
            members = Layout("profile", 0, 0, 0, _power(widest) if widest else 0, 0, (), False)
            found.append((index, Blocks(srams=members._action_data(resource.size or DEFAULT_SIZE))))
        elif resource.kind == "selector":
            groups = resource.size or DEFAULT_SIZE
            words = ceil(groups / chip.SRAM_ROWS) + 1
            found.append((index, Blocks(srams=words, map_rams=words)))
    return found


# Kinds of resources that are made of cells
CELLS = {"register", "counter", "meter", "filter"}


def cells(resource: Resource, count: int) -> Blocks:
    """Cells that packets change lie twice over in one block more (the spare), with map RAMs."""
    blocks = ceil(count / (chip.SRAM_ROWS * _per_word(resource))) + 1
    return Blocks(srams=blocks, map_rams=blocks)


def _per_word(resource: Resource) -> int:
    if resource.kind == "counter":
        if resource.both:
            return 2 if resource.width <= 36 else 1
        return 4 if resource.width <= 32 else 2
    if resource.kind == "register":
        return max(1, chip.SRAM_BITS // max(1, resource.width))
    return 1


def _data_bits(action: Action) -> int:
    return sum(action.data)


def _action_table_bits(data: int) -> int:
    """Up to 32 bits of action data go beside the match, the rest in a table of its own."""
    rest = data - chip.MAX_IMMEDIATE
    if rest <= 0:
        return 0
    if rest > chip.SRAM_BITS:
        return ceil(rest / chip.SRAM_BITS) * chip.SRAM_BITS
    return max(8, _power(rest))


def _pointer_bits(gress: Gress, unit: Unit) -> int:
    """Bits that each entry spends on pointers into shared memories."""
    bits = 0
    for index in unit.table.resources if unit.table else ():
        resource = gress.resources[index]
        if resource.kind in ("action_profile", "selector"):
            bits += _bits_for(resource.size or DEFAULT_SIZE)
    return bits


def _bits_for(count: int) -> int:
    return max(0, count - 1).bit_length()


def _power(number: int) -> int:
    """The smallest power of two that is not smaller."""
    return 1 << max(0, number - 1).bit_length()
