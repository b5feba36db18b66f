"""Round trips with pika, paho-mqtt and nats-py, and one group that all three share.

Ports are in AMQP_PORT, MQTT_PORT and NATS_PORT. Each scenario is a coroutine and is bounded in time; a broken one never
stops the others. Ends with `N passed, N failed`; exit code 1 when something failed.
"""

import asyncio
import contextlib
import os
import queue
import sys
import threading
import traceback
import uuid

import nats
import nats.errors
import paho.mqtt.client as paho
import pika
import pika.exceptions
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

PATIENCE_S = 30
HOST = "127.0.0.1"
SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def unique(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


@contextlib.contextmanager
def amqp_channel():
    parameters = pika.ConnectionParameters(HOST, int(os.environ["AMQP_PORT"]), socket_timeout=PATIENCE_S)
    connection = pika.BlockingConnection(parameters)
    try:
        yield connection.channel()
    finally:
        if connection.is_open:
            connection.close()


class Mqtt:
    """A paho client with queues for what it gets; its network loop is a thread of its own."""

    def __init__(self, protocol=paho.MQTTv5, client_id=None, clean=True):
        v5 = protocol == paho.MQTTv5
        arguments = {} if v5 else {"clean_session": clean}
        self.client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, client_id or unique("paho"), protocol=protocol, **arguments
        )
        self.messages, self.events = queue.Queue(), queue.Queue()
        self.client.on_connect = lambda _c, _u, flags, reason, _p: self.events.put((reason, flags.session_present))
        self.client.on_subscribe = lambda _c, _u, _m, reasons, _p: self.events.put(reasons)
        self.client.on_message = lambda _c, _u, message: self.messages.put(message)
        options = {"clean_start": clean} if v5 else {}
        if v5 and not clean:
            options["properties"] = Properties(PacketTypes.CONNECT)
            options["properties"].SessionExpiryInterval = 600
        self.client.connect(HOST, int(os.environ["MQTT_PORT"]), keepalive=60, **options)
        self.client.loop_start()
        reason, self.session_present = self.events.get(timeout=PATIENCE_S)
        assert not reason.is_failure, reason

    def subscribe(self, topic, qos):
        self.client.subscribe(topic, qos)
        reasons = self.events.get(timeout=PATIENCE_S)
        assert [reason.value for reason in reasons] == [qos], reasons

    def publish(self, topic, payload, qos=1, **options):
        self.client.publish(topic, payload, qos, **options).wait_for_publish(PATIENCE_S)

    def next(self):
        return self.messages.get(timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.disconnect()
        self.client.loop_stop()


async def nats_client():
    async def quiet(_error):
        pass  # what goes wrong is raised where it is awaited

    server = f"nats://{HOST}:{os.environ['NATS_PORT']}"
    return await nats.connect(server, allow_reconnect=False, connect_timeout=PATIENCE_S, error_cb=quiet)


@scenario
async def pika_publishes_confirmed_and_consumes():
    with amqp_channel() as channel:
        channel.confirm_delivery()
        name = channel.queue_declare("", exclusive=True).method.queue
        properties = pika.BasicProperties(
            content_type="text/plain", headers={"number": 7, "text": "value"}, correlation_id="c", delivery_mode=2
        )
        channel.basic_publish("", name, b"hello", properties)
        method, received, body = next(channel.consume(name, inactivity_timeout=PATIENCE_S))
        assert body == b"hello" and received.headers == properties.headers, received
        assert received.content_type == "text/plain" and received.correlation_id == "c"
        channel.basic_ack(method.delivery_tag)
        channel.cancel()
        assert channel.queue_declare(name, passive=True).method.message_count == 0


@scenario
async def pika_sees_returns_and_redeliveries():
    with amqp_channel() as channel:
        channel.confirm_delivery()
        try:
            channel.basic_publish("", unique("nowhere"), b"lost", mandatory=True)
            raise AssertionError("an unroutable mandatory message was taken")
        except pika.exceptions.UnroutableError as error:
            assert error.messages[0].method.reply_code == 312
        name = channel.queue_declare("", exclusive=True).method.queue
        channel.basic_publish("", name, b"again")
        method, _, _ = channel.basic_get(name)
        channel.basic_nack(method.delivery_tag, requeue=True)
        method, _, body = channel.basic_get(name, auto_ack=True)
        assert method.redelivered and body == b"again"
        assert channel.basic_get(name) == (None, None, None)


@scenario
async def pika_survives_a_channel_error():
    with amqp_channel() as channel:
        other = channel.connection.channel()
        try:
            other.queue_declare(unique("missing"), passive=True)
            raise AssertionError("a missing queue was found")
        except pika.exceptions.ChannelClosedByBroker as error:
            assert error.reply_code == 404
        name = channel.queue_declare("", exclusive=True).method.queue
        channel.basic_publish("", name, b"alive")
        assert channel.basic_get(name, auto_ack=True)[2] == b"alive"


@scenario
async def paho_carries_each_qos_and_properties():
    for protocol in (paho.MQTTv5, paho.MQTTv311):
        topic = unique("paho")
        with Mqtt(protocol) as subscriber, Mqtt(protocol) as publisher:
            subscriber.subscribe(topic, 2)
            for qos in (0, 1, 2):
                publisher.publish(topic, f"qos {qos}", qos)
                message = subscriber.next()
                assert (message.payload, message.qos) == (f"qos {qos}".encode(), qos), message
            if protocol == paho.MQTTv5:
                properties = Properties(PacketTypes.PUBLISH)
                properties.UserProperty = [("a", "1"), ("a", "2")]
                properties.ContentType, properties.ResponseTopic = "text/plain", "answer/here"
                properties.CorrelationData = b"\x00\xff"
                publisher.publish(topic, "rich", properties=properties)
                received = subscriber.next().properties
                assert received.UserProperty == [("a", "1"), ("a", "2")], received
                assert received.ContentType == "text/plain" and received.CorrelationData == b"\x00\xff"


@scenario
async def paho_finds_retained_messages_and_its_session():
    topic, client_id = unique("kept"), unique("session")
    with Mqtt() as publisher:
        publisher.publish(topic, "retained", retain=True)
        with Mqtt(paho.MQTTv311, client_id, clean=False) as subscriber:
            assert not subscriber.session_present
            subscriber.subscribe(topic, 1)
            message = subscriber.next()
            assert message.retain and message.payload == b"retained"
        publisher.publish(topic, "missed")
        with Mqtt(paho.MQTTv311, client_id, clean=False) as subscriber:
            assert subscriber.session_present
            message = subscriber.next()
            assert message.payload == b"missed" and not message.retain
        publisher.publish(topic, "", retain=True)


@scenario
async def nats_py_carries_headers_and_requests():
    client = await nats_client()
    subject = unique("nats")
    subscription = await client.subscribe(subject)
    await client.publish(subject, b"body", headers={"Trace": "abc"})
    message = await subscription.next_msg(PATIENCE_S)
    assert (message.data, message.headers) == (b"body", {"Trace": "abc"}), message

    async def answer(request):
        await request.respond(request.data + b"!")

    await client.subscribe(subject + ".service", cb=answer)
    assert (await client.request(subject + ".service", b"question", PATIENCE_S)).data == b"question!"
    try:
        await client.request(subject + ".nobody", b"question", PATIENCE_S)
        raise AssertionError("an answer from nobody")
    except nats.errors.NoRespondersError:
        pass
    await client.drain()


@scenario
async def nats_py_shares_a_queue_and_ends_at_a_maximum():
    client = await nats_client()
    subject = unique("share")
    taken = asyncio.Queue()

    async def take(message):
        taken.put_nowait(int(message.data))

    for _ in range(3):
        await client.subscribe(subject, "workers", cb=take)
    limited = await client.subscribe(subject, max_msgs=2)
    for number in range(60):
        await client.publish(subject, str(number).encode())
    numbers = [await asyncio.wait_for(taken.get(), PATIENCE_S) for _ in range(60)]
    await client.flush()
    assert sorted(numbers) == list(range(60)) and taken.empty(), numbers
    assert limited.delivered == 2, limited.delivered
    await client.close()


@scenario
async def one_group_is_shared_by_all_three():
    group, base, each = unique("work"), unique("jobs"), 100
    receipts = queue.Queue()
    attached, stop = threading.Event(), threading.Event()

    def amqp_member():
        with amqp_channel() as channel:
            channel.queue_declare(group)
            channel.queue_bind(group, "amq.topic", f"{base}.*")
            channel.basic_qos(prefetch_count=10)
            attached.set()
            for method, _, body in channel.consume(group, inactivity_timeout=0.1):
                if method:
                    receipts.put(("amqp", int(body)))
                    channel.basic_ack(method.delivery_tag)
                elif stop.is_set():
                    break
            channel.cancel()
            channel.queue_delete(group)

    consumer = threading.Thread(target=amqp_member)
    consumer.start()
    assert attached.wait(PATIENCE_S)
    client = await nats_client()

    async def took(message):
        receipts.put(("nats", int(message.data)))

    await client.subscribe(f"{base}.*", group, cb=took)
    await client.flush()
    with Mqtt() as member, Mqtt(paho.MQTTv311) as older, Mqtt() as publisher:
        for one in (member, older):
            one.client.on_message = lambda _c, _u, message: receipts.put(("mqtt", int(message.payload)))
            one.subscribe(f"$share/{group}/{base}/+", 1)
        with amqp_channel() as channel:
            channel.confirm_delivery()
            for number in range(each):
                channel.basic_publish("amq.topic", f"{base}.a", str(number).encode())
        for number in range(each, 2 * each):
            publisher.publish(f"{base}/b", str(number))
        for number in range(2 * each, 3 * each):
            await client.publish(f"{base}.c", str(number).encode())
        await client.flush()
        taken = []
        while len(taken) < 3 * each:
            taken.append(await asyncio.to_thread(receipts.get, True, PATIENCE_S))
    stop.set()
    await asyncio.to_thread(consumer.join, PATIENCE_S)
    await client.close()
    assert receipts.empty() and sorted(number for _, number in taken) == list(range(3 * each))
    assert {member for member, _ in taken} == {"amqp", "mqtt", "nats"}


async def main():
    passed = failed = 0
    for function in SCENARIOS:
        try:
            await asyncio.wait_for(function(), 4 * PATIENCE_S)
            passed += 1
            print(f"ok   {function.__name__}", flush=True)
        except Exception:  # a scenario may fail in any way; it is shown and counted
            failed += 1
            print(f"FAIL {function.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    code = asyncio.run(main())
    sys.stdout.flush()
    # A thread of a scenario that failed must not keep the process.
    os._exit(code)
