// The policy that ACCEPT names, and the numbers of the PTI.

#ifndef TNA_POLICY_P4
#define TNA_POLICY_P4

#include "number.p4"
#if ACCEPT == ACCEPT_NONE
#include "none.p4"
#elif ACCEPT == ACCEPT_MATCH
#include "match.p4"
#elif ACCEPT == ACCEPT_HIGHEST
#ifdef SMALL_WINDOW
#include "window.p4"
#else
#include "highest.p4"
#endif
#elif ACCEPT == ACCEPT_SLOTS
#include "slots.p4"
#else
#error "on Tofino ACCEPT must be 0 (none), 1 (match), 2 (highest) or 3 (slots)"
#endif

#endif
