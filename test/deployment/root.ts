import { execFile, spawn } from "node:child_process";
import { cp, mkdir, readdir, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Of this machine's system, which stands for the base image; never written to. */
const SYSTEM = ["usr", "bin", "sbin", "lib", "lib64"];
const NODE = "/opt/base/node";

/** What a command in a root runs as and sees. */
export interface Constraints {
  readonly uid: number;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The root cannot be written, and no capability is left. Without it: as a RUN of a build has it. */
  readonly locked: boolean;
  /** What is put before the command outside of the root: the control group it runs in. */
  readonly launcher?: readonly string[];
}

/** Makes a root of this machine's system: its programs by mounts when something runs in it, its settings copied. */
export async function makeRoot(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o755 });
  for (const name of ["proc", "sys", "dev", "tmp", "root", "opt/base", "run/secrets"])
    await mkdir(join(root, name), { recursive: true });
  await cp("/etc", join(root, "etc"), { recursive: true, verbatimSymlinks: true });
  for (const name of SYSTEM) {
    const target = await readlink(`/${name}`).catch(() => undefined);
    if (target === undefined) await mkdir(join(root, name), { recursive: true });
    else await symlink(target, join(root, name));
  }
  await writeFile(join(root, NODE), "");
}

/** The mounts of one command, in a namespace of its own, and then the command in the place of the shell. */
function script(root: string, { uid, directory, locked }: Constraints, systems: readonly string[]): string {
  const at = (path: string) => `"${join(root, path)}"`;
  const readOnly = (path: string) => `mount -o remount,ro,bind ${at(path)}`;
  const account = locked
    ? `setpriv --reuid=${uid} --regid=${uid} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all`
    : `setpriv --reuid=${uid} --regid=${uid} --clear-groups`;
  return [
    "set -e",
    "mount --make-rprivate /",
    `mount --bind ${at("")} ${at("")}`,
    ...systems.flatMap((name) => [`mount --bind /${name} ${at(name)}`, readOnly(name)]),
    `mount --bind "${process.execPath}" ${at(NODE)}`,
    readOnly(NODE),
    `mount --rbind /dev ${at("dev")}`,
    `mount -t proc proc ${at("proc")}`,
    `mount --rbind /sys ${at("sys")}`,
    ...(locked ? [readOnly("")] : [`mount -t tmpfs tmpfs ${at("tmp")}`]),
    `exec chroot ${at("")} ${account} env --chdir="${directory}" "$@"`,
  ].join("\n");
}

async function systemsOf(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { withFileTypes: true });
  return entries
    .filter((entry) => SYSTEM.includes(entry.name) && entry.isDirectory())
    .map(({ name }) => name);
}

/** Starts a command in a root as the first process of a namespace of its own; its output is the caller's to read. */
export async function startIn(root: string, command: readonly string[], constraints: Constraints) {
  const { launcher = [], environment } = constraints;
  const words = [
    ...launcher,
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "/bin/sh",
    "-c",
    script(root, constraints, await systemsOf(root)),
    "sh",
    ...command,
  ];
  const [program = "", ...rest] = words;
  return spawn(program, rest, {
    env: { PATH: "/opt/base:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** What became of a command. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in a root to its end. */
export async function runIn(
  root: string,
  command: readonly string[],
  constraints: Constraints,
): Promise<Ended> {
  const child = await startIn(root, command, constraints);
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.err += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...output };
}

/** Bytes that a directory takes. */
export async function sizeOf(directory: string): Promise<number> {
  const { stdout } = await run("du", ["-sb", directory]);
  return Number(stdout.split("\t")[0]);
}

/** Copies a file or directory so that whoever runs in the root finds it there. */
export async function put(root: string, path: string, from: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await cp(from, join(root, path), { recursive: true });
}
