"""The numbers of a Tofino 1, from its open compiler (p4lang/p4c, backends/tofino, bf-p4c 9.13.4).

Ingress and egress share all of it: table `k` of either direction lies in the same stage `k`.
"""

from __future__ import annotations

STAGES = 12
LOGICAL_TABLES = 16
GATEWAYS = 16  # conditions: each logical table can have one
SRAMS = 80  # blocks of 1024 words of 128 bits
SRAM_ROWS = 1024
SRAM_BITS = 128
TCAM_COLUMNS = 2
TCAM_ROWS = 12  # of each column; wide keys take rows that follow one another
TCAM_ENTRIES = 512
TCAM_BITS = 44
MAP_RAMS = 48
METER_ALUS = 4  # registers, meters, filters and selectors share them
STATS_ALUS = 4  # counters
HASH_SLICES = 6  # of 16 bits: indices and hashes that come from fields
EXACT_BYTES = 128  # what exact tables and conditions of a stage may read
TERNARY_BYTES = 66
CONDITION_BITS = 32 + 12  # of fields that one condition reads
GHOST_BITS = 10  # of an exact key: they are the row's number and need not be stored
VERSION_BITS = 4  # of each exact entry
MAX_IMMEDIATE = 32  # bits of action data that an entry itself may hold
MIN_WAYS = 4  # of an exact table: the compiler takes no fewer
MAX_WAY_WIDTH = 8
MAX_PACK = 9  # entries in one wide word
MAX_PACK_ROW = 5

# What the stages can write. What is only parsed and deparsed lies elsewhere (tagalong).
PHV_BITS = 64 * 8 + 96 * 16 + 64 * 32

BASE_CYCLES = 20
TCAM_CYCLES = 2
SELECTOR_CYCLES = 8
STATEFUL_CYCLES = 4
ACTION_CYCLES = 2
CONCURRENT_CYCLES = 1
CORNER_TURN = 4  # between stages 5 and 6
HALFWAY = 6  # this stage always waits for the one before
EGRESS_FLOOR = 160  # cycles; the compiler makes stages wait until egress has them
CLOCK_GHZ = 1.22
