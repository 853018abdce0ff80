/** Control, format and bidirectional characters of every plane, line and paragraph separators, and halves of surrogate pairs. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes what a terminal or a viewer would execute or not show, such as colours, cursor movements and reversed text, as in JSON. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) =>
    // A character beyond the basic plane has two code units.
    Array.from({ length: character.length }, (_, at) => {
      const unit = character.charCodeAt(at).toString(16).padStart(4, "0");
      return `\\u${unit}`;
    }).join(""),
  );
}
