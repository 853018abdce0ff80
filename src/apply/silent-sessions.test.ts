import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SilentSessions, type WaitingSession } from "./sharing.ts";

const session = (overrides: Partial<WaitingSession> = {}): WaitingSession => ({
  pid: 7,
  spoke: "10:00:00",
  owner: "other",
  idle: false,
  silent_seconds: 4,
  ...overrides,
});

describe("sessions that wait for their client", () => {
  it("are silent at once between two statements: nobody but the client is waited for", () => {
    const sessions = [session({ idle: true })];
    assert.deepEqual(new SilentSessions().look(sessions, 3_000, 0), sessions);
  });

  it("are not silent before they were so for as long as they may", () => {
    assert.deepEqual(new SilentSessions().look([session({ idle: true })], 5_000, 0), []);
  });

  it("are silent in the middle of a statement only when every look for most of that time has found them so", () => {
    const silent = new SilentSessions();
    assert.deepEqual(silent.look([session({ silent_seconds: 2 })], 3_000, 0), []);
    assert.deepEqual(silent.look([session({ silent_seconds: 2.9 })], 3_000, 2_000), []);
    assert.deepEqual(silent.look([session()], 3_000, 3_000), [session()]);
    const late = new SilentSessions();
    assert.deepEqual(late.look([session()], 3_000, 0), []);
    assert.deepEqual(late.look([session()], 3_000, 1_900), []);
    assert.deepEqual(late.look([session()], 3_000, 2_000), [session()]);
  });

  it("begin anew when a look has found them working, or at another statement", () => {
    const silent = new SilentSessions();
    silent.look([session()], 3_000, 0);
    silent.look([], 3_000, 1_000);
    assert.deepEqual(silent.look([session()], 3_000, 2_500), []);
    assert.deepEqual(silent.look([session({ spoke: "10:00:04" })], 3_000, 4_600), []);
    assert.deepEqual(silent.look([session({ spoke: "10:00:04", pid: 8 })], 3_000, 6_700), []);
  });
});
