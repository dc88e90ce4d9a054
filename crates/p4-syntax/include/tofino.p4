// What programs for Tofino share: types, intrinsic metadata and externs. tna.p4 and, for Tofino 2, t2na.p4
// add the packages; programs include one of these.

#ifndef _TOFINO_P4_
#define _TOFINO_P4_

#include "core.p4"

#define PORT_ID_WIDTH 9
#define MULTICAST_GROUP_ID_WIDTH 16
#ifdef _T2NA_P4_
#define QUEUE_ID_WIDTH 7
#define MIRROR_TYPE_WIDTH 4
#define MIRROR_ID_WIDTH 8
#define PKTGEN_PAD_WIDTH 2
#define PKTGEN_APP_ID_WIDTH 4
#else
#define QUEUE_ID_WIDTH 5
#define MIRROR_TYPE_WIDTH 3
#define MIRROR_ID_WIDTH 10
#define PKTGEN_PAD_WIDTH 3
#define PKTGEN_APP_ID_WIDTH 3
#endif
#define RESUBMIT_TYPE_WIDTH 3
#define DIGEST_TYPE_WIDTH 3
#define REPLICATION_ID_WIDTH 16
#define L1_EXCLUSION_ID_WIDTH 16
#define L2_EXCLUSION_ID_WIDTH 9

typedef bit<PORT_ID_WIDTH>            PortId_t;             // pipe in the two upper bits, port of the pipe
typedef bit<MULTICAST_GROUP_ID_WIDTH> MulticastGroupId_t;
typedef bit<QUEUE_ID_WIDTH>           QueueId_t;
typedef bit<MIRROR_TYPE_WIDTH>        MirrorType_t;         // which of the deparser's Mirrors acts
typedef bit<MIRROR_ID_WIDTH>          MirrorId_t;           // a session of the control plane
typedef bit<RESUBMIT_TYPE_WIDTH>      ResubmitType_t;
typedef bit<DIGEST_TYPE_WIDTH>        DigestType_t;
typedef bit<REPLICATION_ID_WIDTH>     ReplicationId_t;
typedef bit<L1_EXCLUSION_ID_WIDTH>    L1ExclusionId_t;
typedef bit<L2_EXCLUSION_ID_WIDTH>    L2ExclusionId_t;

typedef error ParserError_t;

#define DEVPORT_PIPE_MASK 0x180
#define DEVPORT_PIPE(port) (port)[8:7]
#define DEVPORT_PORT_MASK 0x7f
#define DEVPORT_PORT(port) (port)[6:0]

// Bits between the intrinsic metadata and the packet: what the control plane says of the port, or the
// data of a resubmission. A parser skips them or reads them, but they are always there.
#ifdef _T2NA_P4_
const bit<32> PORT_METADATA_SIZE = 192;
#else
const bit<32> PORT_METADATA_SIZE = 64;
#endif

// Bits of `parser_err`.
const bit<16> PARSER_ERROR_OK           = 0x0000;
const bit<16> PARSER_ERROR_NO_MATCH     = 0x0001;  // a select without a case that fits
const bit<16> PARSER_ERROR_PARTIAL_HDR  = 0x0002;  // the packet ends inside a header
const bit<16> PARSER_ERROR_CTR_RANGE    = 0x0004;
const bit<16> PARSER_ERROR_TIMEOUT_USER = 0x0008;
const bit<16> PARSER_ERROR_TIMEOUT_HW   = 0x0010;
const bit<16> PARSER_ERROR_SRC_EXT      = 0x0020;  // a field beyond the end of the packet was wanted
const bit<16> PARSER_ERROR_DST_CONT     = 0x0040;
const bit<16> PARSER_ERROR_PHV_OWNER    = 0x0080;
const bit<16> PARSER_ERROR_MULTIWRITE   = 0x0100;
const bit<16> PARSER_ERROR_ARAM_MBE     = 0x0400;
const bit<16> PARSER_ERROR_FCS          = 0x0800;
#ifdef _T2NA_P4_
const bit<16> PARSER_ERROR_CSUM_MBE     = 0x1000;
#endif

enum MeterType_t { PACKETS, BYTES }
enum bit<8> MeterColor_t { GREEN = 0, YELLOW = 1, RED = 3 }
enum CounterType_t { PACKETS, BYTES, PACKETS_AND_BYTES }
enum SelectorMode_t { FAIR, RESILIENT }
enum HashAlgorithm_t { IDENTITY, RANDOM, XOR8, XOR16, XOR32, CRC8, CRC16, CRC32, CRC64, CUSTOM }
enum MathOp_t { MUL, SQR, SQRT, DIV, RSQR, RSQRT }

match_kind {
    range,                  // from a lowest to a highest value
    selector,               // part of the hash by which an action selector picks a member
    atcam_partition_index   // which part of an algorithmic TCAM to look into
}

error { CounterRange, Timeout, PhvOwner, MultiWrite, IbufOverflow, IbufUnderflow }

// ---- Intrinsic metadata ----------------------------------------------------------------------------

// In front of every packet that comes to an ingress parser.
@__intrinsic_metadata
header ingress_intrinsic_metadata_t {
    bit<1>   resubmit_flag;       // 1: the packet was resubmitted
    @padding bit<1> _pad1;
    bit<2>   packet_version;
    @padding bit<3> _pad2;
    PortId_t ingress_port;
    bit<48>  ingress_mac_tstamp;  // nanoseconds
}

// What ingress asks of the traffic manager. A field that nobody wrote asks for nothing.
@__intrinsic_metadata
struct ingress_intrinsic_metadata_for_tm_t {
    PortId_t           ucast_egress_port;
    bit<1>             bypass_egress;         // 1: leave without going through egress
    bit<1>             deflect_on_drop;
    bit<3>             ingress_cos;
    QueueId_t          qid;                   // queue of the egress port
    bit<3>             icos_for_copy_to_cpu;
    bit<1>             copy_to_cpu;
    bit<2>             packet_color;
    bit<1>             disable_ucast_cutthru;
    bit<1>             enable_mcast_cutthru;
    MulticastGroupId_t mcast_grp_a;           // copies for every node of this group,
    MulticastGroupId_t mcast_grp_b;           // and of this one
    bit<13>            level1_mcast_hash;     // picks a node of an ECMP group
    bit<13>            level2_mcast_hash;     // picks a port of a LAG
    L1ExclusionId_t    level1_exclusion_id;   // nodes with this id make no copy
    L2ExclusionId_t    level2_exclusion_id;   // neither do the ports in this list,
    bit<16>            rid;                   // at nodes with this replication id
}

@__intrinsic_metadata
struct ingress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;        // nanoseconds, on entry to ingress
    bit<32> global_ver;
    bit<16> parser_err;           // a program that reads it gets packets with errors, too
}

@__intrinsic_metadata
struct ingress_intrinsic_metadata_for_deparser_t {
    bit<3>         drop_ctl;      // bit 0: unicast, multicast, resubmission; 1: copy to CPU; 2: mirror
    DigestType_t   digest_type;
    ResubmitType_t resubmit_type;
    MirrorType_t   mirror_type;
#ifdef _T2NA_P4_
    bit<1>         mirror_io_select;        // 0: the packet as it came, 1: as it leaves
    bit<13>        mirror_hash;             // from here to the length: in place of what the session says
    bit<3>         mirror_ingress_cos;
    bit<1>         mirror_deflect_on_drop;
    bit<1>         mirror_multicast_ctrl;
    PortId_t       mirror_egress_port;
    QueueId_t      mirror_qid;
    bit<8>         mirror_coalesce_length;  // in words of four bytes
    bit<32>        adv_flow_ctl;
    bit<14>        mtu_trunc_len;
    bit<1>         mtu_trunc_err_f;
    bit<1>         pktgen;                  // 1: the packet triggers the packet generator
    bit<14>        pktgen_address;          // of what it sends, in its buffer
    bit<10>        pktgen_length;
#endif
}

// In front of every packet that comes to an egress parser.
@__intrinsic_metadata
header egress_intrinsic_metadata_t {
    @padding bit<7> _pad0;
    PortId_t  egress_port;
    @padding bit<5> _pad1;
    bit<19>   enq_qdepth;             // cells of 80 bytes in the queue when the packet came
    @padding bit<6> _pad2;
    bit<2>    enq_congest_stat;
#ifdef _T2NA_P4_
    bit<32>   enq_tstamp;
#else
    @padding bit<14> _pad3;
    bit<18>   enq_tstamp;             // nanoseconds
#endif
    @padding bit<5> _pad4;
    bit<19>   deq_qdepth;             // when it left
    @padding bit<6> _pad5;
    bit<2>    deq_congest_stat;
    bit<8>    app_pool_congest_stat;
#ifdef _T2NA_P4_
    bit<32>   deq_timedelta;
#else
    @padding bit<14> _pad6;
    bit<18>   deq_timedelta;          // nanoseconds in the queue
#endif
    bit<16>   egress_rid;             // of the multicast node that made the copy
    @padding bit<7> _pad7;
    bit<1>    egress_rid_first;       // 1: the first copy of that node
    @padding bit<(8 - QUEUE_ID_WIDTH)> _pad8;
    QueueId_t egress_qid;
    @padding bit<5> _pad9;
    bit<3>    egress_cos;
    @padding bit<7> _pad10;
    bit<1>    deflection_flag;
    bit<16>   pkt_length;             // bytes as received, with the 4 of the checksum
#ifdef _T2NA_P4_
    @padding bit<8> _pad11;
#endif
}

@__intrinsic_metadata
struct egress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;
    bit<32> global_ver;
    bit<16> parser_err;
}

@__intrinsic_metadata
struct egress_intrinsic_metadata_for_deparser_t {
    bit<3>       drop_ctl;            // bit 0: the packet; bit 2: its mirror
    MirrorType_t mirror_type;
    bit<1>       coalesce_flush;
    bit<7>       coalesce_length;     // in words of four bytes
#ifdef _T2NA_P4_
    bit<1>         mirror_io_select;        // 0: the packet as it came, 1: as it leaves
    bit<13>        mirror_hash;             // from here to the length: in place of what the session says
    bit<3>         mirror_ingress_cos;
    bit<1>         mirror_deflect_on_drop;
    bit<1>         mirror_multicast_ctrl;
    PortId_t       mirror_egress_port;
    QueueId_t      mirror_qid;
    bit<8>         mirror_coalesce_length;  // in words of four bytes
    bit<32>        adv_flow_ctl;
    bit<14>        mtu_trunc_len;
    bit<1>         mtu_trunc_err_f;
#endif
}

@__intrinsic_metadata
struct egress_intrinsic_metadata_for_output_port_t {
    bit<1> capture_tstamp_on_tx;
    bit<1> update_delay_on_tx;
}

// In front of packets from the packet generator, one for each kind of trigger.
header pktgen_timer_header_t {
    @padding bit<PKTGEN_PAD_WIDTH> _pad1;
    bit<2>  pipe_id;
    bit<PKTGEN_APP_ID_WIDTH> app_id;
    @padding bit<8> _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}

header pktgen_port_down_header_t {
    @padding bit<PKTGEN_PAD_WIDTH> _pad1;
    bit<2>   pipe_id;
    bit<PKTGEN_APP_ID_WIDTH> app_id;
    @padding bit<15> _pad2;
    PortId_t port_num;
    bit<16>  packet_id;
}

header pktgen_recirc_header_t {
    @padding bit<PKTGEN_PAD_WIDTH> _pad1;
    bit<2>  pipe_id;
    bit<PKTGEN_APP_ID_WIDTH> app_id;
#ifdef _T2NA_P4_
    @padding bit<8> _pad2;
    bit<16> batch_id;
#else
    bit<24> key;
#endif
    bit<16> packet_id;
}

#ifdef _T2NA_P4_
// 16 bytes that the triggering packet gave its `Pktgen` are after this one.
header pktgen_deparser_header_t {
    @padding bit<2> _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding bit<8> _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}

header pktgen_pfc_header_t {
    @padding bit<2> _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding bit<40> _pad2;
}
#endif

header ptp_metadata_t {
    bit<8>  udp_cksum_byte_offset;
    bit<8>  cf_byte_offset;
    bit<48> updated_cf;
}

// ---- Externs of parsers ----------------------------------------------------------------------------

// The ones' complement sum of 16 bits (RFC 1071).
extern Checksum {
    Checksum();
    void add<T>(in T data);
    void subtract<T>(in T data);
    // True if the sum is wrong.
    bool verify();
    // Takes away what was read so far and gives what the rest of the packet adds.
    void subtract_all_and_deposit<T>(out T residual);
    bit<16> get();
    // In a deparser: the checksum of the data. With zeros_as_ones a 0 becomes 0xffff (UDP).
    bit<16> update<T>(in T data, @optional in bool zeros_as_ones);
}

// Counts rounds of a parser's loop.
extern ParserCounter {
    ParserCounter();
    void set<T>(in T value);
    // Takes the field, turned right by `rotate`, of that `mask` + 1 low bits, and adds `add`.
#ifdef _T2NA_P4_
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<8> mask, in bit<8> add);
    // There are four more places below it; the counter that was there comes back with `pop`.
    void push<T>(in T value, @optional in bool update_with_top);
    void push<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<8> mask, in bit<8> add,
                 @optional in bool update_with_top);
    void pop();
#else
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<3> mask, in bit<8> add);
#endif
    bool is_zero();
    bool is_negative();
    void increment(in bit<8> value);
    void decrement(in bit<8> value);
}

extern ParserPriority {
    ParserPriority();
    void set(in bit<3> prio);
}

// Reads what the control plane says of the ingress port.
extern T port_metadata_unpack<T>(packet_in pkt);

// ---- Externs of the match-action stages ------------------------------------------------------------

// The coefficient lacks the highest term. `reversed`: bits of bytes and result from the lowest.
extern CRCPolynomial<T> {
    CRCPolynomial(T coeff, bool reversed, bool msb, bool extended, T init, T xor);
}

extern Hash<W> {
    Hash(HashAlgorithm_t algo);
    Hash(HashAlgorithm_t algo, CRCPolynomial<_> poly);
    W get<D>(in D data);
}

extern Random<W> {
    Random();
    W get();
}

extern T max<T>(in T t1, in T t2);
extern T min<T>(in T t1, in T t2);
// The low half of src1 ++ src2 after a shift to the right.
extern void funnel_shift_right<T>(inout T dst, in T src1, in T src2, int shift_amount);

// As if nobody had written the field.
extern void invalidate<T>(in T field);
extern bool is_validated<T>(in T field);

extern bit<32> sizeInBits<H>(in H h);
extern bit<32> sizeInBytes<H>(in H h);

// With true egress accounting, bytes are those that leave egress.
extern Counter<W, I> {
#ifdef _T2NA_P4_
    Counter(bit<32> size, CounterType_t type, @optional bool true_egress_accounting);
#else
    Counter(bit<32> size, CounterType_t type);
#endif
    void count(in I index, @optional in bit<32> adjust_byte_count);
}

extern DirectCounter<W> {
#ifdef _T2NA_P4_
    DirectCounter(CounterType_t type, @optional bool true_egress_accounting);
#else
    DirectCounter(CounterType_t type);
#endif
    void count(@optional in bit<32> adjust_byte_count);
}

extern Meter<I> {
#ifdef _T2NA_P4_
    Meter(bit<32> size, MeterType_t type, @optional bool true_egress_accounting);
    Meter(bit<32> size, MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green,
          @optional bool true_egress_accounting);
#else
    Meter(bit<32> size, MeterType_t type);
    Meter(bit<32> size, MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green);
#endif
    bit<8> execute(in I index, in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(in I index, @optional in bit<32> adjust_byte_count);
}

extern DirectMeter {
#ifdef _T2NA_P4_
    DirectMeter(MeterType_t type, @optional bool true_egress_accounting);
    DirectMeter(MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green,
                @optional bool true_egress_accounting);
#else
    DirectMeter(MeterType_t type);
    DirectMeter(MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green);
#endif
    bit<8> execute(in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(@optional in bit<32> adjust_byte_count);
}

// A low-pass filter: a mean over time.
extern Lpf<T, I> {
    Lpf(bit<32> size);
    T execute(in T val, in I index);
}

extern DirectLpf<T> {
    DirectLpf();
    T execute(in T val);
}

// Weighted random early detection: one of two values, by chance, the second less often the larger `val`.
extern Wred<T, I> {
    Wred(bit<32> size, bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val, in I index);
}

extern DirectWred<T> {
    DirectWred(bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val);
}

extern Register<T, I> {
    Register(bit<32> size);
    Register(bit<32> size, T initial_value);
    T read(in I index);
    T write(in I index, in T value);
}

extern DirectRegister<T> {
    DirectRegister();
    DirectRegister(T initial_value);
    T read();
    T write(in T value);
}

// A number that the control plane may change.
extern RegisterParam<T> {
    RegisterParam(T initial_value);
    T read();
}

extern MathUnit<T> {
    MathUnit(MathOp_t op, int factor);
    MathUnit(MathOp_t op, int A, int B);
    MathUnit(bool invert, int<2> shift, int<6> scale,
             tuple<bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>,
                   bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>> data);
    T execute(in T x);
}

// Reads one cell, changes it by `apply` and writes it back, with no packet in between.
extern RegisterAction<T, I, U> {
    RegisterAction(Register<_, _> reg);
    U execute(in I index);
    // At the next index, counted over all packets.
    U execute_log();
    @synchronous(execute, execute_log)
    abstract void apply(inout T value, @optional out U rv);
    U predicate(@optional in bool cmplo, @optional in bool cmphi);
}

extern DirectRegisterAction<T, U> {
    DirectRegisterAction(DirectRegister<T> reg);
    U execute();
    @synchronous(execute)
    abstract void apply(inout T value, @optional out U rv);
    U predicate(@optional in bool cmplo, @optional in bool cmphi);
}

extern ActionProfile {
    ActionProfile(bit<32> size);
}

extern ActionSelector {
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode,
                   bit<32> max_group_size, bit<32> num_groups);
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode,
                   Register<bit<1>, _> reg, bit<32> max_group_size, bit<32> num_groups);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode, Register<bit<1>, _> reg);
}

extern SelectorAction {
    SelectorAction(ActionSelector sel);
    bit<1> execute(@optional in bit<32> index);
    @synchronous(execute)
    abstract void apply(inout bit<1> value, @optional out bit<1> rv);
}

// ---- Externs of deparsers --------------------------------------------------------------------------

// A copy of the packet goes where the session says, behind a header of up to 32 bytes.
extern Mirror {
    Mirror();
    Mirror(MirrorType_t mirror_type);
    void emit(in MirrorId_t session_id);
    void emit<T>(in MirrorId_t session_id, in T hdr);
}

// The packet as it came in goes through ingress once more, with 8 bytes of data.
extern Resubmit {
    Resubmit();
    Resubmit(ResubmitType_t resubmit_type);
    void emit();
    void emit<T>(in T hdr);
}

#ifdef _T2NA_P4_
// Triggers the packet generator, with data for the packets that it sends.
extern Pktgen {
    Pktgen();
    void emit<T>(in T hdr);
}
#endif

// Data for the control plane.
extern Digest<T> {
    Digest();
    Digest(DigestType_t digest_type);
    void pack(in T data);
}

extern Atcam {
    Atcam(@optional bit<32> number_partitions);
}

extern Alpm {
    Alpm(@optional bit<32> number_partitions, @optional bit<32> subtrees_per_partition,
         @optional bit<32> atcam_subset_width, @optional bit<32> shift_granularity);
}

#endif
