import { groupRecord, inventoryRecord, type LooseRecord, reservationRecord } from "../support/records.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";

/** One request as its bytes go over the wire, and what may come of it. */
export interface Shot {
  /** What is wrong with it, for the counts. */
  readonly kind: string;
  /** `served` must be 2xx (of a batch 202), `refused` must be 4xx; `either` was damaged at random, and may be either. */
  readonly expect: "served" | "refused" | "either";
  readonly bytes: Buffer;
  /** The body before it was compressed or framed. */
  readonly body: Buffer;
  /** The client closes its side, before the answer where the framing promises more than comes, or after it. */
  readonly ends?: "before-answer" | "after-answer";
  /** The operation it asks for, as docs/openapi.json names it; without one any operation's error will do. */
  readonly asks?: { readonly method: string; readonly path: string };
  /** Behind it in the same bytes comes a request whose answer carries this correlation id, and no other answer does. */
  readonly canary?: string;
}

/** Makes one shot for the holder of a token. */
export type ShotMaker = (random: SeededRandom, token: string) => Shot;

/** What a fire has to shoot with: a client of the service, and what a run before it was given. */
export interface Arms {
  readonly token: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A good token that carries nothing but the scope to push reservations. */
  readonly writerToken: string;
  /** A client of other codes; what it pushed holds FOREIGN_GUEST. */
  readonly foreignToken: string;
  readonly foreignRequestId: string;
  readonly requestId: string;
  /** Addresses of lists with the cursor that their first page gave. */
  readonly pages: readonly { readonly address: string; readonly cursor: string }[];
}

/** The name of a guest of this client's own, and of one of another client's: the one must never be in an error, the other nowhere. */
export const GUEST = "Aloysia Weber-Lange";
export const FOREIGN_GUEST = "Konstanze Mozart-Nissen";

export type ResourceName = "inventories" | "reservations" | "groups";

/** The properties that the client may push. */
export const PROPERTIES = ["LON01", "PAR01"] as const;

const RESOURCE_NAMES = ["inventories", "reservations", "groups"] as const;

/** A valid record; one of a hundred properties' days, reservations or groups, so that they meet each other. */
export function validRecord(random: SeededRandom, resource: ResourceName): LooseRecord {
  const propertyCode = random.pick(PROPERTIES);
  const moment = new Date(Date.UTC(2026, 0, 1) + random.between(0, 20_000_000) * 1000);
  const at = moment.toISOString().replace(".000Z", "Z");
  const number = random.between(1, 5_000);
  switch (resource) {
    case "inventories": {
      const day = new Date(Date.UTC(2026, 0, 1 + random.between(0, 700)));
      return inventoryRecord({
        propertyCode,
        createDateTime: at,
        occupancyDate: day.toISOString().slice(0, 10),
      });
    }
    case "reservations":
      return reservationRecord({ propertyCode, lastModifiedDateTime: at, reservationId: `R-${number}` });
    case "groups":
      return groupRecord({ propertyCode, lastModifiedDateTime: at, groupCode: `G-${number}` });
  }
}

export interface ValidBatch {
  readonly resource: ResourceName;
  readonly records: LooseRecord[];
}

/** One to three valid records of one resource. */
export function validBatch(random: SeededRandom): ValidBatch {
  const resource = random.pick(RESOURCE_NAMES);
  const records = Array.from({ length: random.between(1, 3) }, () => validRecord(random, resource));
  return { resource, records };
}

export interface Framing {
  readonly resource?: string;
  /** Instead of Content-Length. */
  readonly length?: string;
  /** Instead of `Content-Type: application/json`. */
  readonly type?: string;
  /** Further header lines. */
  readonly lines?: readonly string[];
}

/** A POST with its headers; `payload` is what follows them. */
export function frame(token: string, payload: Buffer, framing: Framing = {}): Buffer {
  const head = [
    `POST /api/public/v1/${framing.resource ?? "reservations"} HTTP/1.1`,
    "Host: a",
    `Authorization: Bearer ${token}`,
    framing.type ?? "Content-Type: application/json",
    framing.length ?? `Content-Length: ${payload.length}`,
    ...(framing.lines ?? []),
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), payload]);
}

/** A shot whose body is plain and well framed. */
export function plainShot(
  kind: string,
  expect: Shot["expect"],
  token: string,
  body: Buffer | string,
  framing: Framing = {},
): Shot {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return { kind, expect, body: bytes, bytes: frame(token, bytes, framing) };
}
