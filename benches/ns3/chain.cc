// UDP through a chain of routers in ns-3: what `./lab bench scale` puts beside the same chain of ours.
//
//   chain ROUTERS PACKETS FRAME_BYTES GAP_NANOSECONDS
//
// A host, so many routers with static routes, a host, joined by links of 10 Gb/s and 1 us. As lean as
// ns-3 can be: no checksums (its default), no queue discs, no routing protocol, no trace, addresses
// resolved by point-to-point links. Prints the packets that arrived and the processor seconds of the run.

#include <ctime>
#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

// Point-to-point protocol, IPv4 and UDP in front of the payload
const uint32_t HEADERS = 2 + 20 + 8;
const uint16_t PORT = 5004;

double
ProcessorSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 5)
    {
        std::cerr << "chain ROUTERS PACKETS FRAME_BYTES GAP_NANOSECONDS\n";
        return 2;
    }
    const uint32_t routers = std::stoul(argv[1]);
    const uint32_t packets = std::stoul(argv[2]);
    const uint32_t frame = std::stoul(argv[3]);
    const uint64_t gap = std::stoull(argv[4]);

    // As our packets: no chain is longer than they live
    Config::SetDefault("ns3::Ipv4L3Protocol::DefaultTtl", UintegerValue(255));

    NodeContainer nodes;
    nodes.Create(routers + 2);

    PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    cable.SetChannelAttribute("Delay", StringValue("1us"));
    cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));

    Ipv4StaticRoutingHelper routing;
    InternetStackHelper internet;
    internet.SetRoutingHelper(routing);
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);

    TrafficControlHelper queueDiscs;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4Address sink;
    for (uint32_t node = 0; node <= routers; node++)
    {
        NetDeviceContainer ends = cable.Install(nodes.Get(node), nodes.Get(node + 1));
        Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
        queueDiscs.Uninstall(ends);
        addresses.NewNetwork();
        sink = interfaces.GetAddress(1);
        // The next hop of all that is not here: the far end of this cable
        Ptr<Ipv4> ip = nodes.Get(node)->GetObject<Ipv4>();
        const uint32_t out = ip->GetInterfaceForDevice(ends.Get(0));
        routing.GetStaticRouting(ip)->SetDefaultRoute(sink, out);
    }

    UdpServerHelper receiver(PORT);
    ApplicationContainer receivers = receiver.Install(nodes.Get(routers + 1));
    receivers.Start(Seconds(0));

    UdpClientHelper sender(sink, PORT);
    sender.SetAttribute("MaxPackets", UintegerValue(packets));
    sender.SetAttribute("Interval", TimeValue(NanoSeconds(gap)));
    sender.SetAttribute("PacketSize", UintegerValue(frame - HEADERS));
    sender.Install(nodes.Get(0)).Start(Seconds(0));

    const double start = ProcessorSeconds();
    Simulator::Run();
    const double seconds = ProcessorSeconds() - start;
    std::cout << receivers.Get(0)->GetObject<UdpServer>()->GetReceived() << " " << seconds << "\n";
    Simulator::Destroy();
    return 0;
}
