/**
 * The settings of the embedded server: a laptop's share, and a crash that is over in seconds. They are given on the
 * command line, so neither an edited postgresql.conf nor ALTER SYSTEM can switch durability off behind our back.
 * Whoever needs other ones brings a server of their own (DATABASE_URL).
 */
export function serverSettings(listen: ListenAddress, clusterName: string): Record<string, string> {
  return {
    ...listenSettings(listen),
    ...DURABILITY,
    ...MEMORY,
    ...WRITE_AHEAD_LOG,
    ...CONNECTIONS,
    ...LOGGING,
    // Stands in every process title, by which survivors are found where there is no /proc.
    cluster_name: clusterName,
    timezone: "UTC",
    log_timezone: "UTC",
    // Statements are short; compiling one costs more than running it.
    jit: "off",
  };
}

export type ListenAddress =
  | { readonly socketDirectory: string; readonly port: number }
  | { readonly host: string; readonly port: number };

function listenSettings(listen: ListenAddress): Record<string, string> {
  if ("host" in listen) {
    return { listen_addresses: listen.host, unix_socket_directories: "", port: String(listen.port) };
  }
  return {
    listen_addresses: "",
    // The data directory itself: only the server's user and root can enter it.
    unix_socket_directories: listen.socketDirectory,
    unix_socket_permissions: "0700",
    port: String(listen.port),
  };
}

const DURABILITY = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  // On macOS the default does not reach through the drive's own cache, so a 202 would not survive a power cut.
  ...(process.platform === "darwin" ? { wal_sync_method: "fsync_writethrough" } : {}),
};

const MEMORY = {
  // Enough for the hot pages of current records and the log's tail; pages are taken from the system only once used.
  shared_buffers: "256MB",
  // The planner's idea of shared buffers plus page cache: a laptop with 8 GB and a browser open.
  effective_cache_size: "1GB",
  // A sort or hash of one apply batch (thousands of narrow rows) fits; a hundred connections at once still do too.
  work_mem: "8MB",
  // Index builds and vacuum are rare here and may take a little more.
  maintenance_work_mem: "128MB",
};

const WRITE_AHEAD_LOG = {
  // Recovery replays at most about this much, and crash to serving has to be within 10 s. Measured on two busy cores:
  // with 1 GB a kill at the worst moment (616 MB to replay) served again after 11 s.
  max_wal_size: "512MB",
  // Files kept for reuse, so that a burst does not pay for creating and zeroing new ones.
  min_wal_size: "256MB",
  // Together with max_wal_size the bound on recovery: a quiet service replays at most five minutes.
  checkpoint_timeout: "5min",
  // Bodies come compressed from Node; compressing full pages again costs CPU of the two cores and saves little.
  wal_compression: "off",
};

const CONNECTIONS = {
  // A node takes some thirty (pools, log writers, appliers), an idle one about 2 MB of memory; one that is not used costs nothing.
  max_connections: "200",
  // A client that was killed during a statement holds its locks no longer than this.
  client_connection_check_interval: "2s",
  // Dead ends of TCP (only where the socket's path was too long for a Unix socket).
  tcp_keepalives_idle: "30",
};

const LOGGING = {
  // Into the data directory, one file a weekday, overwritten after a week: bounded without anybody's help.
  logging_collector: "on",
  log_directory: "log",
  log_filename: "postgresql-%a.log",
  log_truncate_on_rotation: "on",
  log_rotation_age: "1d",
  log_rotation_size: "0",
  log_line_prefix: "%m [%p] ",
  log_checkpoints: "off",
  // Statements, parameters and DETAIL lines quote data: guest names have no place in a log.
  log_min_error_statement: "panic",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  log_error_verbosity: "terse",
};
