/**
 * What becomes of each table when the service's data is taken elsewhere:
 * - `kept`: in every backup and move.
 * - `state`: what a replay makes of the log. In moves, and in backups that hold the state.
 * - `moved`: in moves, and in no backup.
 * - `left`: in neither; the new database has its own from its first start.
 */
export type TableClass = "kept" | "state" | "moved" | "left";

/**
 * Every table of the schema, partitioned ones by their parent. A test compares this list with the migrations, so each new
 * table needs an entry here.
 */
export const TABLE_CLASSES: Readonly<Record<string, TableClass>> = {
  "bellhop.accept_log": "kept",
  "bellhop.applied_part": "kept",
  "bellhop.audit_entry": "kept",
  "bellhop.auth_epoch": "kept",
  "bellhop.backfill": "kept",
  "bellhop.backfill_signature": "kept",
  // Who applies a bucket is settled anew by the nodes that are there.
  "bellhop.bucket_lease": "left",
  // It is for databases of Citus: what is restored or moved begins on one server, where nothing reads it.
  "bellhop.bucket_closed_timestamp": "left",
  "bellhop.certification": "kept",
  "bellhop.certification_event": "kept",
  "bellhop.change_counter": "kept",
  "bellhop.client": "kept",
  "bellhop.client_grant": "kept",
  "bellhop.client_secret": "kept",
  "bellhop.denied_token": "kept",
  // The erasure list is kept apart: who was erased since a backup was taken is to stay so.
  "bellhop.erasure": "moved",
  "bellhop.erasure_subject": "moved",
  "bellhop.feed_arrival": "kept",
  "bellhop.idempotency_key": "kept",
  "bellhop.instance": "kept",
  "bellhop.log_writer": "kept",
  "bellhop.operator": "kept",
  // Operators log in again.
  "bellhop.operator_session": "left",
  "bellhop.payload_key": "kept",
  // Nodes register when they start.
  "bellhop.presence": "left",
  "bellhop.privacy_version": "kept",
  "bellhop.property": "kept",
  // They are computed anew.
  "bellhop.property_figures": "left",
  "bellhop.property_setting": "kept",
  "bellhop.quarantine": "kept",
  "bellhop.closed_timestamp": "kept",
  "bellhop.request_outcome": "kept",
  "bellhop.retention_horizon": "kept",
  "bellhop.settings_version": "kept",
  "bellhop.signing_key": "kept",
  "bellhop.status_mapping": "kept",
  "bellhop.token_bucket": "kept",
  "bellhop.webhook_attempt": "kept",
  "bellhop.webhook_endpoint": "kept",
  "bellhop.webhook_message": "kept",
  "bellhop.webhook_secret": "kept",
  // Who delivers is settled anew by the nodes that are there.
  "bellhop.webhook_shard": "left",
  // The migrations write it as they run; what else is in it is begun again.
  "bellhop_migration.applied": "left",
  // How far the log was applied when the snapshot was taken: a replay goes up to there, appliers go on from there.
  "bellhop_state.apply_cursor": "kept",
  // A replay makes the others of the log.
  "bellhop_state.block_entry": "state",
  "bellhop_state.current_record": "state",
  "bellhop_state.group_version": "state",
  "bellhop_state.inventory_version": "state",
  "bellhop_state.known_room_type": "state",
  "bellhop_state.night_dimension": "state",
  "bellhop_state.night_entry": "state",
  "bellhop_state.ledger_delta": "state",
  "bellhop_state.ledger_segment": "state",
  "bellhop_state.ledger_segment_progress": "state",
  "bellhop_state.released_copy": "state",
  "bellhop_state.reservation_version": "state",
};

/** The tables of these classes, by name. */
export function tablesOf(...classes: readonly TableClass[]): readonly string[] {
  return Object.entries(TABLE_CLASSES)
    .filter(([, one]) => classes.includes(one))
    .map(([name]) => name);
}
