import assert from "node:assert/strict";
import { test } from "node:test";
import { logFileFindings } from "./log-files-check.ts";

const GIB = 2 ** 30;
const judged = (walBytes: number, logBytes: number | null, walKept = 0) =>
  logFileFindings({ walBytes, walMost: GIB, walKept, logBytes });

test("write-ahead log that is retained, and a server's log that has grown, are warnings", () => {
  const severities = (...files: Parameters<typeof judged>) =>
    judged(...files).map(({ severity }) => severity);
  assert.deepEqual(severities(GIB, null), ["ok", "ok"]);
  assert.deepEqual(severities(3 * GIB, 2 * GIB), ["ok", "ok"]);
  assert.deepEqual(severities(7 * GIB, 0, 4 * GIB), ["ok", "ok"]);
  assert.deepEqual(severities(4 * GIB, 3 * GIB), ["warning", "warning"]);
  const [wal, log] = judged(4 * GIB, 3 * GIB);
  assert.match(wal?.says ?? "", /^The files of the write-ahead log take 4.* max_wal_size is 1/);
  assert.match(wal?.advice ?? "", /replication slot.*archive_command/);
  assert.match(log?.says ?? "", /^The files of the server's own log take 3/);
});
