import { useState } from "react";
import { Choice } from "../parts/field.tsx";

export type Theme = "system" | "light" | "dark";

/** `public/theme.js` reads it before the first paint. */
const STORED_AS = "bellhop.theme";

function storedTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

function putTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(STORED_AS, theme);
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
}

/** Light, dark, or as the system has it. */
export function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Choice
      label="Theme"
      labelUnseen
      value={theme}
      options={{ system: "System", light: "Light", dark: "Dark" }}
      onChange={(next) => {
        putTheme(next);
        setTheme(next);
      }}
    />
  );
}
