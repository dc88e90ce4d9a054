#include <core.p4>
const bit<32> LENGTH = 96;
const bool checked = static_assert(LENGTH % 64 == 0, "a BitString is a multiple of 64 bits");
