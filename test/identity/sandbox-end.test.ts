import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { revokeClient } from "../../src/identity/client-admin.ts";
import { closeSandbox, openSandbox } from "../../src/identity/local-clients.ts";
import { createTestDatabase } from "../support/database.ts";
import { requestToken, startAuthNode } from "./auth-service.ts";

test("the sandbox client lives from start to start, and ends where a start may have none", async (t) => {
  const database = await createTestDatabase();
  const node = await startAuthNode(database);
  const dataDir = await mkdtemp(join(tmpdir(), "bellhop-sandbox-"));
  t.after(async () => {
    await node.stop();
    await database.drop();
    await rm(dataDir, { recursive: true });
  });
  const { internals } = node.admin;
  const first = await openSandbox(internals, dataDir);
  assert.ok(first !== undefined);
  assert.deepEqual(await openSandbox(internals, dataDir), first);
  assert.equal((await requestToken(node.url, first)).status, 200);

  assert.equal(await closeSandbox(internals, dataDir), first.clientId);
  assert.equal((await requestToken(node.url, first)).status, 401);
  assert.equal(await closeSandbox(internals, dataDir), undefined);

  const second = await openSandbox(internals, dataDir);
  assert.ok(second !== undefined && second.clientId !== first.clientId);
  // An operator's own word stands.
  await revokeClient(node.admin, second.clientId);
  assert.equal(await openSandbox(internals, dataDir), undefined);
});
