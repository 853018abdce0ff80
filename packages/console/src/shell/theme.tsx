import { useState } from "react";
import { store } from "../data/stored.ts";
import { Choice } from "../parts/field.tsx";

type Theme = "system" | "light" | "dark";

/** `public/theme.js` reads it before the first paint. */
const THEME_STORED_AS = "bellhop.theme";

function storedTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

function putTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  store(THEME_STORED_AS, theme);
}

export function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Choice
      label="Theme"
      hideLabel
      value={theme}
      options={{ system: "System", light: "Light", dark: "Dark" }}
      onChange={(next) => {
        putTheme(next);
        setTheme(next);
      }}
    />
  );
}
