/** The SQLSTATE of an error that PostgreSQL answered with; undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** True for an error of the data itself (SQLSTATE classes 22 and 23): the statement surely did nothing. */
export function isDataError(error: unknown): boolean {
  return /^2[23]\w{3}$/.test(sqlState(error) ?? "");
}
