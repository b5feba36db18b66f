// Round trips with amqplib, mqtt and nats, and one group that all three share.
//
// Ports are in AMQP_PORT, MQTT_PORT and NATS_PORT. Each scenario is bounded in time; a broken one never stops the
// others. Ends with `N passed, N failed`; exit code 1 when something failed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import amqplib from "amqplib";
import mqtt from "mqtt";
import * as nats from "nats";

const PATIENCE_MS = 30_000;
const host = "127.0.0.1";
const unique = (prefix) => `${prefix}-${randomUUID().slice(0, 12)}`;
const amqpUrl = `amqp://guest:guest@${host}:${process.env.AMQP_PORT}`;
const mqttUrl = `mqtt://${host}:${process.env.MQTT_PORT}`;
const natsServer = `${host}:${process.env.NATS_PORT}`;

/** Resolves as `promise` does, or fails after PATIENCE_MS. */
function within(what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} in time`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A queue whose `next` waits. */
class Inbox {
  items = [];
  waiting = [];
  put(item) {
    const resolve = this.waiting.shift();
    if (resolve) resolve(item);
    else this.items.push(item);
  }
  next(what = "message") {
    if (this.items.length > 0) return Promise.resolve(this.items.shift());
    return within(what, new Promise((resolve) => this.waiting.push(resolve)));
  }
}

async function mqttClient(options = {}) {
  const client = await within("MQTT connection", mqtt.connectAsync(mqttUrl, { protocolVersion: 5, reconnectPeriod: 0, ...options }));
  client.inbox = new Inbox();
  client.on("message", (topic, payload, packet) => client.inbox.put({ topic, payload: payload.toString(), packet }));
  return client;
}

const scenarios = {
  async amqplib_publishes_confirmed_and_consumes() {
    const connection = await amqplib.connect(amqpUrl);
    const channel = await connection.createConfirmChannel();
    const { queue } = await channel.assertQueue("", { exclusive: true });
    const options = { headers: { number: 7, text: "value" }, contentType: "text/plain", correlationId: "c", persistent: true };
    channel.sendToQueue(queue, Buffer.from("hello"), options);
    await within("confirm", channel.waitForConfirms());
    const inbox = new Inbox();
    await channel.consume(queue, (message) => inbox.put(message));
    const message = await inbox.next();
    assert.equal(message.content.toString(), "hello");
    assert.deepEqual({ ...message.properties.headers }, options.headers);
    assert.equal(message.properties.contentType, "text/plain");
    channel.ack(message);
    assert.equal((await channel.checkQueue(queue)).messageCount, 0);
    await connection.close();
  },

  async amqplib_sees_returns_and_redeliveries() {
    const connection = await amqplib.connect(amqpUrl);
    const channel = await connection.createConfirmChannel();
    const returned = new Inbox();
    channel.on("return", (message) => returned.put(message));
    channel.publish("", unique("nowhere"), Buffer.from("lost"), { mandatory: true });
    await within("confirm", channel.waitForConfirms());
    assert.equal((await returned.next("return")).fields.replyCode, 312);
    const { queue } = await channel.assertQueue("", { exclusive: true });
    channel.sendToQueue(queue, Buffer.from("again"));
    await within("confirm", channel.waitForConfirms());
    channel.nack(await channel.get(queue), false, true);
    const message = await channel.get(queue, { noAck: true });
    assert.ok(message.fields.redelivered);
    assert.equal(await channel.get(queue), false);
    await connection.close();
  },

  async mqtt_carries_each_qos_and_properties() {
    for (const protocolVersion of [4, 5]) {
      const topic = unique("mqtt");
      const subscriber = await mqttClient({ protocolVersion });
      const publisher = await mqttClient({ protocolVersion });
      const [grant] = await subscriber.subscribeAsync(topic, { qos: 2 });
      assert.equal(grant.qos, 2);
      for (const qos of [0, 1, 2]) {
        await publisher.publishAsync(topic, `qos ${qos}`, { qos });
        const message = await subscriber.inbox.next();
        assert.deepEqual([message.payload, message.packet.qos], [`qos ${qos}`, qos]);
      }
      if (protocolVersion === 5) {
        const properties = { userProperties: { a: ["1", "2"] }, contentType: "text/plain", responseTopic: "answer/here", correlationData: Buffer.from([0, 255]) };
        await publisher.publishAsync(topic, "rich", { qos: 1, properties });
        const received = (await subscriber.inbox.next()).packet.properties;
        assert.deepEqual({ ...received.userProperties }, properties.userProperties);
        assert.equal(received.contentType, "text/plain");
        assert.deepEqual(received.correlationData, properties.correlationData);
      }
      await subscriber.endAsync();
      await publisher.endAsync();
    }
  },

  async mqtt_finds_retained_messages_and_its_session() {
    const [topic, clientId] = [unique("kept"), unique("session")];
    const publisher = await mqttClient();
    await publisher.publishAsync(topic, "retained", { qos: 1, retain: true });
    let subscriber = await mqttClient({ protocolVersion: 4, clientId, clean: false });
    await subscriber.subscribeAsync(topic, { qos: 1 });
    const kept = await subscriber.inbox.next();
    assert.deepEqual([kept.payload, kept.packet.retain], ["retained", true]);
    await subscriber.endAsync();
    await publisher.publishAsync(topic, "missed", { qos: 1 });
    const inbox = new Inbox();
    subscriber = mqtt.connect(mqttUrl, { protocolVersion: 4, clientId, clean: false, reconnectPeriod: 0 });
    subscriber.on("message", (_topic, payload) => inbox.put(payload.toString()));
    assert.equal(await inbox.next(), "missed");
    await subscriber.endAsync();
    await publisher.publishAsync(topic, "", { qos: 1, retain: true });
    await publisher.endAsync();
  },

  async nats_carries_headers_and_requests() {
    const client = await nats.connect({ servers: natsServer, reconnect: false });
    const subject = unique("nats");
    const inbox = new Inbox();
    client.subscribe(subject, { callback: (_error, message) => inbox.put(message) });
    const headers = nats.headers();
    headers.append("Trace", "abc");
    client.publish(subject, "body", { headers });
    const message = await inbox.next();
    assert.deepEqual([message.string(), message.headers.get("Trace")], ["body", "abc"]);
    client.subscribe(`${subject}.service`, { callback: (_error, request) => request.respond(`${request.string()}!`) });
    assert.equal((await client.request(`${subject}.service`, "question", { timeout: PATIENCE_MS })).string(), "question!");
    await assert.rejects(client.request(`${subject}.nobody`, "question", { timeout: PATIENCE_MS }), { code: "503" });
    await client.drain();
  },

  async one_group_is_shared_by_all_three() {
    const [group, base, each] = [unique("work"), unique("jobs"), 100];
    const receipts = new Inbox();
    const connection = await amqplib.connect(amqpUrl);
    const channel = await connection.createConfirmChannel();
    await channel.assertQueue(group, { durable: false });
    await channel.bindQueue(group, "amq.topic", `${base}.*`);
    await channel.prefetch(10);
    const { consumerTag } = await channel.consume(group, (message) => {
      receipts.put(["amqp", Number(message.content)]);
      channel.ack(message);
    });
    const client = await nats.connect({ servers: natsServer, reconnect: false });
    client.subscribe(`${base}.*`, { queue: group, callback: (_error, message) => receipts.put(["nats", Number(message.string())]) });
    await client.flush();
    const members = [await mqttClient(), await mqttClient({ protocolVersion: 4 })];
    for (const member of members) {
      member.on("message", (_topic, payload) => receipts.put(["mqtt", Number(payload)]));
      await member.subscribeAsync(`$share/${group}/${base}/+`, { qos: 1 });
    }
    for (let number = 0; number < each; number += 1) {
      channel.publish("amq.topic", `${base}.a`, Buffer.from(String(number)));
      await members[0].publishAsync(`${base}/b`, String(each + number), { qos: 1 });
      client.publish(`${base}.c`, String(2 * each + number));
    }
    await within("confirm", channel.waitForConfirms());
    await client.flush();
    const taken = [];
    while (taken.length < 3 * each) taken.push(await receipts.next(`receipt after ${taken.length}`));
    for (const member of members) await member.endAsync();
    await client.close();
    await channel.cancel(consumerTag);
    await channel.deleteQueue(group);
    await connection.close();
    assert.equal(receipts.items.length, 0);
    assert.deepEqual(taken.map(([, number]) => number).sort((a, b) => a - b), [...Array(3 * each).keys()]);
    assert.deepEqual(new Set(taken.map(([member]) => member)), new Set(["amqp", "mqtt", "nats"]));
  },
};

let [passed, failed] = [0, 0];
for (const [name, run] of Object.entries(scenarios)) {
  try {
    await within("end of the scenario", run());
    passed += 1;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
