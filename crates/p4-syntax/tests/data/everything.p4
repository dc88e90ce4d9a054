// Every construct of the grammar once, whether or not it makes sense.
#define WRAP(a, b) a ## b
#define TEXT(x) #x
#if defined(WRAP) && !defined(NONE) || 0x10 > (3 << 1)
error { A, B }
#else
this is skipped
#endif
match_kind { m, n, }
typedef bit<8> T;
type T N;
typedef struct S0 { T f; } S1;
enum Plain { a, b, }
enum bit<8> Ser { a = 1, b = 2 }
header H<X> { X f; @name("g") varbit<32> g; bit h; int<4> i; T s[3]; }
header_union U { H<T> a; H<N> b; }
struct S { H<T>[4] stack; tuple<T, bool> t; list<T> l; }
const T WRAP(k, 1) = 3 + 4 * 2 - -1 << 2 >> 1 & 7 | 8 ^ 9;
const string text = TEXT(a + "b") ++ "c";
extern void f<X>(in X x, T y = 3);
extern X g<X>();
extern E<X> { E(T size); @pure X get(in T i); abstract void on(inout X x); void m<Y>(Y y); }
extern Later;
action act(in T a, T b) { f(a); }
T twice<X>(in X x) { return x == 1 ? 2 : (bit<8>) 3s1; }
parser PT<H1>(packet_in p, out H1 h);
parser P(packet_in p, out H<T> h)(T ctor) {
    value_set<T>(4) vs;
    const T c = 1;
    T v = 2;
    E<T>(1) e;
    @s state start { T l = 1; { l = 2; } if (l == 1) { l = 3; } transition next; }
    state next {
        transition select(v, l) {
            (vs, 1 .. 2): accept;
            (1 &&& 2, _): next;
            _: reject;
        }
    }
    state none { }
}
control CT(inout H<T> h);
control C(inout H<T> h)(T ctor) {
    T v;
    action a() {}
    E<T>(1) e;
    @hidden table t {
        key = { h.f : exact @name("f"); h.g[3:0] : m; }
        actions = { a; @tableonly act(v); .act(_, 3); }
        const entries = { const priority = 10: (1, 2 &&& 3) : a; (_, 1 .. 2) : act(1, 2) @x; }
        size = 4;
    }
    apply @noWarn("x") {
        v = 1; v += 2; v |+|= 3; v >>= 1; v[3:0] = 1; v[1 +: 2] = 1;
        switch (t.apply().action_run) { a: act: { v = 1; } default: { exit; } }
        switch (v) { 1: {} Ser.a: { v = f<T>(g<T>()); } }
        for (T i = 0, T j = 1; i < 4 && !(j >= 2); i = i + 1, j -= 1) { if (i != j) continue; else break; }
        @unroll for (T i in 1 .. 3) h.f = ~i;
        h = {#}; h = { 1, ... }; h = { f = 1, g = { 2, 3 }, };
        h.s.push_front(1);
        v = h.s[v].x ++ error.A;
    }
}
package Pk<X>(PT<X> p, CT c, @optional T n = 3);
@top(1, "x") @kv[k = 1] @list[1, 2] E<T>(5) instance;
@pragma pin 1 two
E<T>(size = 5) with_body = { void on(inout T x) { x = this.get(1); } };
Pk(P(1), C(2), _) main;;
