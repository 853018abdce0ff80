import { closeSync, fsyncSync, openSync, writeFileSync } from "node:fs";
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { makeDirectory } from "../platform/runtime/make-directory.ts";
import { createOwnFile, refuseLink } from "../platform/runtime/own-files.ts";
import type { ExportedFile, Format } from "./row-file.ts";
import { TABLE_NAMES, type Table, type TableName } from "./tables.ts";

/** The folder cannot be used for an export; the message says why. */
export class ExportError extends OperatorError {}

/** Properties shared by the files of one export. An export with another basis starts over. */
export interface Basis {
  readonly format: Format;
  readonly tables: readonly TableName[];
  /** The Bellhop version. */
  readonly version: string;
  /** Derived from a key of the installation. */
  readonly installation: string;
  /** Changes with a restore, which reuses change numbers. */
  readonly epoch: number;
  /** Changes with an erasure or deletion. */
  readonly privacy: string;
}

/** How far an export has progressed. */
export interface Position {
  /** The last change number of each bucket. */
  readonly changes: readonly number[];
  /** Everything received before this has been exported: ISO 8601. */
  readonly receivedBefore: string;
}

/** Files that were written together. For rows with the same key, the newest pass applies. */
export interface Pass {
  readonly pass: number;
  readonly files: readonly ExportedFile[];
}

export interface Manifest {
  readonly manifestVersion: 1;
  readonly basis: Basis;
  /** When and why all rows were exported; later passes contain changes. */
  readonly full: { readonly at: string; readonly reason: string };
  /** The files add up to the state at this time. */
  readonly takenAt: string;
  readonly position: Position;
  /** Data that retention had deleted by then: payloads, outcomes or versions of client codes' records. */
  readonly retention: readonly object[];
  readonly tables: Readonly<Partial<Record<TableName, Pick<Table, "key" | "columns" | "resource">>>>;
  readonly lastPass: number;
  readonly passes: readonly Pass[];
}

/** A pass in progress, which a killed run may leave. */
export interface OpenPass {
  readonly to: Position;
  /** By table, the first bucket that is not in a finished file. */
  readonly done: Partial<Record<TableName, number>>;
  readonly files: ExportedFile[];
}

/** A run that has not written its manifest. */
export interface Draft {
  readonly basis: Basis;
  /** The last pass of the manifest that it started from; 0: none. */
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

/** Opens a folder for exports. Throws ExportError if it contains other files. */
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
  /** As of when the folder was opened. */
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

  /** Completes the run. Deletes files that the manifest does not list. */
  async finish(manifest: Manifest): Promise<void> {
    await this.#replace(MANIFEST, manifest);
    await rm(join(this.directory, DRAFT), { force: true });
    await this.keepOnly(manifest.passes.flatMap(({ files }) => files));
  }

  /** Deletes all table files except these. */
  async keepOnly(files: readonly ExportedFile[]): Promise<void> {
    const kept = new Set(files.map(({ path }) => path));
    for (const table of TABLE_NAMES) {
      const directory = join(this.directory, table);
      refuseLink(directory);
      const found = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
      for (const entry of found) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile() && !kept.has(relative(this.directory, path))) await rm(path);
      }
    }
  }

  /** Replaces a file atomically and durably. */
  async #replace(name: string, content: object): Promise<void> {
    const path = join(this.directory, name);
    const file = createOwnFile(`${path}.partial`);
    // On a full disk a write may be partial without an error; writeFileSync writes everything or throws.
    writeFileSync(file, `${JSON.stringify(content, null, 1)}\n`);
    fsyncSync(file);
    closeSync(file);
    await rename(`${path}.partial`, path);
    const directory = openSync(this.directory, "r");
    fsyncSync(directory);
    closeSync(directory);
  }
}
