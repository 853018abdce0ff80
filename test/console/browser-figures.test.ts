import { consoleFixture } from "./console-fixture.ts";
import { describeCounts } from "./counts.ts";
import { describeFigures } from "./figures.ts";
import { describeInsights } from "./insights.ts";
import { describeSideBySide } from "./side-by-side.ts";

const fixture = consoleFixture();
describeInsights(fixture);
describeFigures(fixture);
describeCounts(fixture);
describeSideBySide(fixture);
