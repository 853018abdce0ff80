import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { SeededRandom } from "../workload/seeded-random.ts";
import { frame, type Shot, type ShotMaker, validBatch } from "./shot.ts";

const PACK = {
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 1 }),
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (bytes: Buffer) => zstdCompressSync(bytes),
} as const;
type Encoding = keyof typeof PACK;
const ENCODINGS = ["gzip", "br", "zstd"] as const;

/** The service under fire takes this many bytes on the wire and decompressed; smaller than by default, so that bombs are cheap to make. */
export const FIRE_LIMITS = { bodyBytesMax: 262_144, inflatedBytesMax: 2_097_152 } as const;

const BOMBS = Object.fromEntries(
  ENCODINGS.map((encoding) => [
    encoding,
    PACK[encoding](Buffer.alloc(FIRE_LIMITS.inflatedBytesMax + 1, " ")),
  ]),
) as Readonly<Record<Encoding, Buffer>>;

function packed(
  random: SeededRandom,
  token: string,
  kind: string,
  expect: Shot["expect"],
  change: (bytes: Buffer, encoding: Encoding) => Buffer,
): Shot {
  const { resource, records } = validBatch(random);
  const encoding = random.pick(ENCODINGS);
  const body = Buffer.from(JSON.stringify(records));
  const payload = change(PACK[encoding](body), encoding);
  return {
    kind,
    expect,
    body,
    bytes: frame(token, payload, { resource, lines: [`Content-Encoding: ${encoding}`] }),
  };
}

const valid: ShotMaker = (random, token) => packed(random, token, "compressed", "served", (bytes) => bytes);

const truncated: ShotMaker = (random, token) =>
  packed(random, token, "compressed and truncated", "refused", (bytes) =>
    bytes.subarray(0, random.between(0, bytes.length - 1)),
  );

/** brotli and this zstd carry no checksum, so what is damaged may still say something that is JSON. */
const damaged: ShotMaker = (random, token) =>
  packed(random, token, "compressed and damaged", "either", (bytes) => {
    const at = random.between(0, bytes.length - 1);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.between(0, 7));
    return bytes;
  });

const followed: ShotMaker = (random, token) =>
  packed(random, token, "compressed and followed", "refused", (bytes) =>
    Buffer.concat([bytes, random.pick([Buffer.from("x"), Buffer.from([0]), Buffer.alloc(1_000, 1)])]),
  );

const mislabelled: ShotMaker = (random, token) =>
  packed(random, token, "mislabelled encoding", "refused", (bytes, encoding) =>
    random.pick([
      Buffer.from("[]"),
      deflateSync(bytes),
      PACK[encoding](bytes),
      PACK[encoding === "zstd" ? "gzip" : "zstd"](bytes),
    ]),
  );

const bomb: ShotMaker = (random, token) =>
  packed(random, token, "bombs", "refused", (_bytes, encoding) =>
    random.chance(0.9) ? BOMBS[encoding] : PACK[encoding](BOMBS[encoding]),
  );

/** Compressed bodies; with their shares. A bomb costs the service some milliseconds, so there are few. */
export const BROKEN_ENCODINGS: readonly (readonly [number, ShotMaker])[] = [
  [15, valid],
  [25, truncated],
  [25, damaged],
  [10, followed],
  [15, mislabelled],
  [2, bomb],
];
