"""Our switch in the place of simple_switch_grpc: its command line, its captures, P4Runtime."""
