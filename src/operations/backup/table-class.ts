/**
 * How backups and moves treat a table: - `kept`: in every backup and move. - `state`: rebuilt from the log by a replay; in moves, and in
 * backups with state. - `moved`: in moves, and in no backup. - `left`: in neither; created by the new database's first start.
 */
export type TableClass = "kept" | "state" | "moved" | "left";

/** The class of every table, partitioned ones by their parent. A test compares this list with the migrations. */
export const TABLE_CLASSES: Readonly<Record<string, TableClass>> = {
  "bellhop.accept_log": "kept",
  "bellhop.alert": "kept",
  "bellhop.applied_part": "kept",
  "bellhop.applied_piece": "kept",
  "bellhop.audit_entry": "kept",
  "bellhop.auth_epoch": "kept",
  "bellhop.backfill": "kept",
  "bellhop.backfill_signature": "kept",
  // Nodes acquire new leases.
  "bellhop.bucket_lease": "left",
  // Only used with Citus: a restore or move starts on one server.
  "bellhop.bucket_closed_timestamp": "left",
  "bellhop.certification": "kept",
  "bellhop.certification_event": "kept",
  "bellhop.change_counter": "kept",
  "bellhop.client": "kept",
  "bellhop.client_grant": "kept",
  "bellhop.client_secret": "kept",
  "bellhop.denied_token": "kept",
  // The erasure list is separate, so that erasures after a backup remain in effect.
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
  // Recomputed.
  "bellhop.property_figures": "left",
  "bellhop.property_setting": "kept",
  "bellhop.quarantine": "kept",
  "bellhop.closed_timestamp": "kept",
  "bellhop.request_outcome": "kept",
  "bellhop.retention_horizon": "kept",
  "bellhop.settings_version": "kept",
  "bellhop.signing_key": "kept",
  "bellhop.status_mapping": "kept",
  "bellhop.subscription": "kept",
  "bellhop.subscription_message": "kept",
  "bellhop.token_bucket": "kept",
  "bellhop.webhook_attempt": "kept",
  "bellhop.webhook_endpoint": "kept",
  "bellhop.webhook_message": "kept",
  "bellhop.webhook_secret": "kept",
  // Nodes acquire new shards.
  "bellhop.webhook_shard": "left",
  // Written by the migrations as they run; other work is restarted.
  "bellhop_migration.applied": "left",
  // How far the log was applied at the snapshot: a replay stops there and appliers continue from there.
  "bellhop_state.apply_cursor": "kept",
  // Rebuilt from the log by a replay.
  "bellhop_state.block_entry": "state",
  "bellhop_state.current_record": "state",
  "bellhop_state.group_version": "state",
  "bellhop_state.inventory_version": "state",
  "bellhop_state.known_books": "state",
  "bellhop_state.known_room_type": "state",
  "bellhop_state.night_dimension": "state",
  "bellhop_state.night_entry": "state",
  "bellhop_state.ledger_delta": "state",
  "bellhop_state.ledger_segment": "state",
  "bellhop_state.ledger_segment_progress": "state",
  "bellhop_state.released_copy": "state",
  "bellhop_state.reservation_version": "state",
};

export function tablesOf(...classes: readonly TableClass[]): readonly string[] {
  return Object.entries(TABLE_CLASSES)
    .filter(([, one]) => classes.includes(one))
    .map(([name]) => name);
}
