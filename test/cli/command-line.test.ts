import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { COMMANDS, runCommand } from "../../src/cli.ts";
import { type Answer, runLines } from "../support/command-lines.ts";

/** Where no database can be reached, so that only the lines themselves are checked. */
const NO_DATABASE = { DATABASE_URL: "postgresql://127.0.0.1:1/none" };

const HELPED = [
  "",
  "serve",
  "doctor",
  "client",
  "key",
  "pepper",
  "payload-key",
  "token",
  "operator",
  "subscription",
  "label",
  "setting",
  "quarantine",
  "webhook",
  "backfill",
  "certify",
  "erasure",
  "delete",
  "retention",
  "replay",
  "backup",
  "restore",
  "move",
  "export",
  "void-cursors",
  "simulate",
  "citus",
  "send",
  "validate",
  "watch",
  "completion",
].map((name) => `${name} --help`.trim());

test("bellhop --version prints the version", async () => {
  const lines: string[] = [];
  assert.equal(await runCommand(["--version"], {}, { out: (line) => lines.push(line) }), 0);
  assert.match(lines.join("\n"), /^bellhop \d+\.\d+\.\d+\S*$/);
});

const WRONG: readonly (readonly [line: string, said: RegExp])[] = [
  ["", /Usage: bellhop COMMAND/],
  ["frob", /^bellhop: Unknown command "frob"\. See bellhop --help\.\n$/],
  ["cilent", /^bellhop: Unknown command "cilent"\. Did you mean client\?/],
  ["serve --frob", /^bellhop serve: Unknown option '--frob'\. See bellhop serve --help\.\n$/],
  ["replay extra", /^bellhop replay: Unexpected argument "extra"\. See bellhop replay --help\.\n$/],
  ["backup", /FILE is missing\. See bellhop backup --help\./],
  ["backup - --verify", /--verify and --json cannot be used/],
  ["export x --format xls", /--format must be parquet, csv or ndjson/],
  [
    "export x --table frob",
    /--table must be records, nights, blocks, versions, outcomes, room_type_inventory,/,
  ],
  ["restore", /FILE is missing/],
  ["restore x.tar", /give --erasures LIST or --without-erasures/],
  ["move", /--to is missing/],
  ["move --to here", /--to must be the address of a database/],
  ["move --to https://db.example/x", /--to must be the address of a database/],
  ["quarantine", /Usage: bellhop quarantine COMMAND/],
  ["quarantine frob", /Unknown command "frob"\. The commands are list, release, discard\./],
  ["quarantine list --limit x", /--limit must be a whole number/],
  ["quarantine list --frob", /Unknown option '--frob'\. See bellhop quarantine list --help\./],
  ["quarantine list extra", /Unexpected argument "extra"/],
  ["quarantine release", /REQUEST_ID is missing/],
  ["quarantine release x all", /REQUEST_ID must be the UUID of a request/],
  [
    "quarantine discard 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 first",
    /INDEX\|all must be the index of a record, or all/,
  ],
  ["label", /Usage:/],
  ["label map ACME", /RESOURCE is missing/],
  [
    "label map ACME inventories X --deducts yes",
    /RESOURCE must be reservations or groups, not "inventories"/,
  ],
  ["label map ACME groups X --deducts maybe", /--deducts must be yes or no/],
  ["setting", /Usage:/],
  ["setting set ACME timeZone", /VALUE is missing/],
  ["setting set ACME timezone UTC", /Unknown setting "timezone"; the settings are occupancyBase, timeZone/],
  ["setting set ACME timeZone Mars", /timeZone takes an IANA time zone such as Europe\/Paris, not "Mars"/],
  ["setting unset ACME", /SETTING is missing/],
  ["setting list --property P1", /--property needs --client/],
  ["operator", /Usage:/],
  ["operator create", /NAME is missing/],
  ["operator create anna berta", /Unexpected argument "berta"/],
  ["simulate --properties 0", /--properties must be a whole number from 1 to 1000, not "0"/],
  ["simulate --faults late,frob", /--faults must be duplicate, out-of-order, late, .*, not "frob"/],
  ["simulate --out - --start 2025-02-30", /--start must be a date from 2000-01-01 to 2059-12-31/],
  ["simulate --out - --speed 0", /--speed must be max or a positive number/],
  ["simulate --resource groups", /--resource needs --out -/],
  ["client frob", /Unknown command "frob"/],
  ["client crate", /Unknown command "crate"\. Did you mean create\?/],
  ["client __proto__", /Unknown command "__proto__"/],
  ["client list --frob", /^bellhop client list: Unknown option '--frob'\. See bellhop client list --help\./],
  ["client create", /--name is missing/],
  [
    "client create --name X",
    /^bellhop client create: --grant is missing\. See bellhop client create --help\./,
  ],
  ["token --for 10m", /--for need a CLIENT_ID/],
  ["client create --name", /--name needs a value\./],
  ["client create --name --json", /--name needs a value; write --name=--json if --json is meant\./],
  ["client create --name X --rate -1", /--rate needs a value; write --rate=-1 if -1 is meant\./],
  ["client create --name X --grant A/* --rate=-1", /--rate must be a whole number, not "-1"/],
  ["delete property ACME --dry-run", /A property must be given as CLIENT\/PROPERTY, not "ACME"/],
  ["token", /No credentials\. Set BELLHOP_CLIENT_ID/],
  ["send", /FILE is missing\. See bellhop send --help\./],
  ["validate --frob -", /Unknown option '--frob'/],
  ["key revoke -Ys0", /Unknown option '-Ys0'\. Write -- before an argument that begins with a dash\. See /],
  ["validate /", /^bellhop validate: \/ is a directory, not a file\./],
  ["watch", /Pass a request id, or --changes/],
  ["watch --changes --property P1", /--property needs --client/],
  ["watch x", /^bellhop watch: REQUEST_ID must be the UUID of a request, not "x"/],
  ["completion", /SHELL is missing/],
  ["completion tcsh", /SHELL must be bash, zsh or fish, not "tcsh"/],
];

/** What stands for a setting, or names a file, is refused as that is. */
const WRONG_SETTINGS: readonly (readonly [line: string, said: RegExp])[] = [
  [
    "serve --role write",
    /^bellhop: ROLE must be one or more of accept,apply,read, each once, not "write"\.\n$/,
  ],
  ["serve --workers 0", /^bellhop: HTTP_THREADS must be at least 1\.\n$/],
  [
    "restore x.tar --without-erasures --into postgresql://127.0.0.1:1/none",
    /^bellhop: The database of --into cannot be reached \(ECONNREFUSED\)/,
  ],
  // The address of a socket is one, too: it is the database to move from that is away.
  ["move --to postgresql:///x?host=/nowhere", /^bellhop: The database of DATABASE_URL cannot be reached/],
  [
    "restore x.tar --erasures /nowhere/list",
    /^bellhop: The erasure list \/nowhere\/list cannot be read \(ENOENT\)\.\n$/,
  ],
];

describe("the command line", () => {
  let answers: Record<string, Answer>;
  const answerTo = (line: string): Answer => answers[line] ?? assert.fail(`${line} was not run`);
  before(async () => {
    const wrong = [...WRONG, ...WRONG_SETTINGS].map(([line]) => line);
    const lines = [...HELPED, ...wrong, "client list"];
    const argvs = lines.map((line) => line.split(" ").filter(Boolean));
    const reported = await runLines(argvs, NO_DATABASE);
    answers = Object.fromEntries(reported.map((answer, at) => [lines[at], answer]));
  });

  test("the help of every command and verb has an example", async () => {
    for (const { name, load } of COMMANDS) {
      const { own, verbs = {} } = await load();
      for (const [verb, { examples }] of [...Object.entries(verbs), ...(own ? [["", own] as const] : [])])
        for (const example of examples) {
          const words = [name, verb].filter(Boolean).join(" ");
          assert.ok(example.startsWith(words), `an example of ${words}: ${example}`);
        }
    }
  });

  for (const line of HELPED) {
    test(`bellhop ${line} explains on standard output and exits 0`, () => {
      const { code, out, err } = answerTo(line);
      assert.equal(code, 0, err);
      assert.match(out, /bellhop/);
      assert.equal(err, "");
    });
  }

  for (const [line, said] of WRONG) {
    test(`bellhop ${line || "without a command"} prints the error on standard error and exits with 2`, () => {
      const { code, out, err } = answerTo(line);
      assert.equal(code, 2);
      assert.match(err, said);
      assert.equal(out, "");
    });
  }

  for (const [line, said] of WRONG_SETTINGS) {
    test(`bellhop ${line} names the setting or file in one line and exits 1`, () => {
      const { code, out, err } = answerTo(line);
      assert.equal(code, 1);
      assert.match(err, said);
      assert.equal(out, "");
    });
  }

  test("a database that does not answer is one line and exit code 1", () => {
    const { code, out, err } = answerTo("client list");
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(
      err,
      /^bellhop: The database of DATABASE_URL cannot be reached \(ECONNREFUSED\): is it running, and is its address right\?\n$/m,
    );
  });
});
