import { consoleFixture } from "./console-fixture.ts";
import { describeCounts } from "./counts.ts";
import { describeFigures } from "./figures.ts";
import { describeInsights } from "./insights.ts";

const fixture = consoleFixture();
describeInsights(fixture);
describeFigures(fixture);
describeCounts(fixture);
