"""A BFRT server that is none: it speaks the real protocol on a real socket.

- `messages`: the protocol, as a table of field numbers
- `info`: what a server tells of a program (bf-rt.json), made from P4Info
- `switch`: what is behind the server, tables with the rules of the real ones
- `engine_switch`: the same, and our engine forwards packets by what is in the tables
- `server`: the service
- `programs`: what stands in the place of the SDE's compiler, model and driver
- `standin`: a client in the place of the SDE's, for machines without it
"""
