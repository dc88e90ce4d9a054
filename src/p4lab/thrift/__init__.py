"""simple_switch's runtime API over Thrift, for its command line and for p4-utils' controllers."""
