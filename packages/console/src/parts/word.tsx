/** Beyond this a name may break, or it would push all other columns away. */
const CHARACTERS_ON_ONE_LINE = 32;

/** A name, key or code in a row: it stays on one line unless it is long. */
export function Word({ children, mono = false }: { readonly children: string; readonly mono?: boolean }) {
  const breaks = children.length > CHARACTERS_ON_ONE_LINE ? "break" : "nowrap";
  return <span className={mono ? `mono small ${breaks}` : breaks}>{children}</span>;
}
