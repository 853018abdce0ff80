/** Series a minute apart, in promtool's notation, with a fault that begins and ends. */
export interface AlertCase {
  readonly series: Readonly<Record<string, string>>;
  /** Minutes from the start: not yet, firing, and over. */
  readonly quietAt: number;
  readonly firesAt: number;
  readonly clearsAt: number;
}

const GIB = 1_073_741_824;
const API = 'route="/api/public/v1/inventories"';
/** A value that is too high for forty minutes. */
const gauge = (high: number, low = 0) => `${low}x5 ${high}x40 ${low}x30`;
/** A counter that grows for twenty minutes. */
const counter = (perMinute: number) => `0x5 0+${perMinute}x20 ${20 * perMinute}x400`;

/** A fault of each alert rule. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  BellhopNodeDown: {
    series: { 'up{job="bellhop",instance="node-1:8080"}': "1x5 0x10 1x10" },
    quietAt: 7,
    firesAt: 10,
    clearsAt: 18,
  },
  BellhopDown: {
    series: {
      'bellhop_ready{role="accept"}': "1x5 0x10 1x10",
      'bellhop_ready{role="read"}': "1x30",
      'bellhop_ready{role="apply"}': "1x30",
    },
    quietAt: 6,
    firesAt: 9,
    clearsAt: 18,
  },
  BellhopErrorBudgetFast: {
    series: {
      [`bellhop_http_requests_total{${API},status="202"}`]: "0+100x200",
      [`bellhop_http_requests_total{${API},status="503"}`]: "0x60 0+20x20 400x100",
    },
    quietAt: 60,
    firesAt: 80,
    clearsAt: 95,
  },
  BellhopErrorBudgetSlow: {
    series: {
      [`bellhop_http_requests_total{${API},status="202"}`]: "0+100x400",
      [`bellhop_http_requests_total{${API},status="503"}`]: "0x60 0+5x60 300x200",
    },
    quietAt: 60,
    firesAt: 115,
    clearsAt: 160,
  },
  BellhopAnswersSlow: {
    series: {
      [`bellhop_http_request_seconds_bucket{${API},le="2.5"}`]: "0+100x20 2000x40 2000+100x60",
      [`bellhop_http_request_seconds_bucket{${API},le="10"}`]: "0+100x130",
      [`bellhop_http_request_seconds_bucket{${API},le="+Inf"}`]: "0+100x130",
    },
    quietAt: 20,
    firesAt: 55,
    clearsAt: 90,
  },
  BellhopFlushSlow: {
    series: {
      'bellhop_flush_seconds_bucket{le="0.5"}': "0+100x20 2000x40 2000+100x60",
      'bellhop_flush_seconds_bucket{le="1"}': "0+100x130",
      'bellhop_flush_seconds_bucket{le="+Inf"}': "0+100x130",
    },
    quietAt: 20,
    firesAt: 50,
    clearsAt: 90,
  },
  BellhopLogWritersFail: {
    series: { bellhop_log_writer_failures_total: counter(5) },
    quietAt: 6,
    firesAt: 22,
    clearsAt: 45,
  },
  BellhopPoolWaits: {
    series: { 'bellhop_pool_connections{state="waiting",instance="a"}': gauge(2) },
    quietAt: 10,
    firesAt: 20,
    clearsAt: 55,
  },
  BellhopApplyLags: {
    series: { bellhop_oldest_unapplied_seconds: gauge(300) },
    quietAt: 8,
    firesAt: 20,
    clearsAt: 55,
  },
  BellhopApplyFails: {
    series: { bellhop_apply_failures_total: counter(5) },
    quietAt: 6,
    firesAt: 22,
    clearsAt: 45,
  },
  BellhopBucketsUnowned: {
    series: { bellhop_buckets_unowned: gauge(3) },
    quietAt: 6,
    firesAt: 20,
    clearsAt: 55,
  },
  BellhopNodeHung: {
    series: { bellhop_silent_sessions_ended_total: counter(1) },
    quietAt: 6,
    firesAt: 25,
    clearsAt: 100,
  },
  BellhopFeedsSilent: {
    series: { 'bellhop_feeds_silent{resource="reservations"}': gauge(1) },
    quietAt: 30,
    firesAt: 44,
    clearsAt: 55,
  },
  BellhopManyFeedsSilent: {
    series: {
      'bellhop_feeds_silent{resource="groups"}': gauge(10),
      'bellhop_feeds{resource="groups"}': "20x80",
    },
    quietAt: 10,
    firesAt: 30,
    clearsAt: 55,
  },
  BellhopQuarantineGrows: {
    series: { bellhop_quarantine_held_records: "0x60 0+10x60 600x100" },
    quietAt: 60,
    firesAt: 100,
    clearsAt: 200,
  },
  BellhopQuarantineStands: {
    series: { bellhop_quarantine_held_records: "0x1 5x1450 0x30" },
    quietAt: 700,
    firesAt: 1448,
    clearsAt: 1460,
  },
  BellhopRecordsRejected: {
    series: {
      'bellhop_rejected_records_total{resource="groups"}': "0x60 0+10x60 600x200",
      'bellhop_accepted_records_total{resource="groups"}': "0+10x400",
    },
    quietAt: 60,
    firesAt: 110,
    clearsAt: 200,
  },
  BellhopWebhooksGivenUp: {
    series: { 'bellhop_webhook_tries_total{result="given up"}': counter(1) },
    quietAt: 4,
    firesAt: 20,
    clearsAt: 100,
  },
  BellhopDiskAlmostFull: {
    series: { 'bellhop_disk_free_bytes{instance="a"}': gauge(GIB, 10 * GIB) },
    quietAt: 4,
    firesAt: 20,
    clearsAt: 55,
  },
  BellhopDiskFills: {
    series: { 'bellhop_disk_free_bytes{instance="a"}': "100000000000-50000000x400 80000000000x500" },
    quietAt: 350,
    firesAt: 395,
    clearsAt: 850,
  },
  BellhopWalGrows: {
    series: { bellhop_wal_files_bytes: gauge(9 * GIB) },
    quietAt: 20,
    firesAt: 44,
    clearsAt: 55,
  },
  BellhopCheckpointLate: {
    series: { bellhop_wal_since_checkpoint_bytes: gauge(9 * GIB) },
    quietAt: 20,
    firesAt: 44,
    clearsAt: 55,
  },
  BellhopLongTransaction: {
    series: { bellhop_oldest_transaction_seconds: gauge(4_000) },
    quietAt: 8,
    firesAt: 30,
    clearsAt: 55,
  },
  BellhopStatementsSlow: {
    series: { 'bellhop_slow_statements_total{statement="append"}': counter(2) },
    quietAt: 8,
    firesAt: 25,
    clearsAt: 100,
  },
  BellhopRetentionFails: {
    series: { 'bellhop_retention_runs_total{state="failed"}': counter(1) },
    quietAt: 6,
    firesAt: 25,
    clearsAt: 400,
  },
  BellhopSurveyFails: {
    series: { bellhop_survey_failures_total: counter(2) },
    quietAt: 8,
    firesAt: 22,
    clearsAt: 70,
  },
  BellhopThreadBusy: {
    series: { 'bellhop_thread_busy_seconds_total{instance="a",thread="apply-1"}': "0x5 0+60x50 3000x60" },
    quietAt: 15,
    firesAt: 50,
    clearsAt: 75,
  },
  BellhopMemoryGrows: {
    series: {
      'process_resident_memory_bytes{job="bellhop",instance="a"}': "200000000+5000000x400 2200000000x500",
    },
    quietAt: 350,
    firesAt: 395,
    clearsAt: 850,
  },
};
