// Plots over time: what a table on the page says, drawn with uPlot. Without scripts the drawing of the server stays.
"use strict";
(() => {
  if (!window.uPlot) return;
  const made = new Map();
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const hour = (time) => new Date(time * 1000).toISOString().slice(11, 16);

  const draw = async (place) => {
    const answer = await fetch(place.dataset.plot, { credentials: "same-origin" });
    if (!answer.ok) return;
    const { times, series } = await answer.json();
    made.get(place)?.destroy();
    place.replaceChildren();
    const colours = [ink("--mark"), ink("--bad"), ink("--wait"), ink("--good"), ink("--quiet")];
    made.set(place, new uPlot({
      width: Math.max(place.clientWidth - 16, 260), height: 220, cursor: { drag: { x: false, y: false } },
      series: [{ label: "UTC", value: (_, time) => (time === null ? "–" : new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ")) }, ...series.map((one, at) => ({ label: one.name, stroke: colours[at % colours.length], width: 2, dash: at > 2 ? [6, 4] : undefined, points: { show: times.length < 3 } }))],
      axes: [{ stroke: ink("--quiet"), grid: { stroke: ink("--line"), width: 1 }, values: (_, times) => times.map(hour) }, { stroke: ink("--quiet"), grid: { stroke: ink("--line"), width: 1 } }],
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "UTC"),
    }, [times, ...series.map((one) => one.values)], place));
  };
  const all = () => { for (const place of document.querySelectorAll("[data-plot]")) draw(place); };
  all();
  let resized = null;
  addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(all, 300); });
})();
