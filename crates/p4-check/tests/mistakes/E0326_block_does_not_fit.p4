struct headers_t { }
struct meta_t { }
control Ingress<H, M>(inout H hdr, inout M meta, in bit<9> port);
package Switch<H, M>(Ingress<H, M> ingress);
control MyIngress(inout headers_t hdr, inout meta_t meta, inout bit<9> port) { apply { } }
control Short(inout headers_t hdr) { apply { } }
Switch(MyIngress()) main;
Switch(Short()) other;
