-- BIER over Ethernet (RFC 8296, EtherType 0xAB37) for Wireshark and tshark.
--
--   tshark -X lua_script:wireshark/bier.lua -r capture.pcapng -V
--
-- or copy this file to the personal Lua plugins folder (Help > About > Folders). Filters start with
-- "bier8296", because newer versions of Wireshark have a "bier" of their own:
--
--   bier8296.bit == 3          receivers by bit
--   bier8296.bfr_id == 67      receivers by BFR-id
--   bier8296.expert            everything a router would complain about

local bier = Proto("bier8296", "BIER over Ethernet (RFC 8296)")

-- The length of the BitString follows from the BIFT-id (RFC 8296, section 2.1.2: a BFR must not
-- infer it from the BSL field). Which BIFT-id means what is a matter of configuration; with the
-- static mapping it says BSL code, sub-domain and SI in 4, 8 and 8 bits.
bier.prefs.static_bift_ids = Pref.bool("BIFT-ids follow the static mapping (BSL 4, SD 8, SI 8 bits)",
    true, "Take the BitString's length from the BIFT-id instead of the BSL field")

local PROTOS = {
    [1] = "MPLS, downstream-assigned label", [2] = "MPLS, upstream-assigned label", [3] = "Ethernet",
    [4] = "IPv4", [5] = "OAM", [6] = "IPv6", [7] = "VXLAN", [8] = "NVGRE", [9] = "GENEVE",
}
local BSL_BITS = { [1] = 64, [2] = 128, [3] = 256, [4] = 512, [5] = 1024, [6] = 2048, [7] = 4096 }
local BSL_NAMES = {}
for code, bits in pairs(BSL_BITS) do BSL_NAMES[code] = bits .. " bits" end

local HEADER_LENGTH = 12

local field = {
    bift_id    = ProtoField.uint32("bier8296.bift_id", "BIFT-id", base.HEX, nil, 0xFFFFF000),
    sub_domain = ProtoField.uint8("bier8296.sub_domain", "Sub-domain", base.DEC),
    si         = ProtoField.uint8("bier8296.si", "Set identifier (SI)", base.DEC),
    tc         = ProtoField.uint32("bier8296.tc", "Traffic class", base.DEC, nil, 0x00000E00),
    s          = ProtoField.uint32("bier8296.s", "S bit", base.DEC, nil, 0x00000100),
    ttl        = ProtoField.uint32("bier8296.ttl", "TTL", base.DEC, nil, 0x000000FF),
    nibble     = ProtoField.uint32("bier8296.nibble", "Nibble", base.HEX, nil, 0xF0000000),
    ver        = ProtoField.uint32("bier8296.ver", "Version", base.DEC, nil, 0x0F000000),
    bsl        = ProtoField.uint32("bier8296.bsl", "BSL", base.DEC, BSL_NAMES, 0x00F00000),
    entropy    = ProtoField.uint32("bier8296.entropy", "Entropy", base.HEX, nil, 0x000FFFFF),
    oam        = ProtoField.uint16("bier8296.oam", "OAM", base.DEC, nil, 0xC000),
    rsv        = ProtoField.uint16("bier8296.rsv", "Reserved", base.DEC, nil, 0x3000),
    dscp       = ProtoField.uint16("bier8296.dscp", "DSCP", base.DEC, nil, 0x0FC0),
    proto      = ProtoField.uint16("bier8296.proto", "Proto", base.DEC, PROTOS, 0x003F),
    bfir_id    = ProtoField.uint16("bier8296.bfir_id", "BFIR-id", base.DEC),
    bit_string = ProtoField.bytes("bier8296.bit_string", "BitString"),
    bit        = ProtoField.uint16("bier8296.bit", "Bit", base.DEC),
    bfr_id     = ProtoField.uint32("bier8296.bfr_id", "BFR-id", base.DEC),
}
bier.fields = field

local function problem(name, text, severity)
    return ProtoExpert.new("bier8296.expert." .. name, text, expert.group.PROTOCOL, severity)
end
local expert_info = {
    short        = problem("short", "The BIER header is cut short", expert.severity.ERROR),
    version      = problem("version", "Unknown version: routers must discard the packet", expert.severity.ERROR),
    bsl          = problem("bsl", "No BitString length has this code", expert.severity.ERROR),
    bsl_mismatch = problem("bsl_mismatch", "BSL field and BIFT-id disagree about the length of the BitString",
                           expert.severity.WARN),
    ttl          = problem("ttl", "The TTL has expired", expert.severity.WARN),
    proto        = problem("proto", "Reserved or unknown payload protocol", expert.severity.WARN),
    bfir_id      = problem("bfir_id", "0 is not a BFR-id", expert.severity.WARN),
    empty        = problem("empty", "The BitString addresses nobody", expert.severity.WARN),
    s            = problem("s", "The S bit should be 1 over Ethernet", expert.severity.NOTE),
    nibble       = problem("nibble", "The nibble should be 0 over Ethernet", expert.severity.NOTE),
    tc           = problem("tc", "The traffic class should be 0 over Ethernet", expert.severity.NOTE),
    rsv          = problem("rsv", "Reserved bits should be 0", expert.severity.NOTE),
}
bier.experts = expert_info

local function complain_if(condition, item, what)
    if condition then item:add_proto_expert_info(what) end
end

-- The first two words; returns the length of the BitString in bits (nil if unknown) and the SI.
local function dissect_bift_id_to_entropy(tvb, tree)
    local static = bier.prefs.static_bift_ids
    local bift_code, si = tvb(0):bitfield(0, 4), tvb(0):bitfield(12, 8)
    local bsl_code = tvb(0):bitfield(40, 4)

    local bift_item = tree:add(field.bift_id, tvb(0, 4))
    if static then
        bift_item:add(field.sub_domain, tvb(0, 2), tvb(0):bitfield(4, 8)):set_generated()
        bift_item:add(field.si, tvb(1, 2), si):set_generated()
    end
    complain_if(tvb(0):bitfield(20, 3) ~= 0, tree:add(field.tc, tvb(0, 4)), expert_info.tc)
    complain_if(tvb(0):bitfield(23, 1) ~= 1, tree:add(field.s, tvb(0, 4)), expert_info.s)
    complain_if(tvb(3, 1):uint() == 0, tree:add(field.ttl, tvb(0, 4)), expert_info.ttl)
    complain_if(tvb(0):bitfield(32, 4) ~= 0, tree:add(field.nibble, tvb(4, 4)), expert_info.nibble)
    complain_if(tvb(0):bitfield(36, 4) ~= 0, tree:add(field.ver, tvb(4, 4)), expert_info.version)
    local bsl_item = tree:add(field.bsl, tvb(4, 4))
    tree:add(field.entropy, tvb(4, 4))

    local code = bsl_code
    if static and BSL_BITS[bift_code] then
        code = bift_code
        complain_if(bsl_code ~= bift_code, bsl_item, expert_info.bsl_mismatch)
    end
    complain_if(not BSL_BITS[code], bsl_item, expert_info.bsl)
    return BSL_BITS[code], static and si or nil
end

-- The third word; returns the payload protocol.
local function dissect_oam_to_bfir_id(tvb, tree)
    local proto = tvb(0):bitfield(74, 6)
    tree:add(field.oam, tvb(8, 2))
    complain_if(tvb(0):bitfield(66, 2) ~= 0, tree:add(field.rsv, tvb(8, 2)), expert_info.rsv)
    tree:add(field.dscp, tvb(8, 2))
    complain_if(not PROTOS[proto], tree:add(field.proto, tvb(8, 2)), expert_info.proto)
    complain_if(tvb(10, 2):uint() == 0, tree:add(field.bfir_id, tvb(10, 2)), expert_info.bfir_id)
    return proto
end

-- The bits that are set, lowest first. Bit 1 is the last bit on the wire (RFC 8296, section 2.1.2).
local function set_bits(range, length)
    local found = {}
    for bit = 1, length do
        if range:bitfield(length - bit, 1) == 1 then found[#found + 1] = bit end
    end
    return found
end

-- Returns the receivers as text.
local function dissect_bit_string(tvb, tree, length, si)
    local range = tvb(HEADER_LENGTH, length / 8)
    local bits = set_bits(range, length)
    local item = tree:add(field.bit_string, range)
    for _, bit in ipairs(bits) do
        local byte = range(length / 8 - math.ceil(bit / 8), 1)
        local bit_item = item:add(field.bit, byte, bit)
        if si then bit_item:add(field.bfr_id, byte, si * length + bit):set_generated() end
    end
    complain_if(#bits == 0, item, expert_info.empty)
    local text = #bits == 0 and "nobody" or (#bits == 1 and "bit " or "bits ") .. table.concat(bits, ", ")
    item:append_text(" (" .. text .. ")")
    return text
end

local PAYLOADS = { [1] = "mpls", [2] = "mpls", [3] = "eth_withoutfcs", [4] = "ip", [6] = "ipv6" }

function bier.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "BIER"
    pinfo.cols.info = "Damaged BIER header"
    local tree = root:add(bier, tvb())
    if tvb:len() < HEADER_LENGTH then
        tree:add_proto_expert_info(expert_info.short)
        return
    end
    local length, si = dissect_bift_id_to_entropy(tvb, tree)
    local proto = dissect_oam_to_bfir_id(tvb, tree)
    if not length then return end
    local header_length = HEADER_LENGTH + length / 8
    if tvb:len() < header_length then
        tree:add_proto_expert_info(expert_info.short)
        return
    end
    local receivers = dissect_bit_string(tvb, tree, length, si)
    tree:set_len(header_length)
    tree:append_text(", TTL " .. tvb(3, 1):uint() .. ", to " .. receivers)
    pinfo.cols.info = PROTOS[proto] or ("proto " .. proto)

    if tvb:len() > header_length then
        -- A malformed payload raises an error here after Wireshark has marked it in the tree.
        local payload = Dissector.get(PAYLOADS[proto] or "data")
        pcall(payload.call, payload, tvb(header_length):tvb(), pinfo, root)
    end
    pinfo.cols.protocol = "BIER"
    pinfo.cols.info:prepend("To " .. receivers .. ", TTL " .. tvb(3, 1):uint() .. " | ")
end

DissectorTable.get("ethertype"):add(0xAB37, bier)
