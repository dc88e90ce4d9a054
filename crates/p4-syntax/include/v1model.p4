// The v1model architecture, as bmv2's simple_switch has it: parser, checksum check, ingress,
// traffic manager, egress, checksum update, deparser.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

// As p4c's compiler for bmv2 defines it for programs that are for several targets.
#ifndef __TARGET_BMV2__
#define __TARGET_BMV2__ 1
#endif

#include "core.p4"

// From 20200408 on ports have a type of their own, and array externs take any index type.
#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif
#if V1MODEL_VERSION < 20180101 || V1MODEL_VERSION > 20200408
#error V1MODEL_VERSION is a date from 20180101 to 20200408
#endif

match_kind {
    range,      // from a lowest to a highest value
    optional,   // one value, or any
    selector    // part of the hash by which an action selector picks a member
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#endif

// What the switch knows about a packet. @alias names bmv2's own field.
@metadata @name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t ingress_port;      // where the packet came in
    PortId_t egress_spec;       // where ingress sends it; 511 drops
    PortId_t egress_port;       // where it leaves; to be read in egress
#else
    bit<9>   ingress_port;      // where the packet came in
    bit<9>   egress_spec;       // where ingress sends it; 511 drops
    bit<9>   egress_port;       // where it leaves; to be read in egress
#endif
    bit<32>  instance_type;     // 0 from a port, else how the packet came to be
    bit<32>  packet_length;     // bytes
    @alias("queueing_metadata.enq_timestamp")
    bit<32>  enq_timestamp;     // microseconds, on entering the queue
    @alias("queueing_metadata.enq_qdepth")
    bit<19>  enq_qdepth;        // packets in the queue then
    @alias("queueing_metadata.deq_timedelta")
    bit<32>  deq_timedelta;     // microseconds in the queue
    @alias("queueing_metadata.deq_qdepth")
    bit<19>  deq_qdepth;        // packets in the queue on leaving it
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48>  ingress_global_timestamp;  // microseconds, at the start of ingress
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48>  egress_global_timestamp;   // microseconds, at the start of egress
    @alias("intrinsic_metadata.mcast_grp")
    bit<16>  mcast_grp;         // multicast group to copy to; 0 is none
    @alias("intrinsic_metadata.egress_rid")
    bit<16>  egress_rid;        // which copy of a multicast packet this is
    bit<1>   checksum_error;    // 1 if a verify_checksum failed
    error    parser_error;      // how parsing ended
    @alias("intrinsic_metadata.priority")
    bit<3>   priority;          // which queue of the port
}

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

// An array of counters, read by the control plane only.
extern counter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    counter(bit<32> size, CounterType type);
    // Counts this packet; no effect beyond the size.
#if V1MODEL_VERSION >= 20200408
    void count(in I index);
#else
    void count(in bit<32> index);
#endif
}

// One counter per entry of the table that names it in its property `counters`.
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

// An array of two-rate three-colour meters (RFC 2698).
extern meter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    meter(bit<32> size, MeterType type);
    // Colours this packet: 0 green, 1 yellow, 2 red.
#if V1MODEL_VERSION >= 20200408
    void execute_meter<T>(in I index, out T result);
#else
    void execute_meter<T>(in bit<32> index, out T result);
#endif
}

// One meter per entry of the table that names it in its property `meters`.
extern direct_meter<T> {
    direct_meter(MeterType type);
    // The colour this packet got when the entry matched.
    void read(out T result);
}

// An array of values that last from packet to packet.
#if V1MODEL_VERSION >= 20200408
extern register<T, I>
#else
extern register<T>
#endif
{
    register(bit<32> size);
    @noSideEffects
#if V1MODEL_VERSION >= 20200408
    void read(out T result, in I index);
#else
    void read(out T result, in bit<32> index);
#endif
    // No effect beyond the size.
#if V1MODEL_VERSION >= 20200408
    void write(in I index, in T value);
#else
    void write(in bit<32> index, in T value);
#endif
}

// Table implementation: entries share members, each an action with arguments.
extern action_profile {
    action_profile(bit<32> size);
}

// A random value from lo to hi, both included.
extern void random<T>(out T result, in T lo, in T hi);

// Sends data to the control plane, as it is now. Ingress only; the receiver is ignored.
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

// Sets egress_spec to the dropping port and mcast_grp to 0; both can still be changed later.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

// A hash of data, from base to base + max - 1; base if max is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

// Table implementation: a hash over the selector keys picks one member of a group.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,    // from ingress
    E2E     // from egress
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

// In VerifyChecksum: sets checksum_error unless the checksum of data is the one given.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

// In ComputeChecksum: stores the checksum of data if the condition holds.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// The same, over data and all bytes that the parser left unread.
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// Copies the packet to egress by the clone session, with no metadata of the user.
extern void clone(in CloneType type, in bit<32> session);

@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);
// In ingress: parse the packet again as it came in. Metadata fields marked with this index by
// @field_list are kept. Only the last call counts.
extern void resubmit_preserving_field_list(bit<8> index);

@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);
// In egress: parse the packet again as the deparser built it.
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);
// As clone, but keeps the metadata fields marked with this index by @field_list.
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

// Cuts the packet to a number of bytes when it leaves.
extern void truncate(in bit<32> length);

// State what must hold, and what may be taken for granted.
extern void assert(in bool check);
extern void assume(in bool check);

// Writes to the log of the switch; each {} in msg stands for one field of data.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

control VerifyChecksum<H, M>(inout H hdr, inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

control ComputeChecksum<H, M>(inout H hdr, inout M meta);

@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep);

#endif
