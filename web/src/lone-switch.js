// One switch with a host at each of four ports, and empty tables: enough to see what a whole program
// does with a packet.

const PORTS = [0, 1, 2, 3];
const PICOSECONDS = 1e12; // of a second

const ETHERNET = "020000000001 020000000002 0800";
const IPV4 = "45000021 00000000 4011 66ca 0a000001 0a000002"; // UDP, 33 bytes
const UDP = "03e8 07d0 000d 0000 68656c6c6f";

export const loneSwitch = {
  switches: [{ name: "s1", seed: 1, cpu_port: null, entries: [] }],
  hosts: PORTS.map((port) => ({ name: `h${port}`, mac: `0200000000${port}0` })),
  links: PORTS.map((port) => ({ a: ["s1", port], b: [`h${port}`, 0], rate: null, delay: 0 })),
  frames: [{ host: "h1", time: 0, data: `${ETHERNET}${IPV4}${UDP}`.replace(/ /g, "") }],
  until: PICOSECONDS,
};
