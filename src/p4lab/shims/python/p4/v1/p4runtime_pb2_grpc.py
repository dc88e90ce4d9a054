"""P4Runtime's calls; finsy has them."""

import sys

from finsy.proto import p4r_grpc

sys.modules[__name__] = p4r_grpc
