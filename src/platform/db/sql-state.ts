/** The SQLSTATE of an error that PostgreSQL answered with; undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** True for an error of the data itself (SQLSTATE classes 22 and 23): the statement surely did nothing. */
export function isDataError(error: unknown): boolean {
  return /^2[23]\w{3}$/.test(sqlState(error) ?? "");
}

const CHECK_VIOLATION = "23514";

/** True where a partitioned table has no partition for a row: a check violation that is no constraint's. */
export function isMissingWindow(error: unknown): boolean {
  if (sqlState(error) !== CHECK_VIOLATION) return false;
  const { routine, message } = error as Error & { readonly routine?: string };
  return routine === "ExecFindPartition" || message.startsWith("no partition of relation");
}
