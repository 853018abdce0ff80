import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What a user would pick instead, each in a folder of bench/peers with packages of its own. */
export interface Peer {
  readonly name: string;
  /** Which part of a round's batches it is sent: one that is slow shows its rate with fewer. */
  readonly share: number;
}

export const PEERS: readonly Peer[] = [
  { name: "good-team", share: 1 },
  { name: "typical-team", share: 0.1 },
  { name: "postgraphile", share: 0.2 },
  { name: "directus", share: 0.02 },
];

function folderOf(name: string): URL {
  return new URL(`./peers/${name}/`, import.meta.url);
}

export function serverOf({ name }: Peer): URL {
  return new URL("server.ts", folderOf(name));
}

/**
 * Installs a peer's packages where they are missing or not those of its lock file. Throws, with what npm said, where they
 * cannot be had.
 */
export function installPeer({ name }: Peer): void {
  const folder = folderOf(name);
  const installed = new URL("node_modules/.package-lock.json", folder);
  const lock = readFileSync(new URL("package-lock.json", folder), "utf8");
  const mark = new URL("node_modules/.installed-lock.json", folder);
  if (existsSync(installed) && existsSync(mark) && readFileSync(mark, "utf8") === lock) return;
  console.error(`installing the packages of ${name}, once (of directus for minutes)`);
  try {
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: fileURLToPath(folder),
      stdio: ["ignore", "ignore", "pipe"],
    });
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? (error as Error).message).trim();
    throw new Error(
      `The packages of ${name} could not be installed; without a network, leave it out with --peer. npm said:\n${said}`,
    );
  }
  writeFileSync(mark, lock);
}
