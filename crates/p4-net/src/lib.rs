//! Virtual time: events, links, ports, hosts and generators.
