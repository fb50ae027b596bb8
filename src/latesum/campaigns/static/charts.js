// Draws the charts of a campaign's page with Chart.js, in the colours of the page's theme.
"use strict";

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faint = (colour, share) => Chart.helpers.color(colour).alpha(share).rgbString();
const rowHeight = 34; // of an option, in pixels

// Read once for a chart, not for each of its bars.
function withColours(content) {
  const colours = Array.from({ length: content.colours }, (_, index) => style(`--c${index}`));
  return { ...content, colours, edge: style("--edge") };
}

function colourOf(arm = 0, content) {
  return content.colours[arm % content.colours.length];
}

// What is awaited is pale, what is missing only an outline.
function fill(arm, state, content) {
  const colour = colourOf(arm, content);
  if (state === "known") return colour;
  return faint(colour, state === "missing" ? 0.08 : 0.38);
}

const isMissing = (state) => state === "missing";

// Bars of one row or series; `cells` are {arm, state}.
function bars(content, cells, data) {
  return {
    type: "bar",
    data,
    backgroundColor: cells.map(({ arm, state }) => fill(arm, state, content)),
    borderColor: cells.map(({ arm, state }) => (isMissing(state) ? content.edge : colourOf(arm, content))),
    borderWidth: cells.map(({ state }) => (isMissing(state) ? 1 : 0)),
    borderSkipped: false,
    categoryPercentage: 1,
    barPercentage: content.labels.length > 200 ? 1 : 0.9,
  };
}

// Marks in front of the bars.
function marks(data, pointStyle) {
  const ink = style("--ink");
  return {
    type: "scatter",
    data,
    pointStyle,
    pointRadius: pointStyle === "triangle" ? 4 : 3,
    pointRotation: pointStyle === "triangle" ? 180 : 0,
    backgroundColor: ink,
    borderColor: ink,
    borderWidth: pointStyle === "crossRot" ? 1.5 : 0,
    stack: pointStyle, // on its own
    order: -1,
  };
}

function common(words) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    interaction: { mode: "index", intersect: false },
    plugins: {
      legend: { display: false },
      tooltip: {
        displayColors: false,
        filter: (item) => item.datasetIndex === 0, // a mark belongs to its bar
        callbacks: { label: (item) => words(item.dataIndex).flatMap(inLines) },
      },
    },
  };
}

function axis(more = {}) {
  const { ticks, ...rest } = more;
  return {
    border: { display: false },
    grid: { color: style("--line") },
    ticks: { color: style("--soft"), font: { size: 12 }, ...ticks },
    ...rest,
  };
}

// 0.025 is 2.5% to most people.
const inPercent = (content) =>
  content.percent ? { callback: (value) => `${Number((100 * value).toPrecision(3))}%` } : {};

const bucketAxis = () =>
  axis({ grid: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 24 } });

// Rows have a fixed width for their names, so that timeline and totals stand under each other.
const sameLeft = (scale) => {
  scale.width = Math.max(scale.width, Math.min(110, scale.chart.width * 0.22));
};

const makers = {
  // A row per region or option and a column per bucket, in the colour of the option that was shown.
  timeline(content) {
    const cells = content.cells.map((row) => row.map(cellOf));
    const regional = content.rows.some((name, place) => name !== content.options[place]);
    const options = common(() => []);
    options.interaction = { mode: "nearest", axis: "xy", intersect: false };
    options.layout = { padding: { top: 6 } };
    options.plugins.tooltip.filter = (_, index) => index === 0; // a mark belongs to its cell
    options.plugins.tooltip.callbacks.label = ({ datasetIndex, dataIndex, raw }) => {
      const row = raw.row ?? datasetIndex;
      const { arm, state, bridge, ordered, outlier } = cells[row][raw.column ?? dataIndex];
      const said = [`${regional ? `${content.rows[row]}: ` : ""}${content.options[arm]}`, `total ${state}`];
      if (bridge) said.push("a bridge: shown, not judged");
      if (ordered) said.push("ordered by a person, or shown otherwise than decided");
      if (outlier) said.push("far from what was expected, counted for less");
      return said.flatMap(inLines);
    };
    options.scales = {
      x: bucketAxis(),
      y: axis({
        min: -0.5,
        max: cells.length - 0.5,
        reverse: true,
        grid: { display: false },
        afterFit: sameLeft,
        ticks: { autoSkip: false, color: style("--ink"), callback: (value) => shortened(content.rows[value]) },
        afterBuildTicks: (scale) => {
          scale.ticks = content.rows.map((_, value) => ({ value }));
        },
      }),
    };
    // A bridge is shown but not learned from: a low bar.
    const rows = cells.map((row, place) => ({
      ...bars(content, row, row.map(({ arm, bridge }) => (arm === undefined ? null : [place - (bridge ? -0.1 : 0.42), place + 0.42]))),
      minBarLength: 1,
      grouped: false,
    }));
    const marked = (kind, up) =>
      cells.flatMap((cellsOfRow, row) =>
        cellsOfRow.flatMap((cell, column) =>
          cell[kind] ? [{ x: content.labels[column], y: row - up, row, column }] : [],
        ),
      );
    const datasets = [...rows, marks(marked("ordered", 0.2), "triangle"), marks(marked("outlier", 0), "circle")];
    return {
      data: { labels: content.labels, datasets },
      options,
      height: cells.length * (cells.length > 30 ? 18 : 30) + 50,
    };
  },

  // What came in, in layers by the option that it came from or that was shown.
  totals(content) {
    const shown = (value) =>
      content.percent
        ? `${Number((100 * value).toPrecision(3))}%`
        : value.toLocaleString("en", { maximumSignificantDigits: 4 });
    const options = common(() => []);
    options.layout = { padding: { top: 10 } };
    options.plugins.tooltip.filter = (item) => item.datasetIndex < content.series.length && item.raw !== 0;
    options.plugins.tooltip.callbacks.label = ({ datasetIndex, dataIndex, raw }) => {
      const said = [`${content.options[datasetIndex]}: ${shown(raw)} ${content.unit}`];
      if (content.states[dataIndex] !== "known") said.push("not all of it is known yet");
      if (content.revised[dataIndex]) said.push("revised");
      return said.flatMap(inLines);
    };
    options.scales = {
      x: { ...bucketAxis(), stacked: true },
      y: axis({
        stacked: true,
        afterFit: sameLeft,
        beginAtZero: true,
        suggestedMax: content.high,
        grace: "5%",
        ticks: { maxTicksLimit: 6, ...inPercent(content) },
      }),
    };
    const top = (index) => content.series.reduce((sum, data) => sum + Math.max(data[index], 0), 0);
    // A point for every bar: Chart.js takes things with one index for one thing.
    const where = (is, y) => content.labels.map((x, index) => ({ x, y: is(index) ? y(index) : NaN }));
    const rows = content.series.map((data, arm) =>
      bars(content, content.states.map((state) => ({ arm, state: isMissing(state) ? "known" : state })), data),
    );
    return {
      data: {
        labels: content.labels,
        datasets: [
          ...rows,
          marks(where((index) => content.revised[index], top), "circle"),
          marks(where((index) => isMissing(content.states[index]), () => 0), "crossRot"),
        ],
      },
      options,
      height: 230,
    };
  },

  pattern(content) {
    const shown = (value) => `${value > 0 ? "+" : ""}${Math.round(100 * value)}%`;
    const options = common((index) => [shown(content.values[index])]);
    options.scales = {
      x: axis({ grid: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 8 } }),
      y: axis({ ticks: { maxTicksLimit: 5, callback: shown } }),
    };
    const data = { type: "bar", data: content.values, backgroundColor: content.edge, barPercentage: 0.9 };
    return { data: { labels: content.labels, datasets: [data] }, options, height: 160 };
  },

  options(content) {
    const colours = content.options.map((row) => colourOf(row.arm, content));
    const options = common((index) => content.options[index].words);
    options.indexAxis = "y";
    options.interaction.axis = "y";
    options.scales = {
      x: axis({
        beginAtZero: false,
        ticks: { maxRotation: 0, maxTicksLimit: 7, ...inPercent(content) },
        title: { display: true, text: content.unit, color: style("--soft") },
      }),
      y: axis({
        grid: { display: false },
        afterFit: sameLeft,
        ticks: {
          color: style("--ink"),
          autoSkip: false,
          callback: (_, index) => shortened(content.options[index].name),
        },
      }),
    };
    return {
      data: {
        labels: content.options.map((row) => row.name),
        datasets: [
          {
            type: "bar",
            data: content.options.map((row) => [row.low, row.high]),
            backgroundColor: colours.map((colour) => faint(colour, 0.45)),
            barThickness: 8,
            borderRadius: 4,
            borderSkipped: false,
            grouped: false,
          },
          {
            type: "scatter",
            data: content.options.map((row) => ({ x: row.mean, y: row.name })),
            backgroundColor: colours,
            borderColor: style("--paper"),
            borderWidth: 1.5,
            pointRadius: 6,
            order: -1,
          },
        ],
      },
      options,
      height: content.options.length * rowHeight + 60,
    };
  },
};

// A cell of the timeline: "2po" is option 2, whose total is awaited, ordered by a person.
function cellOf(text) {
  if (!text) return { state: "none" };
  const state = { k: "known", p: "awaited", m: "missing" }[/[kpm]/.exec(text)[0]];
  const [bridge, ordered, outlier] = ["b", "o", "x"].map((mark) => text.includes(mark));
  return { arm: parseInt(text, 10), state, bridge, ordered, outlier };
}

// Chart.js does not break lines, and a reason may be a long sentence.
function inLines(text) {
  return text.match(/.{1,46}(?:\s|$)|\S{46}/g)?.map((line) => line.trim()) ?? [];
}

function shortened(name) {
  return name.length <= 17 ? name : `${name.slice(0, 16)}…`;
}

function drawCharts(root) {
  for (const box of root.querySelectorAll("[data-chart]")) {
    const content = withColours(JSON.parse(box.dataset.chart));
    const { height, ...chart } = makers[content.kind](content);
    box.style.height = `${height}px`;
    new Chart(box.querySelector("canvas"), chart);
  }
}

function removeCharts(root) {
  for (const canvas of root.querySelectorAll("canvas")) Chart.getChart(canvas)?.destroy();
}

Chart.defaults.font.family = "system-ui, sans-serif";
drawCharts(document);
document.dispatchEvent(new Event("drawn"));
document.addEventListener("replaced", ({ detail }) => {
  if (detail.old) removeCharts(detail.old);
  if (detail.part) drawCharts(detail.part);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  removeCharts(document);
  drawCharts(document);
});
