import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from "../../test/support/test-certificate.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../../test/support/webhook-receiver.ts";
import { AddressRules } from "./address-rules.ts";
import { type ResolveHost, resolveByDns } from "./endpoint-address.ts";
import { type SendParts, sendMessage } from "./send-message.ts";

const never = new AbortController().signal;
const opened = new AddressRules(["127.0.0.1/32"]);
const parts = (more: Partial<SendParts> = {}): SendParts => ({
  rules: opened,
  resolve: resolveByDns,
  stopping: never,
  ...more,
});
const outgoing = (url: string) => ({
  url,
  headers: { "webhook-id": "msg_1" },
  body: '{"type":"webhook.test"}',
});
/** Names and the addresses they have, one after the other, as often as they are asked for. */
const names = (answers: Readonly<Record<string, string[][]>>): ResolveHost & { asked: number } => {
  const resolve = async (hostname: string) => {
    resolve.asked += 1;
    const found = answers[hostname]?.shift();
    if (found === undefined) throw new Error("NXDOMAIN");
    return found;
  };
  resolve.asked = 0;
  return resolve;
};

let receiver: WebhookReceiver;
before(async () => {
  receiver = await startWebhookReceiver();
});
after(() => receiver.stop());

describe("a message is sent", () => {
  test("to the address that was checked, resolved once, under the name of its host", async () => {
    const resolve = names({ "partner.example": [["127.0.0.1"], ["169.254.169.254"]] });
    const before = receiver.received.length;
    const result = await sendMessage(
      outgoing(`http://partner.example:${receiver.port}/in`),
      parts({ resolve }),
    );
    assert.deepEqual([result.status, result.failure], [204, null]);
    assert.equal(resolve.asked, 1);
    const message = receiver.received[before];
    assert.equal(message?.headers.host, `partner.example:${receiver.port}`);
    assert.equal(message?.headers["content-type"], "application/json");
    assert.equal(message?.headers["webhook-id"], "msg_1");
    assert.equal(message?.body, '{"type":"webhook.test"}');
  });

  const refused = [
    ["http://partner.example/", ["10.0.0.1"], "a name of a private address"],
    ["https://partner.example/", ["169.254.169.254"], "a name of the metadata service"],
    [
      "https://partner.example/",
      ["::ffff:127.0.0.1", "fe80::1", "64:ff9b::7f00:1"],
      "a name of none but refused ones",
    ],
    ["http://partner.example/", ["93.184.216.34"], "plain http to a public address"],
    ["http://[::1]/", [], "an address written out"],
    ["http://0x7f000002/", [], "an address in hexadecimal"],
  ] as const;
  for (const [url, found, why] of refused) {
    test(`never to ${why}`, async () => {
      const resolve = names({ "partner.example": [[...found]] });
      const result = await sendMessage(outgoing(url), parts({ resolve }));
      assert.deepEqual([result.status, result.failure], [null, "AddressRefused"]);
    });
  }

  test("never to localhost, whatever a name server returns, unless loopback is allowed", async () => {
    const closed = parts({ rules: new AddressRules(["10.0.0.0/8"]) });
    for (const host of ["localhost", "a.localhost", "LOCALHOST."])
      assert.equal(
        (await sendMessage(outgoing(`http://${host}:${receiver.port}/`), closed)).failure,
        "AddressRefused",
      );
    const result = await sendMessage(outgoing(`http://localhost:${receiver.port}/`), parts());
    assert.equal(result.failure, null);
  });

  test("by https only with a trusted certificate for exactly this name", async () => {
    const server = createTlsServer(
      { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY },
      (request, response) => {
        request.resume().on("end", () => response.writeHead(204).end());
      },
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const resolve: ResolveHost = async () => ["127.0.0.1"];
    const failureOf = async (host: string) =>
      (await sendMessage(outgoing(`https://${host}:${port}/`), parts({ resolve }))).failure;
    assert.equal(await failureOf("partner.example"), "DEPTH_ZERO_SELF_SIGNED_CERT");
    const usual = getCACertificates("default");
    setDefaultCACertificates([TEST_CERTIFICATE]);
    assert.equal(await failureOf("partner.example"), null);
    assert.equal(await failureOf("other.example"), "ERR_TLS_CERT_ALTNAME_INVALID");
    setDefaultCACertificates(usual);
    server.close();
  });

  test("and a redirect is not followed", async () => {
    const before = receiver.received.length;
    receiver.answer = (_message, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${receiver.port}/elsewhere` }).end();
    const result = await sendMessage(outgoing(receiver.url), parts());
    assert.deepEqual([result.status, result.failure], [307, "Redirected"]);
    assert.equal(receiver.received.length, before + 1);
  });

  test("and of the answer only the beginning is read, without what would move a terminal", async () => {
    receiver.answer = (_message, response) => {
      response.writeHead(500, { "retry-after": "9".repeat(12) });
      response.write(`no\u001b[31m\r\n${"x".repeat(600)}`);
      // The response never ends, so a sender that reads it all would wait forever.
    };
    const result = await sendMessage(outgoing(receiver.url), parts());
    assert.deepEqual(
      [result.status, result.failure, result.retryAfterSeconds],
      [500, "NotAccepted", 999_999_999_999],
    );
    assert.match(result.answer, /^no \[31m x+$/);
    assert.ok(result.answer.length <= 512);
  });

  test("and headers without end are cut off", async () => {
    receiver.answer = (_message, response) => response.writeHead(200, { "x-long": "x".repeat(20_000) }).end();
    const result = await sendMessage(outgoing(receiver.url), parts());
    assert.deepEqual([result.status, result.failure], [null, "HPE_HEADER_OVERFLOW"]);
  });
});

describe("a try ends", () => {
  test("connection refused, timeout, unknown name", async () => {
    const silent = createServer(() => undefined);
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port } = silent.address() as AddressInfo;
    const late = await sendMessage(outgoing(`http://127.0.0.1:${port}/`), parts({ tryMsMax: 100 }));
    assert.deepEqual([late.status, late.failure], [null, "TimedOut"]);
    silent.close();
    const gone = await sendMessage(outgoing(`http://127.0.0.1:${port}/`), parts());
    assert.deepEqual([gone.status, gone.failure], [null, "ECONNREFUSED"]);
    const unknown = await sendMessage(outgoing("https://partner.example/"), parts({ resolve: names({}) }));
    assert.deepEqual([unknown.status, unknown.failure], [null, "NameNotResolved"]);
  });

  test("a connection that is upgraded or closed, even in the middle of the response", async () => {
    const resultOf = async (answer: string) => {
      const server = createServer((socket) => socket.once("data", () => socket.end(answer)));
      await once(server.listen(0, "127.0.0.1"), "listening");
      const { port } = server.address() as AddressInfo;
      const { status, failure } = await sendMessage(outgoing(`http://127.0.0.1:${port}/`), parts());
      server.close();
      return [status, failure];
    };
    const upgrade = "Connection: upgrade\r\nUpgrade: example\r\n\r\n";
    assert.deepEqual(await resultOf(`HTTP/1.1 101 Switching Protocols\r\n${upgrade}`), [101, "NotAccepted"]);
    assert.deepEqual(await resultOf("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut"), [200, null]);
    assert.deepEqual(await resultOf("HTTP/1.1 103 Early Hints\r\n\r\n"), [null, "ECONNRESET"]);
  });

  test("interim responses without end", async () => {
    const flood = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000);
    const server = createServer((socket) =>
      socket
        .on("error", () => undefined)
        .on("drain", () => socket.write(flood))
        .once("data", () => socket.write(flood)),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const { failure } = await sendMessage(outgoing(`http://127.0.0.1:${port}/`), parts({ tryMsMax: 5_000 }));
    assert.equal(failure, "NoFinalAnswer");
    server.close();
  });

  test("a name server that does not respond", async () => {
    const resolve: ResolveHost = (_hostname, signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("cancelled"))));
    const result = await sendMessage(outgoing("https://partner.example/"), parts({ resolve, tryMsMax: 50 }));
    assert.equal(result.failure, "TimedOut");
  });

  test("when the node stops", async () => {
    const stopping = new AbortController();
    receiver.answer = () => stopping.abort();
    const result = await sendMessage(outgoing(receiver.url), parts({ stopping: stopping.signal }));
    assert.equal(result.failure, "Stopped");
  });
});
