-- The protection header of 1+1 protection (IP protocol 253, p4/protect) for Wireshark and tshark.
--
--   tshark -X lua_script:wireshark/protect.lua -r capture.pcapng -V
--
-- or copy this file to the personal Lua plugins folder (Help > About > Folders). To follow one packet
-- on both of its paths, filter for its number:
--
--   p4protect.cid == 1 && p4protect.sn == 17
--
-- 253 is a number for experiments (RFC 3692), so others may use it, too: a header that announces
-- neither IPv4 nor IPv6 is marked. R-TAGs (IEEE 802.1CB) need no script: Wireshark knows them.

local protect = Proto("p4protect", "1+1 protection (P4-Protect)")

local HEADER_LENGTH = 8
local NEXT = { [4] = "IPv4", [41] = "IPv6" }
local PAYLOADS = { [4] = "ip", [41] = "ipv6" }

local field = {
    cid           = ProtoField.uint24("p4protect.cid", "Connection (CID)", base.DEC),
    sn            = ProtoField.uint32("p4protect.sn", "Sequence number (SN)", base.DEC),
    next_protocol = ProtoField.uint8("p4protect.next_protocol", "Next protocol", base.DEC, NEXT),
}
protect.fields = field

local expert_info = {
    short = ProtoExpert.new("p4protect.expert.short", "The protection header is cut short",
        expert.group.PROTOCOL, expert.severity.ERROR),
    next_protocol = ProtoExpert.new("p4protect.expert.next_protocol",
        "Neither IPv4 nor IPv6: the end of the tunnel drops the packet",
        expert.group.PROTOCOL, expert.severity.WARN),
}
protect.experts = expert_info

function protect.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "P4-Protect"
    pinfo.cols.info = "Damaged protection header"
    local tree = root:add(protect, tvb())
    if tvb:len() < HEADER_LENGTH then
        tree:add_proto_expert_info(expert_info.short)
        return
    end
    local cid, sn, next_protocol = tvb(0, 3):uint(), tvb(3, 4):uint(), tvb(7, 1):uint()
    local told = "CID " .. cid .. ", SN " .. sn
    tree:set_len(HEADER_LENGTH)
    tree:append_text(", " .. told)
    tree:add(field.cid, tvb(0, 3))
    tree:add(field.sn, tvb(3, 4))
    local next_item = tree:add(field.next_protocol, tvb(7, 1))
    if not NEXT[next_protocol] then next_item:add_proto_expert_info(expert_info.next_protocol) end

    pinfo.cols.info = NEXT[next_protocol] or ("protocol " .. next_protocol)
    if tvb:len() > HEADER_LENGTH then
        -- A malformed payload raises an error here after Wireshark has marked it in the tree.
        local payload = Dissector.get(PAYLOADS[next_protocol] or "data")
        pcall(payload.call, payload, tvb(HEADER_LENGTH):tvb(), pinfo, root)
    end
    pinfo.cols.protocol = "P4-Protect"
    pinfo.cols.info:prepend(told .. " | ")
end

DissectorTable.get("ip.proto"):add(253, protect)
