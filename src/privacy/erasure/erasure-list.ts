import { randomBytes } from "node:crypto";
import { open, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type pg from "pg";
import { letterOf } from "#contract/resource.ts";
import { hashKey, type ListedSubject, profileDigest, type RecordIdentity } from "../../ingest/redact.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../../platform/db/transaction.ts";
import { OperatorError } from "../../platform/errors/operator-error.ts";
import { isUuid } from "../../platform/http/position.ts";
import { countText } from "../../platform/runtime/amounts.ts";

/** An erasure cannot be carried out; the message says why. */
export class ErasureError extends OperatorError {}

const readListKey = namedStatement(
  "read-list-key",
  `select value from bellhop.instance where name = 'privacy.list'`,
);

/** A reservation or group block master. */
export interface RecordSubject extends RecordIdentity {
  readonly resource: "reservations" | "groups";
}

/** Every reservation of a client code that names a profile. */
interface ProfileSubject {
  readonly clientCode: string;
  readonly profileId: string;
}

export type Subject = RecordSubject | ProfileSubject;

/** The key of profile digests: 64 hexadecimal digits, unique to the installation. */
export async function readProfileKey(on: Queryable): Promise<string> {
  const { rows } = await on.query<{ value: string }>(readListKey);
  const value = rows[0]?.value;
  if (value === undefined)
    throw new Error("bellhop.instance has no privacy.list: the migrations did not run.");
  return value;
}

/** Subjects as JSON for statements. */
export function subjectsJson(subjects: readonly ListedSubject[]): string {
  return JSON.stringify(
    subjects.map(({ clientCode, propertyCode, ...rest }) => ({
      client_code: clientCode,
      property_code: propertyCode,
      ...rest,
    })),
  );
}

/** The stored form of a subject. */
export function listedSubject(subject: Subject, profileKey: string): ListedSubject {
  const { clientCode } = subject;
  if ("profileId" in subject) {
    const profile = profileDigest(hashKey(profileKey), clientCode, subject.profileId);
    return { clientCode, propertyCode: null, resource: "r", key: null, profile };
  }
  const { propertyCode, resource, key } = subject;
  return { clientCode, propertyCode, resource: letterOf(resource), key, profile: null };
}

/** SQL column: the subjects of an erasure as `ListedSubject`s. */
export const SUBJECTS_COLUMN = `(
  select json_agg(json_build_object('clientCode', client_code, 'propertyCode', property_code, 'resource', resource,
    'key', key, 'profile', encode(profile_digest, 'hex')))
  from bellhop.erasure_subject as subject where subject.erasure_id = erasure.erasure_id
) as subjects`;

const listForExport = namedStatement(
  "list-for-export",
  `select erasure_id as "erasureId", reason, requested_by as "requestedBy", started_at as "startedAt",
    finished_at as "finishedAt", certificate, certificate_hash as "certificateHash",
    ${SUBJECTS_COLUMN}
  from bellhop.erasure
  order by started_at, erasure_id`,
);
const importErasure = readStatement(new URL("./sql/import-erasure.sql", import.meta.url));
/** Adopts another installation's key if no profile is listed under this one's. */
const replaceListKey = namedStatement(
  "replace-list-key",
  `update bellhop.instance set value = $1
  where name = 'privacy.list' and not exists (select from bellhop.erasure_subject where profile_digest is not null)`,
);

const FORMAT = "bellhop-erasures/1";

/** One erasure: a line of the file. */
interface ListedErasure {
  readonly erasureId: string;
  readonly reason: string;
  readonly requestedBy: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly certificate: string | null;
  readonly certificateHash: string | null;
  readonly subjects: readonly ListedSubject[];
}

/** The erasure list as a file: JSON lines after a header with the profile key. */
export interface ErasureListFile {
  /** 64 hexadecimal digits: the key of the profile digests in it. */
  readonly profileKey: string;
  readonly erasures: readonly ListedErasure[];
}

/** The whole list as the text of a file. It allows guessing profile ids, so store it as securely as keys. */
export async function exportErasures(on: Queryable): Promise<string> {
  const { rows } = await on.query<ListedErasure>(listForExport);
  const head = { format: FORMAT, profileKey: await readProfileKey(on), erasures: rows.length };
  return [head, ...rows].map((line) => `${JSON.stringify(line)}\n`).join("");
}

function lineOf(line: string, number: number): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === "object" && parsed !== null) return { ...parsed };
  } catch {
    // Reported below.
  }
  throw new ErasureError(`Line ${number} of the erasure list is invalid.`);
}

const HEX_KEY = /^[0-9a-f]{64}$/;

function isSubject(value: unknown): value is ListedSubject {
  if (typeof value !== "object" || value === null) return false;
  const { clientCode, propertyCode, resource, key, profile } = value as Record<string, unknown>;
  const isRecord = typeof propertyCode === "string" && typeof key === "string" && profile === null;
  const isProfile =
    propertyCode === null && key === null && typeof profile === "string" && HEX_KEY.test(profile);
  return typeof clientCode === "string" && (resource === "r" || resource === "g") && (isRecord || isProfile);
}

const TEXTS = ["erasureId", "reason", "requestedBy", "startedAt"];
const TEXTS_OR_NULL = ["finishedAt", "certificate", "certificateHash"];

function erasureOf(line: Record<string, unknown>, number: number): ListedErasure {
  const { erasureId, subjects } = line;
  const isErasure =
    TEXTS.every((name) => typeof line[name] === "string") &&
    TEXTS_OR_NULL.every((name) => line[name] === null || typeof line[name] === "string") &&
    isUuid(String(erasureId)) &&
    Array.isArray(subjects) &&
    subjects.every(isSubject);
  if (!isErasure) throw new ErasureError(`Line ${number} of the erasure list is invalid.`);
  return line as unknown as ListedErasure;
}

/** Parses the text of a file; throws ErasureError if it is no list or is truncated. */
function readErasureList(text: string): ErasureListFile {
  const [first, ...lines] = text.split("\n").filter((line) => line.trim() !== "");
  const head = first === undefined ? {} : lineOf(first, 1);
  const { format, profileKey, erasures } = head;
  if (format !== FORMAT || typeof profileKey !== "string" || !HEX_KEY.test(profileKey))
    throw new ErasureError(`This is not an erasure list (${FORMAT}).`);
  if (erasures !== lines.length)
    throw new ErasureError(
      `The erasure list is truncated: it has ${lines.length} of ${String(erasures)} erasures.`,
    );
  return { profileKey, erasures: lines.map((line, at) => erasureOf(lineOf(line, at + 2), at + 2)) };
}

/**
 * Adds the erasures of a file to the database's list; returns how many were new. Throws ErasureError if both list profiles under different
 * keys.
 */
export async function importErasures(client: pg.ClientBase, list: ErasureListFile): Promise<number> {
  return withTransaction(client, async () => {
    if ((await readProfileKey(client)) !== list.profileKey) {
      const { rowCount } = await client.query({ ...replaceListKey, values: [list.profileKey] });
      if (rowCount !== 1) throw new ErasureError("This database's profile key differs from the file's.");
    }
    let added = 0;
    for (const erasure of list.erasures) {
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
          subjectsJson(erasure.subjects),
        ],
      });
      added += rowCount ?? 0;
    }
    return added;
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

/** Reads a list from a file. Throws ErasureError if it is missing, invalid or truncated. */
export async function readListFile(path: string): Promise<ErasureListFile> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new ErasureError(`The erasure list ${path} cannot be read (${codeOf(cause)}).`, { cause });
  });
  return readErasureList(text);
}

/**
 * Throws ErasureError if a file lists erasures that the database does not know (after a restore, or of another installation): overwriting
 * it would lose them.
 */
async function requireNoUnknownErasures(path: string, list: ErasureListFile): Promise<void> {
  const before = await readListFile(path).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ErasureError(`${path} exists and is not replaced: ${why} Name another file.`, { cause });
  });
  const known = new Set(list.erasures.map(({ erasureId }) => erasureId));
  const forgotten = before.erasures.filter(({ erasureId }) => !known.has(erasureId)).length;
  if (forgotten > 0)
    throw new ErasureError(
      `${path} lists ${countText(forgotten, "erasure")} that this database does not know, and is not replaced: import it first (bellhop erasure import ${path}), or name another file.`,
    );
}

/** Writes a temporary file and renames it, so that either list is always complete on disk. */
async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.partial-${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(partial, text, { mode: 0o600, flag: "wx", flush: true });
    await rename(partial, path);
    const directory = await open(dirname(path), "r");
    await directory.sync();
    await directory.close();
  } catch (cause) {
    await rm(partial, { force: true });
    throw new ErasureError(`The erasure list cannot be written to ${path} (${codeOf(cause)}).`, { cause });
  }
}

/**
 * Writes a list to a path (mode 0600), replacing an earlier list unless that contains unknown erasures. Throws ErasureError if it cannot be
 * written or would replace another file.
 */
export async function writeListFile(path: string, text: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) throw new ErasureError(`${path} is a directory: name a file.`);
  // A pipe or device is written directly.
  if (found !== undefined && !found.isFile()) return await writeFile(path, text);
  if (found !== undefined) await requireNoUnknownErasures(path, readErasureList(text));
  await replaceFile(found === undefined ? path : await realpath(path), text);
}

const listStatement = namedStatement(
  "list-erasures",
  `select erasure_id as "erasureId", requested_by as "requestedBy", reason, started_at as "startedAt",
    finished_at as "finishedAt", certificate_hash as "certificateHash",
    (
      select count(*)::integer from bellhop.erasure_subject as subject where subject.erasure_id = erasure.erasure_id
    ) as subjects
  from bellhop.erasure
  order by started_at desc, erasure_id`,
);
const findStatement = namedStatement(
  "find-certificate",
  `select certificate from bellhop.erasure where erasure_id::text = $1 and certificate is not null`,
);

/** An erasure as shown to operators. */
interface ErasureSummary {
  readonly erasureId: string;
  readonly requestedBy: string;
  readonly reason: string;
  readonly startedAt: Date;
  /** Null if it is running or was interrupted. */
  readonly finishedAt: Date | null;
  readonly subjects: number;
  readonly certificateHash: string | null;
}

/** All erasures, newest first. */
export async function listErasures(on: Queryable): Promise<ErasureSummary[]> {
  return (await on.query<ErasureSummary>(listStatement)).rows;
}

/** The certificate of an erasure, exactly as hashed; undefined if there is none yet. */
export async function findCertificate(on: Queryable, erasureId: string): Promise<string | undefined> {
  const { rows } = await on.query<{ certificate: string }>({ ...findStatement, values: [erasureId] });
  return rows[0]?.certificate;
}
