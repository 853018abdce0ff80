/** Gives the browser a file to save. */
export function download(name: string, text: string, type = "text/csv;charset=utf-8"): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Safari reads it a moment later.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
