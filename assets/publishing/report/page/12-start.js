// The page begins.

startTheme();
startLeaderboard().then(() => document.documentElement.setAttribute("data-ready", "yes"));
startCharts();
startHeat();
startCompare();
startProblems();
startInsights();
startSample();
