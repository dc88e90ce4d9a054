"""P4Runtime's messages; finsy has them."""

import sys

from finsy.proto import p4r

sys.modules[__name__] = p4r
