import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { COMMANDS } from "../../src/cli.ts";
import { runLines } from "../support/command-lines.ts";
import { createTestDatabase, isOnCitus, type TestDatabase } from "../support/database.ts";
import { reservationRecord } from "../support/records.ts";
import { temporaryDirectory } from "../support/test-server.ts";

/** Rewritten with WRITE_GOLDEN=1. */
const GOLDEN = new URL("../golden/cli-json.txt", import.meta.url);

let database: TestDatabase;
let directory: string;
before(async () => {
  database = await createTestDatabase();
  directory = await temporaryDirectory("cli-json");
});
after(() => database.drop());

/** The type of a value, with the fields of objects: what a program that reads the output relies on. */
function shapeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `[${[...new Set(value.map(shapeOf))].sort().join(" | ")}]`;
  if (typeof value !== "object") return typeof value;
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${shapeOf(field)}`);
  return `{ ${fields.join(", ")} }`;
}

function shapeOfOutput(out: string): string {
  if (out === "") return "nothing";
  const lines = out.trimEnd().split("\n");
  try {
    return shapeOf(JSON.parse(out));
  } catch {
    return `${lines.length} lines of text`;
  }
}

/** So that an endpoint on this machine is allowed. */
const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" };

const LINES = [
  "client create --name Acme --grant ACME/* --rate 5 --expires 90d --json",
  "client list --json",
  "client show <client_id> --json",
  "client update <client_id> --add-grant ACME/H1 --scope read --rate default --nulls absent --json",
  "client rotate-secret --client-id <client_id> --overlap 1h --json",
  "client update nobody --name X --json",
  "client show nobody",
  "token --client-id <client_id> --for 5m --json",
  "token <client_id>",
  "token revoke <token_id> --json",
  "key list --json",
  "key rotate --announce 1h --json",
  "key rotate --json",
  "key reseal --json",
  "key revoke nobody --json",
  "pepper status --json",
  "pepper rotate --json",
  "pepper retire --json",
  "payload-key list --json",
  "payload-key rotate --json",
  "operator create anna --json",
  "operator password anna --json",
  "operator list --json",
  "operator disable anna --json",
  "operator enable anna --json",
  "operator disable nobody",
  "subscription create anna --report ACME/P1 --at 07:00 --json",
  "subscription create anna --report ACME/P1 --at 7 --json",
  "subscription create anna --alerts silent --of NOBODY/* --json",
  "subscription list --json",
  "subscription messages --json",
  "subscription test <subscriptionId> --json",
  "subscription pause <subscriptionId> --json",
  "subscription resume <subscriptionId> --json",
  "subscription remove <subscriptionId> --json",
  "subscription remove <subscriptionId> --json",
  "operator set anna --role viewer --json",
  "operator remove anna --json",
  "label map ACME reservations TENT --deducts yes --json",
  "label list --json",
  "label list --client ACME --unmapped --json",
  "label unmap ACME reservations TENT --json",
  "label unmap ACME reservations TENT",
  "setting set ACME timeZone Europe/Paris --json",
  "setting set ACME timeZone UTC --property P1 --json",
  "setting list --json",
  "setting list --client ACME --property P1 --json",
  "setting unset ACME timeZone --json",
  "setting unset ACME timeZone --json",
  "webhook create --client-id <client_id> --url https://127.0.0.1/x --event changes.available --json",
  "webhook list --json",
  "webhook list --client-id nobody --json",
  "webhook show <endpointId> --json",
  "webhook pause <endpointId> --reason upgrade --json",
  "webhook resume <endpointId> --json",
  "webhook rotate-secret <endpointId> --overlap 1h --json",
  "webhook dead-letters <endpointId> --limit 5 --json",
  "webhook redrive <endpointId> --json",
  "webhook remove <endpointId> --json",
  "webhook remove <endpointId> --json",
  "quarantine list --json",
  "quarantine release 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 all --json",
  "quarantine discard 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 0 --json",
  "erasure list --json",
  "erasure find --name Nobody --json",
  "erasure run --reservation ACME/P1/R-1 --reason asked --json",
  "erasure list --json",
  "erasure certificate <erasureId> --json",
  "erasure certificate 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11",
  "erasure resume 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 --json",
  "erasure export DIRECTORY/list --json",
  "erasure export - --json",
  "erasure import DIRECTORY/list --json",
  "delete property ACME/P1 --dry-run --json",
  "delete client NOBODY --dry-run --json",
  "delete property ACME/NOWHERE --reason left --json",
  "backfill list --state open --limit 5 --json",
  "backfill show 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 --json",
  "backfill sign 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 --hash x --json",
  "backfill abandon 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 --json",
  "certify start --client-id <client_id> --property ACME/P1 --days 3 --json",
  "certify list --json",
  "certify show <certificationId> --json",
  "certify report <certificationId> --json",
  "certify report <certificationId> --json --html",
  "certify show nobody",
  "certify end <client_id> --json",
  "certify end <client_id> --json",
  "client revoke <client_id> --json",
  "retention set ACME payloads 90d --json",
  "retention set ACME payloads 5m --json",
  "retention list --json",
  "retention run --dry-run --json",
  "retention run --json",
  "retention unset ACME payloads --json",
  "retention unset ACME payloads --json",
  "replay --json",
  "backup DIRECTORY/backup.tar --verify --json",
  "export DIRECTORY/export --json",
  "export DIRECTORY/export --table frob",
  "restore DIRECTORY/backup.tar --check --json",
  "restore DIRECTORY/backup.tar --without-erasures --json",
  "void-cursors --json",
  "citus distribute --json",
  "citus distribute --shards 0",
  "validate DIRECTORY/records.json --json",
  "validate DIRECTORY/records.json --limit 1",
  "simulate --days 1 --properties 1 --horizon 1 --out DIRECTORY --json",
  "watch",
];

/** Where there are workers, what is refused elsewhere is done, or was before. */
const DISTRIBUTED = [
  "citus distribute --json\n  1  nothing\n",
  "citus distribute --json\n  0  { workers: [string], shards: number, steps: [{ table: string, done: boolean, bytes: number }], distributed: boolean }\n",
] as const;

test("every verb accepts --json except those that run the service or print a script", async () => {
  const without: string[] = [];
  for (const { name, load } of COMMANDS) {
    const { verbs = {}, own } = await load();
    const all = [...Object.entries(verbs), ...(own === undefined ? [] : [["", own] as const])];
    without.push(
      ...all.filter(([, { json }]) => json === undefined).map(([verb]) => `${name} ${verb}`.trim()),
    );
  }
  assert.deepEqual(without, ["serve", "completion"]);
});

test("exit codes and the shape of --json are as in test/golden/cli-json.txt", async () => {
  const records = [reservationRecord(), { ...reservationRecord(), reservationId: 7 }];
  await writeFile(join(directory, "records.json"), JSON.stringify(records));
  const argvs = LINES.map((line) => line.replaceAll("DIRECTORY", directory).split(" "));
  const answers = await runLines(argvs, { DATABASE_URL: database.url, DATA_DIR: directory, ...NETWORKS });
  const found = answers
    .map(({ code, out }, at) => `bellhop ${LINES[at]}\n  ${code}  ${shapeOfOutput(out)}\n`)
    .join("");
  if (process.env["WRITE_GOLDEN"] === "1") await writeFile(GOLDEN, found);
  const golden = await readFile(GOLDEN, "utf8");
  assert.equal(found, (await isOnCitus()) ? golden.replace(...DISTRIBUTED) : golden);
  for (const { code, err } of answers) if (code !== 0) assert.match(err, /^$|^bellhop/);
});
