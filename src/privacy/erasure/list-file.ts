import type pg from "pg";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../../platform/db/transaction.ts";
import { ErasureError } from "./erasure-error.ts";
import { type ListedSubject, readProfileKey } from "./subject.ts";

const listErasures = namedStatement(
  "list-for-export",
  `select erasure_id as "erasureId", reason, requested_by as "requestedBy", started_at as "startedAt",
    finished_at as "finishedAt", certificate, certificate_hash as "certificateHash",
    (
      select json_agg(json_build_object('clientCode', client_code, 'propertyCode', property_code, 'resource', resource,
        'key', key, 'profile', encode(profile_digest, 'hex')))
      from bellhop.erasure_subject as subject where subject.erasure_id = erasure.erasure_id
    ) as subjects
  from bellhop.erasure
  order by started_at, erasure_id`,
);
const importErasure = readStatement(new URL("./sql/import-erasure.sql", import.meta.url));
/** The key of another installation, where nothing is listed under this one's. */
const replaceListKey = namedStatement(
  "replace-list-key",
  `update bellhop.instance set value = $1
  where name = 'privacy.list' and not exists (select from bellhop.erasure_subject where profile_digest is not null)`,
);

const FORMAT = "bellhop-erasures/1";

/** One erasure of the list, as a line of the file. */
export interface ListedErasure {
  readonly erasureId: string;
  readonly reason: string;
  readonly requestedBy: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly certificate: string | null;
  readonly certificateHash: string | null;
  readonly subjects: readonly ListedSubject[];
}

/** The erasure list outside of the database: JSON lines, the first of them a head that names the key of profiles. */
export interface ErasureListFile {
  /** 64 hexadecimal digits: the key under which the profiles in it are digested. */
  readonly profileKey: string;
  readonly erasures: readonly ListedErasure[];
}

/** Writes the whole list as the text of a file. Whoever has it can try out profile ids: it is kept as the keys are. */
export async function exportErasures(on: Queryable): Promise<string> {
  const { rows } = await on.query<ListedErasure>(listErasures);
  const head = { format: FORMAT, profileKey: await readProfileKey(on), erasures: rows.length };
  return [head, ...rows].map((line) => `${JSON.stringify(line)}\n`).join("");
}

function lineOf(line: string, number: number): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === "object" && parsed !== null) return { ...parsed };
  } catch {
    // Told below.
  }
  throw new ErasureError(`Line ${number} of the erasure list is not one of its lines.`);
}

const HEX_KEY = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isSubject(value: unknown): value is ListedSubject {
  if (typeof value !== "object" || value === null) return false;
  const { clientCode, propertyCode, resource, key, profile } = value as Record<string, unknown>;
  const isRecord = typeof propertyCode === "string" && typeof key === "string" && profile === null;
  const isProfile =
    propertyCode === null && key === null && typeof profile === "string" && HEX_KEY.test(profile);
  return typeof clientCode === "string" && (resource === "r" || resource === "g") && (isRecord || isProfile);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function erasureOf(line: Record<string, unknown>, number: number): ListedErasure {
  const { erasureId, reason, requestedBy, startedAt, finishedAt, certificate, certificateHash, subjects } =
    line;
  if (
    typeof erasureId !== "string" ||
    !UUID.test(erasureId) ||
    typeof reason !== "string" ||
    typeof requestedBy !== "string" ||
    typeof startedAt !== "string" ||
    !isTextOrNull(finishedAt) ||
    !isTextOrNull(certificate) ||
    !isTextOrNull(certificateHash) ||
    !Array.isArray(subjects) ||
    !subjects.every(isSubject)
  )
    throw new ErasureError(`Line ${number} of the erasure list is not one of its lines.`);
  return { erasureId, reason, requestedBy, startedAt, finishedAt, certificate, certificateHash, subjects };
}

/** Reads the text of a file; throws ErasureError for one that is none, or that is cut off. */
export function readErasureList(text: string): ErasureListFile {
  const [first, ...lines] = text.split("\n").filter((line) => line.trim() !== "");
  const head = first === undefined ? {} : lineOf(first, 1);
  const { format, profileKey, erasures } = head;
  if (format !== FORMAT || typeof profileKey !== "string" || !HEX_KEY.test(profileKey))
    throw new ErasureError(`This is no erasure list (${FORMAT}).`);
  if (erasures !== lines.length)
    throw new ErasureError(
      `The erasure list is cut off: it has ${lines.length} of ${String(erasures)} erasures.`,
    );
  return { profileKey, erasures: lines.map((line, at) => erasureOf(lineOf(line, at + 2), at + 2)) };
}

/**
 * Puts what a list says beside what the database's own says; answers the ids of erasures that were not in it, whose subjects are
 * then to be taken out of what is kept (`applyImported`). Throws ErasureError where profiles of both are under different keys.
 */
export async function importErasures(
  client: pg.ClientBase,
  list: ErasureListFile,
): Promise<readonly string[]> {
  return withTransaction(client, async () => {
    if ((await readProfileKey(client)) !== list.profileKey) {
      const { rowCount } = await client.query({ ...replaceListKey, values: [list.profileKey] });
      if (rowCount !== 1)
        throw new ErasureError("This database lists profiles under another key than the file does.");
    }
    const added: string[] = [];
    for (const erasure of list.erasures) {
      const subjects = erasure.subjects.map(({ clientCode, propertyCode, resource, key, profile }) => ({
        client_code: clientCode,
        property_code: propertyCode,
        resource,
        key,
        profile,
      }));
      const { rowCount } = await client.query({
        ...importErasure,
        values: [
          erasure.erasureId,
          erasure.reason,
          erasure.requestedBy,
          erasure.startedAt,
          erasure.finishedAt,
          erasure.certificate,
          erasure.certificateHash,
          JSON.stringify(subjects),
        ],
      });
      if (rowCount === 1) added.push(erasure.erasureId);
    }
    return added;
  });
}
