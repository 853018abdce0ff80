import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  brotliCompressSync,
  constants,
  createGzip,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { errorObject } from "../support/error-object.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

const MIB = 1_048_576;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const post = (body: Buffer | ReadableStream<Uint8Array>, encoding: string) =>
  service.post("inventories", body, { headers: { "content-encoding": encoding } });

/** A batch of about a hundred kilobytes that compresses to several chunks of the decompressors. */
const batch = Buffer.from(
  JSON.stringify(
    Array.from({ length: 400 }, (_, n) =>
      inventoryRecord({
        occupancyDate: new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10),
        note: `${n}`,
      }),
    ),
  ),
);
const PACKED = {
  gzip: gzipSync(batch),
  br: brotliCompressSync(batch),
  zstd: zstdCompressSync(batch),
} as const;
const ENCODINGS = Object.keys(PACKED) as (keyof typeof PACKED)[];

/** A body that is sent in pieces, so with chunked framing. */
function piecewise(bytes: Buffer, size: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
    },
  });
}

function split(bytes: Buffer, parts: number): Buffer[] {
  const size = Math.ceil(bytes.length / parts);
  return Array.from({ length: parts }, (_, part) => bytes.subarray(part * size, (part + 1) * size));
}

describe("Content-Encoding", () => {
  for (const encoding of ENCODINGS) {
    test(`${encoding} is decompressed, in one piece and in many`, async () => {
      assert.equal((await post(PACKED[encoding], encoding)).status, 202);
      assert.equal((await post(PACKED[encoding], encoding.toUpperCase())).status, 202);
      assert.equal((await post(piecewise(PACKED[encoding], 37), encoding)).status, 202);
    });
    test(`${encoding} cut short anywhere, damaged or empty is 400`, async () => {
      const whole = PACKED[encoding];
      for (const length of [0, 1, 3, whole.length >> 1, whole.length - 5, whole.length - 1]) {
        const answer = await post(whole.subarray(0, length), encoding);
        const { message } = errorObject(answer, 400, "bellhop.http.BadRequest");
        assert.equal(message, `The body is not valid ${encoding} data.`);
      }
      const damaged = Buffer.from(whole);
      damaged.fill(0x55, whole.length >> 1, (whole.length >> 1) + 64);
      errorObject(await post(damaged, encoding), 400);
      errorObject(await post(Buffer.from(batch), encoding), 400, "bellhop.http.BadRequest");
    });
    test(`${encoding} with anything behind its end is 400, and never only its beginning`, async () => {
      const [head = Buffer.alloc(0)] = split(batch, 1);
      const packed = { gzip: gzipSync(head), br: brotliCompressSync(head), zstd: zstdCompressSync(head) }[
        encoding
      ];
      for (const tail of [Buffer.from("more"), Buffer.from([0]), Buffer.alloc(70_000, 1)]) {
        errorObject(await post(Buffer.concat([packed, tail]), encoding), 400, "bellhop.http.BadRequest");
        errorObject(await post(piecewise(Buffer.concat([packed, tail]), 1_000), encoding), 400);
      }
    });
  }

  test("several gzip members and several zstd frames are one body, wherever its pieces are cut", async () => {
    const pack = {
      gzip: (bytes: Buffer) => gzipSync(bytes),
      zstd: (bytes: Buffer) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
    };
    // A body may have a thousand chunks that are as small as these.
    const single = Buffer.from(JSON.stringify([inventoryRecord()]));
    for (const encoding of ["gzip", "zstd"] as const) {
      for (const [content, sizes] of [
        [single, [1, 7]],
        [batch, [64, 4_096]],
      ] as const) {
        const frames = split(content, 5).map(pack[encoding]);
        const whole = Buffer.concat(frames);
        assert.equal((await post(whole, encoding)).status, 202, encoding);
        for (const size of [...sizes, frames[0]?.length ?? 1]) {
          assert.equal((await post(piecewise(whole, size), encoding)).status, 202, `${encoding} by ${size}`);
        }
      }
    }
  });

  test("zstd's skippable frames, which pzstd writes, are skipped", async () => {
    const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
    const body = Buffer.concat([skippable, PACKED.zstd, skippable]);
    assert.equal((await post(body, "zstd")).status, 202);
    errorObject(await post(Buffer.concat(Array.from({ length: 2_000 }, () => skippable)), "zstd"), 400);
  });

  test("a zstd frame that claims a window beyond RFC 9659's 8 MiB is 400", async () => {
    const body = zstdCompressSync(batch, { params: { [constants.ZSTD_c_windowLog]: 27 } });
    // Without its content size the frame needs the whole window: magic, descriptor, window, then the raw block.
    const wide = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88]), body.subarray(-3)]);
    errorObject(await post(wide, "zstd"), 400, "bellhop.http.BadRequest");
  });

  test("identity means no encoding", async () => {
    assert.equal((await post(batch, "identity")).status, 202);
  });

  test("an unknown encoding, or several, is 415", async () => {
    for (const encoding of ["deflate", "compress", "gzip, gzip", "gzip, br", "identity, gzip", "x"]) {
      errorObject(await post(deflateSync(batch), encoding), 415, "bellhop.http.UnsupportedEncoding");
    }
  });
});

describe("bombs", () => {
  test("200 MiB packed into a few hundred kilobytes is 413, however it is packed, and the memory stays bounded", async () => {
    const zeros = Buffer.alloc(200 * MIB, " ");
    const bombs = {
      gzip: gzipSync(zeros, { level: 9 }),
      br: brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } }),
      zstd: zstdCompressSync(zeros),
    };
    const before = process.memoryUsage().rss;
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 5).unref();
    for (const encoding of ENCODINGS) {
      assert.ok(bombs[encoding].length < MIB);
      // One at a time: another might find the client's share of the budget used up, and get 503.
      errorObject(await post(bombs[encoding], encoding), 413, "bellhop.http.PayloadTooLarge");
    }
    clearInterval(watch);
    // A body of at most 64 MiB, and the decompressor's window.
    assert.ok(peak - before < 200 * MIB, `${Math.round((peak - before) / MIB)} MiB`);
  });

  test("a bomb within a bomb is no batch", async () => {
    const inner = gzipSync(gzipSync(Buffer.alloc(50 * MIB)));
    errorObject(await post(inner, "gzip"), 400, "bellhop.contract.MalformedJson");
  });

  test("a gzip stream without an end is 413", async () => {
    const gzip = createGzip();
    const spaces = Buffer.alloc(MIB, " ");
    const endless = new ReadableStream<Uint8Array>({
      start(controller) {
        gzip.on("data", (chunk: Buffer) => controller.enqueue(chunk));
      },
      // Each pull must yield something, or the stream is not pulled again.
      pull: () => new Promise((resolve) => gzip.write(spaces, () => gzip.flush(() => resolve()))),
      cancel: () => void gzip.destroy(),
    });
    errorObject(await post(endless, "gzip"), 413, "bellhop.http.PayloadTooLarge");
    gzip.destroy();
  });
});
