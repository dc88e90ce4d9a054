"""P4Info's types; finsy has them."""

import sys

from finsy.proto import p4t

sys.modules[__name__] = p4t
