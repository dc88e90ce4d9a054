-- MSR6, multicast that carries its tree (IPv6 routing type 253, p4/msr6), for Wireshark and tshark.
--
--   tshark -X lua_script:wireshark/msr6.lua -r capture.pcapng -V
--
-- or copy this file to the personal Lua plugins folder (Help > About > Folders).
--
-- The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format. 253
-- is a number for experiments (RFC 4727), so others may use it, too: a destination that is no SID
-- is marked. Filters:
--
--   p4msr6.dst.node == 2       packets on their way to router 2
--   p4msr6.entry.host == 3     packets that carry host 3 in their list
--   p4msr6.bit == 5            packets for the fifth receiver of a set
--   p4msr6.expert              everything a router would refuse, and what only looks odd
--
-- Wireshark reads the first four bytes of the header and hands over the rest. It reads the packet
-- inside by itself.

local msr6 = Proto("p4msr6", "MSR6 (p4lab's profile)")

msr6.prefs.most_entries = Pref.uint("Longest list that a router reads", 16,
    "In entries of 16 bytes: 16 in the program for v1model, fewer in that for Tofino")

local END_RL, END_RLB, END_RGB, END_DT6 = 0x0100, 0x0200, 0x0300, 0x0600
local FUNCTIONS = {
    [END_RL] = "End.RL", [END_RLB] = "End.RLB", [END_RGB] = "End.RGB", [END_DT6] = "End.DT6",
}
local TASKS = {
    [END_RL] = "End.RL (TE: replicate by the list)",
    [END_RLB] = "End.RLB (TE with RLB: replicate by local bits)",
    [END_RGB] = "End.RGB (BE: replicate by a global bit string)",
    [END_DT6] = "End.DT6 (leaf: decapsulate)",
}
local NEXT_IPV6 = 41
local FIRST_HOST = 0x8000
local FIXED_LENGTH = 4
local SID_LENGTH = 16

-- The parts of a SID: once for the destination address, once for the entries of the list.
local function sid_fields(prefix)
    return {
        node     = ProtoField.uint16(prefix .. ".node", "Node", base.DEC),
        host     = ProtoField.uint16(prefix .. ".host", "Host", base.DEC, nil, 0x7FFF),
        func     = ProtoField.uint16(prefix .. ".function", "Function", base.HEX, TASKS),
        n        = ProtoField.uint8(prefix .. ".n", "Children (n)", base.DEC),
        bits     = ProtoField.uint16(prefix .. ".bits", "Local bits", base.HEX),
        pointer  = ProtoField.uint8(prefix .. ".pointer", "Pointer to the first child", base.DEC),
        si       = ProtoField.uint8(prefix .. ".si", "Set identifier (SI)", base.DEC),
        reserved = ProtoField.bytes(prefix .. ".reserved", "Reserved"),
    }
end

local of_destination, of_entry = sid_fields("p4msr6.dst"), sid_fields("p4msr6.entry")
local field = {
    last_entry  = ProtoField.uint8("p4msr6.last_entry", "Last Entry", base.DEC),
    flags       = ProtoField.uint8("p4msr6.flags", "Flags", base.HEX),
    tag         = ProtoField.uint16("p4msr6.tag", "Tag", base.HEX),
    destination = ProtoField.ipv6("p4msr6.dst", "Destination"),
    current     = ProtoField.uint8("p4msr6.current", "Current entry", base.DEC),
    child       = ProtoField.uint8("p4msr6.child", "Entry of a child", base.DEC),
    candidate   = ProtoField.uint8("p4msr6.candidate", "Entry of a child if a bit leads to it",
        base.DEC),
    entry       = ProtoField.ipv6("p4msr6.entry", "Entry"),
    bit_string  = ProtoField.bytes("p4msr6.bit_string", "BitString"),
    bit         = ProtoField.uint8("p4msr6.bit", "Bit", base.DEC),
    bfr_id      = ProtoField.uint16("p4msr6.bfr_id", "BFR-id", base.DEC),
    rest        = ProtoField.bytes("p4msr6.rest", "Not looked at"),
}

local all_fields = {}
for name, made in pairs(field) do all_fields[name] = made end
for name, made in pairs(of_destination) do all_fields["dst_" .. name] = made end
for name, made in pairs(of_entry) do all_fields["entry_" .. name] = made end
msr6.fields = all_fields

local ERROR, WARN, NOTE = expert.severity.ERROR, expert.severity.WARN, expert.severity.NOTE

local function problem(severity, name, text)
    return ProtoExpert.new("p4msr6.expert." .. name, text, expert.group.PROTOCOL, severity)
end

-- Errors are what a router gives the packet up for, named as in p4/msr6/headers.p4.
local expert_info = {
    time_exceeded = problem(ERROR, "time_exceeded",
        "The hop limit allows no copy: the sender gets one ICMPv6 error"),
    upper_layer   = problem(ERROR, "upper_layer",
        "What follows is not an IPv6 packet: leaves refuse it"),
    hdr_ext_len   = problem(ERROR, "hdr_ext_len", "An odd length: not a list of whole entries"),
    too_long      = problem(ERROR, "too_long", "More entries than a router reads"),
    last_entry    = problem(ERROR, "last_entry", "Last Entry is beyond the end of the header"),
    segments_left = problem(ERROR, "segments_left", "Segments Left does not fit"),
    no_copy       = problem(ERROR, "no_copy", "No child, no bit: there is nobody to copy to"),
    pointer       = problem(ERROR, "pointer",
        "The pointer is not below Segments Left: the packet could run in a loop"),
    too_many      = problem(ERROR, "too_many", "More children than entries from the pointer down"),
    transit       = problem(NOTE, "transit",
        "The pointer is not below Segments Left: refused if a bit leads to a router"),
    current       = problem(WARN, "current", "The entry at Segments Left is not the destination"),
    unknown       = problem(WARN, "function", "No node has this function"),
    no_sid        = problem(NOTE, "no_sid",
        "Not a SID of this profile: routers treat it as any address"),
    reserved      = problem(NOTE, "reserved", "Reserved bits should be 0"),
    cut_off       = problem(WARN, "cut_off",
        "The packet ends within the header, or its capture does"),
}
msr6.experts = expert_info

local function complain_if(condition, item, what)
    if condition then item:add_proto_expert_info(what) end
end

-- What Wireshark has read of this header, and of the IPv6 header in front of it.
local seen = {
    destination   = Field.new("ipv6.dst"),
    hop_limit     = Field.new("ipv6.hlim"),
    next_header   = Field.new("ipv6.routing.nxt"),
    segments_left = Field.new("ipv6.routing.segleft"),
}

-- The innermost of them so far: tunnels in tunnels have several. nil if there is none.
local function newest(what)
    local found = { seen[what]() }
    return found[#found]
end

-- The numbers of the bits that are set, lowest first. Bit 1 is the last bit on the wire.
local function set_bits(range)
    local found, width = {}, 8 * range:len()
    for bit = 1, width do
        if range:bitfield(width - bit, 1) == 1 then found[#found + 1] = bit end
    end
    return found
end

local function bits_in_words(bits)
    if #bits == 0 then return "no bit" end
    return (#bits == 1 and "bit " or "bits ") .. table.concat(bits, ", ")
end

local function same(one, other)
    return one:bytes() == other:bytes()
end

-- A SID is locator 64 | node 16 | function 16 | argument 32. nil if it has another locator.
local function read_sid(range)
    if range(0, 4):uint() ~= 0x5F000000 or range(4, 4):uint() ~= 0 then return nil end
    local sid = { range = range, node = range(8, 2):uint(), func = range(10, 2):uint() }
    if sid.func == END_RL then
        sid.n, sid.pointer, sid.reserved = range(12, 1):uint(), range(13, 1):uint(), range(14, 2)
    elseif sid.func == END_RLB then
        sid.bits, sid.pointer = set_bits(range(12, 2)), range(14, 1):uint()
        sid.reserved = range(15, 1)
    elseif sid.func == END_RGB then
        sid.si, sid.reserved = range(12, 1):uint(), range(13, 3)
    elseif sid.func == END_DT6 then
        sid.reserved = range(12, 4)
    end
    return sid
end

local function node_in_words(node)
    return node < FIRST_HOST and "router " .. node or "host " .. (node - FIRST_HOST)
end

local function sid_in_words(sid)
    local words = node_in_words(sid.node) .. ", " .. (FUNCTIONS[sid.func] or "unknown function")
    if sid.n == 1 then return words .. ": 1 child, entry " .. sid.pointer end
    local what = sid.n and sid.n .. " children" or sid.bits and bits_in_words(sid.bits)
    if what then return words .. ": " .. what .. ", entries from " .. sid.pointer .. " down" end
    return sid.si and words .. ": set " .. sid.si or words
end

-- What a node refuses in a SID when it gets the packet with this value of Segments Left.
local function judge_sid(sid, item, segments_left)
    if sid.n == 0 or sid.bits and #sid.bits == 0 then
        item:add_proto_expert_info(expert_info.no_copy)
    elseif sid.n and sid.pointer >= segments_left then
        item:add_proto_expert_info(expert_info.pointer)
    elseif sid.n and sid.n - 1 > sid.pointer then
        item:add_proto_expert_info(expert_info.too_many)
    elseif sid.bits and sid.pointer > 0 and sid.pointer >= segments_left then
        -- Only the node knows which bits lead to routers. A SID that needs no entry points at 0.
        item:add_proto_expert_info(expert_info.transit)
    end
end

local function dissect_sid(sid, item, fields)
    local range = sid.range
    local node_item = item:add(fields.node, range(8, 2))
    if sid.node >= FIRST_HOST then node_item:add(fields.host, range(8, 2)) end
    complain_if(not FUNCTIONS[sid.func], item:add(fields.func, range(10, 2)), expert_info.unknown)
    if sid.n then
        item:add(fields.n, range(12, 1))
        item:add(fields.pointer, range(13, 1))
    elseif sid.bits then
        item:add(fields.bits, range(12, 2)):append_text(" (" .. bits_in_words(sid.bits) .. ")")
        item:add(fields.pointer, range(14, 1))
    elseif sid.si then
        item:add(fields.si, range(12, 1))
    end
    if sid.reserved then
        local reserved_item = item:add(fields.reserved, sid.reserved)
        complain_if(#set_bits(sid.reserved) > 0, reserved_item, expert_info.reserved)
    end
end

-- Segments Left, whose meaning depends on what is to be done at the destination.
local function judge_segments_left(sid, item, header)
    local left = header.segments_left
    if left > header.last_entry + 1 then
        item:add_proto_expert_info(expert_info.segments_left, "Segments Left is beyond the list")
    elseif sid and sid.func == END_RGB and left == 0 then
        item:add_proto_expert_info(expert_info.segments_left,
            "Segments Left is 0, but copies are still to be made")
    elseif sid and sid.func == END_DT6 and left ~= 0 then
        item:add_proto_expert_info(expert_info.segments_left,
            "Segments Left is not 0 at a leaf: P4 routers refuse that, Linux hosts do not look")
    end
end

-- Where the packet goes, and what is to be done there. Returns its SID, nil if it is not one.
local function dissect_destination(tree, header)
    local found = newest("destination")
    if not found then return nil end -- Wireshark looks for this header behind IPv4, too
    local item = tree:add(field.destination, found.range)
    item:set_generated()
    local sid = read_sid(found.range)
    judge_segments_left(sid, item, header)
    if not sid then
        item:add_proto_expert_info(expert_info.no_sid)
        return nil
    end
    item:append_text(" (" .. sid_in_words(sid) .. ")")
    dissect_sid(sid, item, of_destination)
    judge_sid(sid, item, header.segments_left)
    complain_if(header.next_header ~= NEXT_IPV6, item, expert_info.upper_layer)
    complain_if(sid.func ~= END_DT6 and newest("hop_limit").value <= 1, item,
        expert_info.time_exceeded)
    return sid
end

-- The receivers of BE. `si` is the set, nil where the packet does not say it. Returns them as text.
local function dissect_bit_string(range, tree, si)
    local bits = set_bits(range)
    local item = tree:add(field.bit_string, range)
    for _, bit in ipairs(bits) do
        local byte = range(SID_LENGTH - math.ceil(bit / 8), 1)
        local bit_item = item:add(field.bit, byte, bit)
        if si then bit_item:add(field.bfr_id, byte, 128 * si + bit):set_generated() end
    end
    complain_if(#bits == 0, item, expert_info.no_copy)
    item:append_text(" (" .. bits_in_words(bits) .. ")")
    return bits_in_words(bits)
end

-- The entry that the destination address has been copied from; nil if it comes from elsewhere: at
-- the root of a tree, and at a leaf that a router knows by itself.
local function current_entry(sid, entries, segments_left)
    local pointed = entries[segments_left]
    if pointed and same(pointed, sid.range) then return segments_left end
    if sid.func ~= END_DT6 then return nil end
    for index, range in pairs(entries) do
        if same(range, sid.range) then return index end
    end
end

-- The entries that a node makes copies for, the first one first. Which of its bits need an entry,
-- only the node knows: with RLB there may be fewer.
local function children_of(sid, entries)
    local found = {}
    local most = sid.n or sid.bits and #sid.bits or 0
    local first = sid.pointer or 0
    for index = first, math.max(0, first - most + 1), -1 do
        if #found < most and entries[index] and read_sid(entries[index]) then
            found[#found + 1] = index
        end
    end
    return found
end

-- What the entries are to the node that the packet goes to, as text by index.
local function dissect_roles(sid, entries, header, tree)
    local roles = {}
    for _, index in ipairs(children_of(sid, entries)) do
        roles[index] = sid.n and "a child" or "a child if a bit leads to it"
        local item = tree:add(sid.n and field.child or field.candidate, entries[index], index)
        item:append_text(" (" .. node_in_words(read_sid(entries[index]).node) .. ")")
        item:set_generated()
    end
    local current = current_entry(sid, entries, header.segments_left)
    if current then
        roles[current] = "the destination"
        tree:add(field.current, entries[current], current):set_generated()
    end
    complain_if(sid.pointer and not current and header.segments_left <= header.last_entry, tree,
        expert_info.current)
    return roles
end

local function dissect_entry(index, range, tree, role)
    local item = tree:add(field.entry, range)
    item:set_text("Entry " .. index .. ": " .. tostring(range:ipv6()))
    local sid = read_sid(range)
    if sid then
        item:append_text(" (" .. sid_in_words(sid) .. ")")
        dissect_sid(sid, item, of_entry)
        judge_sid(sid, item, index) -- Segments Left has this value when it is the destination
    elseif #set_bits(range) > 0 then
        item:add_proto_expert_info(expert_info.no_sid)
    else
        item:append_text(" (filling)")
    end
    if role then item:append_text(" <- " .. role) end
end

-- Of BE the only entry is a BitString. Its leaves get it, too: nothing tells them that it is one,
-- but it does not look like a SID.
local function is_bit_string(sid, entries)
    if not entries[0] then return false end
    if sid.func == END_RGB then return true end
    local alone = sid.func == END_DT6 and not entries[1]
    return alone and not read_sid(entries[0]) and #set_bits(entries[0]) > 0
end

-- The entries by index, as ranges of bytes; how many are there; and where the last one should end.
local function read_list(tvb, header)
    local whole = math.min(header.last_entry + 1, math.floor(header.ext_len / 2))
    local captured = math.min(whole, math.floor((tvb:len() - FIXED_LENGTH) / SID_LENGTH))
    local entries = {}
    for index = 0, captured - 1 do
        entries[index] = tvb(FIXED_LENGTH + SID_LENGTH * index, SID_LENGTH)
    end
    return entries, captured, FIXED_LENGTH + SID_LENGTH * whole
end

-- Returns in words what is to be done at the destination.
local function dissect_list(tvb, tree, header, sid)
    local entries, count, rest = read_list(tvb, header)
    local words = sid and "To " .. sid_in_words(sid) or "Not to a SID"
    local roles = sid and dissect_roles(sid, entries, header, tree) or {}
    local lowest = 0
    if sid and is_bit_string(sid, entries) then
        words = words .. ": " .. dissect_bit_string(entries[0], tree, sid.si)
        lowest = 1
    end
    for index = count - 1, lowest, -1 do -- a tree reads from the highest index down
        dissect_entry(index, entries[index], tree, roles[index])
    end
    if tvb:len() > rest then tree:add(field.rest, tvb(rest)) end
    return words
end

local function dissect_fixed_part(tvb, tree, header)
    local last_item = tree:add(field.last_entry, tvb(0, 1))
    local flags_item = tree:add(field.flags, tvb(1, 1))
    local tag_item = tree:add(field.tag, tvb(2, 2))
    local odd = header.ext_len % 2 == 1
    local too_long = header.ext_len > 2 * msr6.prefs.most_entries
    complain_if(odd, tree, expert_info.hdr_ext_len)
    complain_if(too_long and not odd, tree, expert_info.too_long)
    complain_if(header.last_entry > math.floor(header.ext_len / 2) - 1, last_item,
        expert_info.last_entry)
    complain_if(tvb(1, 1):uint() ~= 0, flags_item, expert_info.reserved)
    complain_if(tvb(2, 2):uint() ~= 0, tag_item, expert_info.reserved)
end

function msr6.dissector(tvb, pinfo, root)
    local tree = root:add(msr6, tvb())
    complain_if(tvb:len() < tvb:reported_len(), tree, expert_info.cut_off)
    if tvb:len() < FIXED_LENGTH then return end
    local header = {
        -- In units of 8 bytes, without the first 8. Wireshark has read 4 of those.
        ext_len = (tvb:reported_len() - FIXED_LENGTH) / 8,
        next_header = newest("next_header").value,
        segments_left = newest("segments_left").value,
        last_entry = tvb(0, 1):uint(),
    }
    dissect_fixed_part(tvb, tree, header)
    local sid = dissect_destination(tree, header)
    local words = dissect_list(tvb, tree, header, sid)
    tree:append_text(". " .. words)

    -- The packet inside writes behind the fence.
    pinfo.cols.protocol = "MSR6/"
    pinfo.cols.protocol:fence()
    pinfo.cols.info = words .. " | "
    pinfo.cols.info:fence()
end

DissectorTable.get("ipv6.routing.type"):add(253, msr6)
