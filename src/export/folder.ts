import { closeSync, fsyncSync, openSync, writeFileSync } from "node:fs";
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { makeDirectory } from "../platform/runtime/make-directory.ts";
import type { Column } from "./columns.ts";
import type { ExportedFile, Format } from "./row-file.ts";
import { TABLE_NAMES, type TableName } from "./tables.ts";

/** The folder cannot be exported to; the message says why. */
export class ExportError extends OperatorError {}

/** What files of one export have in common. An export whose basis is another one begins anew. */
export interface Basis {
  readonly format: Format;
  readonly tables: readonly TableName[];
  /** Of Bellhop. */
  readonly version: string;
  /** Another one after a restore, which reuses change numbers. */
  readonly epoch: number;
  /** Another one after an erasure or a deletion. */
  readonly privacy: string;
}

/** How far an export has come. */
export interface Position {
  /** The number of the last change of each bucket. */
  readonly changes: readonly number[];
  /** Everything received before that has been exported: ISO 8601. */
  readonly receivedBefore: string;
}

/** Files that were written together. Where several passes have a row of one key, the newest pass counts. */
export interface Pass {
  readonly pass: number;
  readonly files: readonly ExportedFile[];
}

export interface Manifest {
  readonly manifestVersion: 1;
  readonly basis: Basis;
  /** When, and why, all rows were exported; passes since then have what changed. */
  readonly full: { readonly at: string; readonly reason: string };
  /** The state that the files add up to is that of this instant. */
  readonly takenAt: string;
  readonly position: Position;
  /** What retention had deleted by then: payloads, outcomes or versions of a client code's records. */
  readonly retention: readonly object[];
  readonly tables: Readonly<
    Partial<Record<TableName, { readonly key: readonly string[]; readonly columns: readonly Column[] }>>
  >;
  readonly lastPass: number;
  readonly passes: readonly Pass[];
}

/** A pass that a killed run may leave. */
export interface OpenPass {
  readonly to: Position;
  /** By table, the first bucket that is not in a finished file. */
  readonly done: Partial<Record<TableName, number>>;
  readonly files: ExportedFile[];
}

/** A run that has not written its manifest. */
export interface Draft {
  readonly basis: Basis;
  /** The last pass of the manifest that it began with; 0: none. */
  readonly after: number;
  readonly full: Manifest["full"] | null;
  position: Position | null;
  readonly passes: Pass[];
  open: OpenPass | null;
}

const MANIFEST = "manifest.json";
const DRAFT = "unfinished.json";

async function readJson<Content>(path: string): Promise<Content | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Content;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Opens a folder for exports. Throws ExportError where it has files of something else. */
export async function openFolder(directory: string): Promise<ExportFolder> {
  await makeDirectory(directory, 0o700);
  const manifest = await readJson<Manifest>(join(directory, MANIFEST));
  if (manifest !== undefined && manifest.manifestVersion !== 1)
    throw new ExportError(`${directory} has an export by a newer version of Bellhop.`);
  const draft = await readJson<Draft>(join(directory, DRAFT));
  const isOurs = manifest !== undefined || draft !== undefined;
  if (!isOurs && (await readdir(directory)).length > 0)
    throw new ExportError(
      `${directory} is not empty and has no ${MANIFEST}: name an empty folder, or one with an export.`,
    );
  return new ExportFolder(directory, manifest, draft);
}

export class ExportFolder {
  readonly directory: string;
  /** As it was when the folder was opened. */
  readonly manifest: Manifest | undefined;
  readonly draft: Draft | undefined;

  constructor(directory: string, manifest: Manifest | undefined, draft: Draft | undefined) {
    this.directory = directory;
    this.manifest = manifest;
    this.draft = draft;
  }

  async saveDraft(draft: Draft): Promise<void> {
    await this.#replace(DRAFT, draft);
  }

  /** From here on the run counts; files that the manifest does not name are deleted. */
  async finish(manifest: Manifest): Promise<void> {
    await this.#replace(MANIFEST, manifest);
    await rm(join(this.directory, DRAFT), { force: true });
    await this.keepOnly(manifest.passes.flatMap(({ files }) => files));
  }

  /** Deletes all files of tables but these. */
  async keepOnly(files: readonly ExportedFile[]): Promise<void> {
    const kept = new Set(files.map(({ path }) => path));
    for (const table of TABLE_NAMES) {
      const directory = join(this.directory, table);
      const found = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
      for (const entry of found) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile() && !kept.has(relative(this.directory, path))) await rm(path);
      }
    }
  }

  /** Replaces a file so that it is the former or the new one, whole and on disk, whenever the process is killed. */
  async #replace(name: string, content: object): Promise<void> {
    const path = join(this.directory, name);
    const file = openSync(`${path}.partial`, "w", 0o600);
    // A disk that fills up takes a part of it without an error: this writes until all is there, or throws.
    writeFileSync(file, `${JSON.stringify(content, null, 1)}\n`);
    fsyncSync(file);
    closeSync(file);
    await rename(`${path}.partial`, path);
    const directory = openSync(this.directory, "r");
    fsyncSync(directory);
    closeSync(directory);
  }
}
