import { useEffect, useState } from "react";

/** Colours of the design system as a canvas needs them: computed, in the theme that holds. */
export interface Ink {
  readonly accent: string;
  readonly accentSoft: string;
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly surface: string;
  readonly font: string;
}

/** Reads the tokens where `element` stands. */
export function readInk(element: HTMLElement): Ink {
  const probe = document.createElement("span");
  element.append(probe);
  const colour = (token: string) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const ink = {
    accent: colour("--accent"),
    accentSoft: colour("--accent-soft"),
    text: colour("--text"),
    muted: colour("--text-muted"),
    line: colour("--line"),
    lineStrong: colour("--line-control"),
    surface: colour("--surface"),
    font: `12px ${getComputedStyle(probe).fontFamily}`,
  };
  probe.remove();
  return ink;
}

/** A number that is another one whenever the theme changes, by choice or by the system. */
export function useThemeTurn(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const next = () => setTurn((before) => before + 1);
    const observer = new MutationObserver(next);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", next);
    return () => {
      observer.disconnect();
      system.removeEventListener("change", next);
    };
  }, []);
  return turn;
}
