// 1+1 protection on TNA: the Tofino chip, its model, and the engine of this lab.
//
// Tables, actions and counters are those of v1model.p4. How they follow each other is not: a chip
// with twelve stages needs a form of its own.

#define TOFINO

#include <core.p4>
#include <tna.p4>

#include "headers.p4"
#if ENCAPSULATION == ENCAPSULATION_RTAG
#include "tna-rtag.p4"
#else
#include "tna-tunnel.p4"
#endif

Pipeline(EntryParser(), ProtectIngress(), IngressDeparser(), CopyParser(), ProtectEgress(),
         EgressDeparser()) pipe;
Switch(pipe) main;
