"""P4Runtime's values; finsy has them."""

import sys

from finsy.proto import p4d

sys.modules[__name__] = p4d
