/** Why a delivery failed, as it is read: `NotAccepted` as `not accepted`. The names are those of docs/webhooks.md. */
export function failureInWords(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
