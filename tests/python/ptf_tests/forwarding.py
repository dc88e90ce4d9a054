"""A PTF test as the field writes them: entries over P4Runtime, packets through the data plane."""

import queue
import threading

import grpc
import ptf
import ptf.testutils as tu
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc
from ptf.base_tests import BaseTest


class ForwardingTest(BaseTest):
    """Packets for a known address leave by its port, others are dropped."""

    def setUp(self):
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        info = p4info_pb2.P4Info()
        with open(tu.test_param_get("p4info")) as file:
            text_format.Parse(file.read(), info)
        self.ids = {}
        for kind in (info.tables, info.actions):
            self.ids.update((item.preamble.name, item.preamble.id) for item in kind)
        self.channel = grpc.insecure_channel(tu.test_param_get("grpcaddr"))
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests = queue.Queue()
        self.stream = self.stub.StreamChannel(iter(self.requests.get, None))
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = 0
        request.arbitration.election_id.low = 1
        self.requests.put(request)
        answer = next(self.stream)
        assert answer.arbitration.status.code == 0, answer
        self.reader = threading.Thread(target=self.drain, daemon=True)
        self.reader.start()
        config = p4runtime_pb2.SetForwardingPipelineConfigRequest(device_id=0)
        config.election_id.low = 1
        config.action = config.VERIFY_AND_COMMIT
        config.config.p4info.CopyFrom(info)
        self.stub.SetForwardingPipelineConfig(config)

    def drain(self):
        try:
            for _ in self.stream:
                pass
        except grpc.RpcError:
            return  # the channel was closed

    def tearDown(self):
        self.requests.put(None)
        self.channel.close()

    def write(self, table, action, params, **entry):
        request = p4runtime_pb2.WriteRequest(device_id=0)
        request.election_id.low = 1
        update = request.updates.add(type=p4runtime_pb2.Update.MODIFY)
        if "dst" in entry:
            update.type = p4runtime_pb2.Update.INSERT
            match = update.entity.table_entry.match.add(field_id=1)
            match.exact.value = entry["dst"]
        else:
            update.entity.table_entry.is_default_action = True
        update.entity.table_entry.table_id = self.ids[table]
        call = update.entity.table_entry.action.action
        call.action_id = self.ids[action]
        for number, value in enumerate(params, 1):
            call.params.add(param_id=number, value=value)
        self.stub.Write(request)

    def runTest(self):
        self.write("I.l2", "I.drop", [])
        self.write("I.l2", "I.forward", [b"\x02"], dst=b"\x05")
        known = tu.simple_tcp_packet(eth_dst="00:00:00:00:00:05")
        unknown = tu.simple_tcp_packet(eth_dst="00:00:00:00:00:06")
        tu.send_packet(self, 1, known)
        tu.verify_packet(self, known, 2)
        tu.send_packet(self, 1, unknown)
        tu.verify_no_other_packets(self)
