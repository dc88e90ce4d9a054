"""P4Info; finsy has it."""

import sys

from finsy.proto import p4i

sys.modules[__name__] = p4i
