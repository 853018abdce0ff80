/** A short JSON value as it is read: text without its quotes, all else as it was sent. */
export function writeValue(json: string): string {
  if (!json.startsWith('"')) return json;
  try {
    return JSON.parse(json) as string;
  } catch {
    return json;
  }
}
