/** What node:util's parseArgs complains of: its first sentence says it, the others are about quoting. */
export function complaintOf(error: Error): string {
  const [said = ""] = error.message.split(/\. |\.?\n/, 1);
  return said.endsWith(".") ? said : `${said}.`;
}
