import { hash } from "node:crypto";
import { PERSONAL_FIELDS } from "../../contract/personal-fields.ts";
import type { ListedSubject } from "./subject.ts";

/** What an erasure did, as it is certified. Holds nothing that was erased. */
export interface ErasureFacts {
  readonly erasureId: string;
  readonly requestedBy: string;
  readonly reason: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly subjects: readonly ListedSubject[];
  /** The records that were found of them, redacted now or before. */
  readonly records: readonly {
    readonly resource: string;
    readonly clientCode: string;
    readonly propertyCode: string;
    readonly key: string;
  }[];
  readonly redacted: Readonly<Record<string, number>>;
  /** What was found of the subjects when all was read again: 0, or there is no certificate. */
  readonly leftAfterwards: number;
}

/** What an erasure cannot reach, in the certificate's own words. */
const OUT_OF_REACH = [
  "backups made before, until they expire: a restore redacts them again by the erasure list",
  "the write-ahead log and dead rows of PostgreSQL, until they are recycled and vacuumed",
  "what was delivered before to clients and webhooks that read the records",
  "the hotel's own systems: what they send again is stripped before it is kept",
];

/** A certificate as the text that is kept, and its SHA-256 in hexadecimal. */
export function writeCertificate(facts: ErasureFacts): { readonly text: string; readonly hash: string } {
  const { reservations, groups } = PERSONAL_FIELDS;
  const pathsOf = (fields: readonly { readonly path: string }[]) => fields.map(({ path }) => path);
  // As it is printed, so that whoever has it in a file can sum that up.
  const text = `${JSON.stringify(
    {
      format: "bellhop-erasure-certificate/1",
      ...facts,
      fields: {
        reservations: pathsOf(reservations),
        groups: pathsOf(groups),
        others: "every member that the contract does not name",
      },
      kept: "identity, dates, codes, counts and money: no count, outcome or figure has changed",
      outOfReach: OUT_OF_REACH,
    },
    null,
    2,
  )}\n`;
  return { text, hash: hash("sha256", text) };
}
