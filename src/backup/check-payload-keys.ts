import { type KeySealer, openEachPayloadKey, type StoredPayloadKey } from "../accept/payload-keys.ts";
import { readCopiedRows } from "../db/copied-rows.ts";
import type { Logger } from "../observe/log.ts";
import { BackupError } from "./backup-error.ts";
import type { CopiedTable } from "./read-backup.ts";

/** The table whose rows are looked at before a restore begins. */
export const PAYLOAD_KEYS = "bellhop.payload_key";

function storedKeys({ description: { columns }, bytes }: CopiedTable): StoredPayloadKey[] {
  return readCopiedRows(bytes).map((values) => {
    const of = (column: string) => values[columns.indexOf(column)] ?? null;
    return {
      keyId: uuidText(of("key_id")?.toString("hex") ?? ""),
      sealed: of("sealed")?.toString() ?? "",
      isCurrent: of("retired_at") === null,
    };
  });
}

function uuidText(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * Throws BackupError where the backup's current payload key does not open, since the batches in it could not be read when the log is
 * replayed, which is hours later for a large one.
 */
export function checkPayloadKeys(keys: CopiedTable, sealer: KeySealer, log: Logger): void {
  try {
    openEachPayloadKey(storedKeys(keys), sealer, (keyId) =>
      log.warn(
        { keyId },
        "a retired payload key does not open: what is sealed under it, if anything is, cannot be restored",
      ),
    );
  } catch (cause) {
    const message = `Batches in the backup are sealed and could not be read, so nothing was begun: ${(cause as Error).message}`;
    throw new BackupError(message, { cause });
  }
}
