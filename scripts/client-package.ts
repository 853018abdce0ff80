/** Builds and packs packages/client as it would be published. */
import { execFile } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../", import.meta.url));

export const CLIENT_DIRECTORY = join(root, "packages", "client");

/** A packed package: the path of its tarball, and its size in bytes. */
export interface PackedClient {
  readonly tarball: string;
  readonly packedBytes: number;
  readonly unpackedBytes: number;
  readonly files: readonly string[];
}

/** Compiles the client into an empty dist folder. Throws with the compiler's messages if it fails. */
export async function buildClient(): Promise<void> {
  const dist = join(CLIENT_DIRECTORY, "dist");
  await rm(dist, { recursive: true, force: true });
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const project = join(CLIENT_DIRECTORY, "tsconfig.build.json");
  try {
    await run(process.execPath, [compiler, "-p", project], { cwd: root });
  } catch (cause) {
    const words = cause instanceof Error && "stdout" in cause ? String(cause.stdout) : "";
    throw new Error(`The client does not compile:\n${words}`, { cause });
  }
  // The compiler rewrites import extensions in code but not in declarations, where older compilers reject them.
  for (const name of await readdir(dist)) {
    if (!name.endsWith(".d.ts")) continue;
    const path = join(dist, name);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replaceAll(/(from|import\() ?"(\.\/[\w-]+)\.ts"/g, '$1 "$2.js"'));
  }
}

/** Packs the built client into `directory`, without running scripts. */
export async function packClient(directory: string): Promise<PackedClient> {
  const { stdout } = await run(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", directory],
    {
      cwd: CLIENT_DIRECTORY,
      env: { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"]].join(":") },
    },
  );
  const [packed] = JSON.parse(stdout) as [
    { filename: string; size: number; unpackedSize: number; files: { path: string }[] },
  ];
  return {
    tarball: join(directory, packed.filename),
    packedBytes: packed.size,
    unpackedBytes: packed.unpackedSize,
    files: packed.files.map(({ path }) => path),
  };
}
