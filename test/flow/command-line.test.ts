import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
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
  "void-cursors",
  "simulate",
  "citus",
  "send",
  "validate",
  "watch",
].map((name) => `${name} --help`.trim());

const WRONG: readonly (readonly [line: string, said: RegExp])[] = [
  ["", /serve \[--role ROLES\] \[--workers N\]/],
  ["frob", /no command "frob"/],
  ["serve --frob", /bellhop serve: Unknown option '--frob'\. See bellhop serve --help\./],
  ["replay extra", /Unexpected argument 'extra'\. See bellhop replay --help\./],
  ["backup", /FILE is missing\. See bellhop backup --help\./],
  ["backup - --verify", /--verify and --json do not go with it/],
  ["restore", /FILE is missing/],
  ["restore x.tar", /name the list, --erasures LIST, or say --without-erasures/],
  ["move", /--to is missing/],
  ["move --to here", /--to is the address of a database/],
  ["move --to https://db.example/x", /--to is the address of a database/],
  ["quarantine", /say what to do/],
  ["quarantine frob", /there is no "frob"; there is list, release, discard/],
  ["quarantine list --limit x", /--limit is a whole number/],
  ["quarantine list --frob", /Unknown option '--frob'\. See bellhop quarantine --help\./],
  ["quarantine release", /release takes the UUID of a request/],
  [
    "quarantine discard 01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11 first",
    /discard takes the index of one record, or all/,
  ],
  ["label", /Usage:/],
  ["label map ACME", /A client code, a resource and one label are needed/],
  ["label map ACME inventories X --deducts yes", /reservations or groups, not "inventories"/],
  ["label map ACME groups X --deducts maybe", /--deducts says yes or no/],
  ["setting", /Usage:/],
  ["setting set ACME timeZone", /A client code, a setting and one value are needed/],
  ["setting set ACME timezone UTC", /There is no setting "timezone"; there is occupancyBase, timeZone/],
  ["setting set ACME timeZone Mars", /timeZone takes an IANA time zone such as Europe\/Paris, not "Mars"/],
  ["setting unset ACME", /A client code and a setting are needed/],
  ["setting list --property P1", /--property needs the --client/],
  ["operator", /Usage:/],
  ["operator create", /operator's name is missing/],
  ["operator create anna berta", /One operator's name at a time, not anna berta/],
  ["simulate --properties 0", /--properties is a whole number from 1 to 1000, not "0"/],
  ["simulate --faults late,frob", /--faults is one of duplicate, out-of-order, late, .*, not "frob"/],
  ["simulate --out - --start 2025-02-30", /--start is a date from 2000-01-01 to 2059-12-31/],
  ["simulate --out - --speed 0", /--speed is max, or how many seconds pass in one/],
  ["simulate --resource groups", /--resource goes with --out -/],
  ["client frob", /there is no "frob"/],
  ["client list --frob", /^bellhop: Unknown option '--frob'\.\nUsage:\n/],
  ["client create", /--name is missing/],
  ["client create --name X --rate -1", /^bellhop: Option '--rate' argument is ambiguous\.\nUsage:/],
  ["delete property ACME --dry-run", /^bellhop: A property as CLIENT\/PROPERTY is needed, not "ACME"\.\n/],
  ["token", /--client-id is missing/],
  ["send", /FILE is missing\. See bellhop send --help\./],
  ["validate --frob -", /Unknown option '--frob'/],
  ["validate /", /^bellhop validate: \/ is a directory: name a file\./],
  ["watch", /the id of a request, or --changes/],
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
    const told = await runLines(argvs, NO_DATABASE);
    answers = Object.fromEntries(told.map((answer, at) => [lines[at], answer]));
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
    test(`bellhop ${line || "without a command"} says what is wrong on standard error and exits 2`, () => {
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
    assert.equal(
      err,
      "bellhop: The database of DATABASE_URL cannot be reached (ECONNREFUSED): is it running, and is its address right?\n",
    );
  });
});
