//! Linux interfaces: sockets that carry packets between the kernel and a switch.
