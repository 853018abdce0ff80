import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { holdAppends } from "../support/held-appends.ts";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
before(async () => {
  // The least room for bodies: a client's half is that of the largest body.
  const limits = { bodyBytesMax: 65_536, inflatedBytesMax: 131_072, bodiesInFlightBytesMax: 400_000 };
  service = await startTestService({ trustedProxies: ["127.0.0.0/8"], limits });
});
after(() => service.stop());

const CHUNKED = "Transfer-Encoding: chunked";
const oneByteChunks = (count: number) => "1\r\nx\r\n".repeat(count);

function head(method: string, path: string, ...lines: readonly string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, `Host: ${new URL(service.address).host}`, ...lines].join("\r\n")}\r\n\r\n`;
}

async function bytesInFlight(of = service): Promise<number> {
  const { text } = await of.get("/metrics", { as: null });
  return Number(/^bellhop_body_bytes_in_flight (\d+)$/m.exec(text)?.[1]);
}

/** Sends bytes that do not end the request, and answers what comes back. */
async function answerTo(bytes: string): Promise<RawAnswer> {
  const connection = await RawConnection.open(service.address);
  try {
    connection.write(bytes);
    return await connection.answer();
  } finally {
    connection.destroy();
  }
}

describe("a body that is never finished", () => {
  test("is refused at the login once it is larger than 4 kB, whatever the size of its chunks", async () => {
    const login = ["Content-Type: application/json", CHUNKED];
    const chunks = `40\r\n${"x".repeat(64)}\r\n`.repeat(65);
    const small = await answerTo(`${head("POST", "/console/api/login", ...login)}${chunks}`);
    assert.equal(small.status, 413);
    assert.equal(JSON.parse(small.body.toString()).exception, "bellhop.console.PayloadTooLarge");
    const large = await answerTo(
      head("POST", "/console/api/login", "Content-Type: application/json", "Content-Length: 4097"),
    );
    assert.equal(large.status, 413);
  });

  test("is refused at the login if it is compressed", async () => {
    const type = ["Content-Type: application/json", "Content-Encoding: gzip", "Content-Length: 4000"];
    const { status } = await answerTo(`${head("POST", "/console/api/login", ...type)}\x1f`);
    assert.equal(status, 415);
  });

  test("counts in the budget of all bodies, at the login and the token endpoint, and is released", async () => {
    const held = [
      head("POST", "/console/api/login", "Content-Type: application/json", CHUNKED),
      head("POST", "/api/oauth2/token", "Content-Type: application/x-www-form-urlencoded", CHUNKED),
    ];
    for (const start of held) {
      const connection = await RawConnection.open(service.address);
      try {
        connection.write(`${start}${oneByteChunks(1_000)}`);
        await until(async () => (await bytesInFlight()) >= 1_000, 5_000);
      } finally {
        connection.destroy();
      }
      await until(async () => (await bytesInFlight()) === 0, 5_000);
    }
  });
});

describe("a body of an unauthenticated client", () => {
  test("counts for the site of its address", async () => {
    const login = (address: string) =>
      head(
        "POST",
        "/console/api/login",
        "Content-Type: application/json",
        "Content-Length: 4000",
        `X-Forwarded-For: ${address}`,
      );
    const open: RawConnection[] = [];
    const begin = async (address: string) => {
      const connection = await RawConnection.open(service.address);
      open.push(connection);
      const before = await bytesInFlight();
      connection.write(`${login(address)} `);
      await until(async () => connection.received.length > 0 || (await bytesInFlight()) > before, 5_000);
      return /^HTTP\/1\.1 (\d+)/.exec(connection.received.toString("latin1"))?.[1];
    };
    try {
      let refused: string | undefined;
      for (let host = 1; refused === undefined && host < 100; host += 1)
        refused = await begin(`2001:db8:1:${(host % 2).toString(16)}::${host.toString(16)}`);
      assert.equal(refused, "503");
      assert.equal(await begin("2001:db8:2::1"), undefined);
    } finally {
      for (const connection of open) connection.destroy();
    }
    await until(async () => (await bytesInFlight()) === 0, 5_000);
  });
});

describe("bodies that are announced and do not arrive", () => {
  let patient: TestService;
  const open: RawConnection[] = [];
  before(async () => {
    patient = await startTestService({ trustedProxies: ["127.0.0.0/8"], limits: { slowBodyMs: 1_000 } });
  });
  after(async () => {
    for (const connection of open) connection.destroy();
    await patient.stop();
  });
  const begin = async (path: string, lines: readonly string[], bytes: string | Buffer) => {
    const connection = await RawConnection.open(patient.address);
    open.push(connection);
    connection.write(head("POST", path, ...lines));
    connection.write(bytes);
    return connection;
  };
  const batch = async (client: TestClient, length: number, more: readonly string[] = []) => [
    `Authorization: Bearer ${await client.token()}`,
    "Content-Type: application/json",
    `Content-Length: ${length}`,
    ...more,
  ];

  test("lock nobody out, with two client ids and from many addresses", async () => {
    for (const client of [await patient.newClient(), await patient.newClient()])
      for (let upload = 0; upload < 8; upload += 1)
        await begin("/api/public/v1/inventories", await batch(client, 16_777_216), "[");
    for (let host = 1; host <= 20; host += 1) {
      const from = `X-Forwarded-For: 203.0.113.${host}`;
      const form = ["Content-Type: application/x-www-form-urlencoded", "Content-Length: 8000", from];
      await begin("/api/oauth2/token", form, "g");
    }
    await until(async () => (await bytesInFlight(patient)) >= 36, 5_000);
    const neighbour = await patient.newClient();
    for (let push = 0; push < 5; push += 1)
      assert.equal((await patient.post("inventories", [inventoryRecord()], { as: neighbour })).status, 202);
    const body = JSON.stringify({ name: "anna", password: "wrong" });
    const headers = { "content-type": "application/json" };
    const login = await patient.send("POST", "/console/api/login", { as: null, headers, body });
    assert.equal(login.status, 401, login.text);
    await neighbour.token("inventories:write");
  });

  test("are 408, and their connections are closed", async () => {
    const client = await patient.newClient();
    const records = JSON.stringify([inventoryRecord()]);
    const path = "/api/public/v1/inventories";
    const packed = await batch(client, 40_000, ["Content-Encoding: gzip"]);
    for (const connection of [
      await begin(path, await batch(client, 40_000), records),
      await begin(path, packed, gzipSync(records)),
    ]) {
      const { status, body } = await connection.answer();
      assert.equal(status, 408);
      assert.equal(JSON.parse(body.toString()).exception, "bellhop.http.RequestTimeout");
      await connection.closing();
    }
    await until(async () => (await bytesInFlight(patient)) === 0, 10_000);
  });
});

test("a slow body behind an unanswered request is ended, and its memory is released at once", async () => {
  const strict = await startTestService({ limits: { slowBodyMs: 300 } });
  const held = await holdAppends(strict.database.clientConfig);
  const connection = await RawConnection.open(strict.address);
  try {
    const records = JSON.stringify([inventoryRecord()]);
    const type = ["Content-Type: application/json", `Authorization: Bearer ${await strict.token()}`];
    const push = (length: number) =>
      head("POST", "/api/public/v1/inventories", ...type, `Content-Length: ${length}`);
    connection.write(push(records.length) + records);
    await until(() => held.isWaiting(), 10_000);
    const before = await bytesInFlight(strict);
    connection.write(`${push(40_000)}${" ".repeat(20_000)}`);
    await until(async () => (await bytesInFlight(strict)) > before, 5_000);
    await connection.closing();
    await until(async () => (await bytesInFlight(strict)) === before, 5_000);
  } finally {
    connection.destroy();
    await held.release();
    await strict.stop();
  }
});

describe("a body in small chunks", () => {
  const inventories = (authorization: string) =>
    head("POST", "/api/public/v1/inventories", authorization, "Content-Type: application/json", CHUNKED);

  test("is refused once a thousand average less than 64 bytes: 413, and the connection is closed", async () => {
    const batch = inventories(`Authorization: Bearer ${await service.token()}`);
    const login = head("POST", "/console/api/login", "Content-Type: application/json", CHUNKED);
    for (const bytes of [
      batch + oneByteChunks(3_000),
      batch + `20\r\n${" ".repeat(32)}\r\n`.repeat(3_000),
      login + oneByteChunks(3_000),
    ]) {
      const connection = await RawConnection.open(service.address);
      connection.write(bytes);
      await connection.closing(10_000);
      assert.match(connection.received.toString("latin1"), /^HTTP\/1\.1 413 /);
      assert.match(connection.received.toString("latin1"), /smaller than 64 bytes on average/);
      connection.destroy();
    }
  });

  test("closes the connection where it was refused before", async () => {
    for (const start of [inventories("X-None: 1"), head("POST", "/nowhere", CHUNKED)]) {
      const connection = await RawConnection.open(service.address);
      connection.write(start + oneByteChunks(3_000));
      await connection.closing(10_000);
      assert.match(connection.received.toString("latin1"), /^HTTP\/1\.1 40[14] /);
      connection.destroy();
    }
  });

  test("is read where there are few of them, or they are 64 bytes each", async () => {
    const records = JSON.stringify([inventoryRecord()]);
    const small = [...records].map((one) => `1\r\n${one}\r\n`).join("");
    const padded = records.padEnd(64 * 1_000);
    const large =
      padded
        .match(/.{64}/g)
        ?.map((part) => `40\r\n${part}\r\n`)
        .join("") ?? "";
    assert.ok(records.length < 1_000);
    for (const chunks of [small, large]) {
      const connection = await RawConnection.open(service.address);
      connection.write(`${inventories(`Authorization: Bearer ${await service.token()}`)}${chunks}0\r\n\r\n`);
      assert.equal((await connection.answer()).status, 202);
      connection.destroy();
    }
  });
});
