/**
 * What becomes of each table when the service's data is taken elsewhere:
 * - `kept`: in every backup and move.
 * - `state`: what a replay makes of the log. In moves, and in backups that hold the state.
 * - `moved`: in moves, and in no backup.
 * - `left`: in neither; the new database has its own from its first start.
 */
export type TableClass = "kept" | "state" | "moved" | "left";

interface ClassifiedTable {
  readonly class: TableClass;
  /** Why it is not `kept`. */
  readonly why?: string;
}

const KEPT: ClassifiedTable = { class: "kept" };
const STATE: ClassifiedTable = { class: "state", why: "A replay makes it of the log." };
const LISTED: ClassifiedTable = {
  class: "moved",
  why: "The erasure list is kept apart: who was erased since a backup was taken is to stay so.",
};
const left = (why: string): ClassifiedTable => ({ class: "left", why });

/**
 * Every table of the schema, partitioned ones by their parent. A test compares this list with the migrations, so each new
 * table needs an entry here.
 */
export const TABLE_CLASSES: Readonly<Record<string, ClassifiedTable>> = {
  "bellhop.accept_log": KEPT,
  "bellhop.applied_part": KEPT,
  "bellhop.audit_entry": KEPT,
  "bellhop.auth_epoch": KEPT,
  "bellhop.backfill": KEPT,
  "bellhop.backfill_signature": KEPT,
  "bellhop.bucket_lease": left("Who applies a bucket is settled anew by the nodes that are there."),
  "bellhop.bucket_closed_timestamp": left(
    "It is for databases of Citus, which are neither backed up nor moved.",
  ),
  "bellhop.certification": KEPT,
  "bellhop.certification_event": KEPT,
  "bellhop.change_counter": KEPT,
  "bellhop.client": KEPT,
  "bellhop.client_grant": KEPT,
  "bellhop.client_secret": KEPT,
  "bellhop.denied_token": KEPT,
  "bellhop.erasure": LISTED,
  "bellhop.erasure_subject": LISTED,
  "bellhop.feed_arrival": KEPT,
  "bellhop.idempotency_key": KEPT,
  "bellhop.instance": KEPT,
  "bellhop.log_writer": KEPT,
  "bellhop.operator": KEPT,
  "bellhop.operator_session": left("Operators log in again."),
  "bellhop.payload_key": KEPT,
  "bellhop.presence": left("Nodes register when they start."),
  "bellhop.privacy_version": KEPT,
  "bellhop.property": KEPT,
  "bellhop.property_setting": KEPT,
  "bellhop.quarantine": KEPT,
  "bellhop.closed_timestamp": KEPT,
  "bellhop.request_outcome": KEPT,
  "bellhop.retention_horizon": KEPT,
  "bellhop.settings_version": KEPT,
  "bellhop.signing_key": KEPT,
  "bellhop.status_mapping": KEPT,
  "bellhop.token_bucket": KEPT,
  "bellhop.webhook_attempt": KEPT,
  "bellhop.webhook_endpoint": KEPT,
  "bellhop.webhook_message": KEPT,
  "bellhop.webhook_secret": KEPT,
  "bellhop.webhook_shard": left("Who delivers is settled anew by the nodes that are there."),
  "bellhop_migration.applied": left(
    "The migrations write it as they run; what else is in it is begun again.",
  ),
  // How far the log was applied when the snapshot was taken: a replay goes up to there, appliers go on from there.
  "bellhop_state.apply_cursor": KEPT,
  "bellhop_state.block_entry": STATE,
  "bellhop_state.current_record": STATE,
  "bellhop_state.group_version": STATE,
  "bellhop_state.inventory_version": STATE,
  "bellhop_state.known_room_type": STATE,
  "bellhop_state.night_dimension": STATE,
  "bellhop_state.night_entry": STATE,
  "bellhop_state.ledger_delta": STATE,
  "bellhop_state.ledger_segment": STATE,
  "bellhop_state.ledger_segment_progress": STATE,
  "bellhop_state.released_copy": STATE,
  "bellhop_state.reservation_version": STATE,
};

/** The tables of these classes, by name. */
export function tablesOf(...classes: readonly TableClass[]): readonly string[] {
  return Object.entries(TABLE_CLASSES)
    .filter(([, table]) => classes.includes(table.class))
    .map(([name]) => name);
}
