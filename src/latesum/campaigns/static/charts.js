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
function fill(bar, content) {
  const colour = colourOf(bar.arm, content);
  if (bar.state === "known") return colour;
  return faint(colour, bar.state === "missing" ? 0.08 : 0.38);
}

function edge(bar, content) {
  return bar.state === "missing" ? content.edge : colourOf(bar.arm, content);
}

function bars(content, data) {
  return {
    type: "bar",
    data,
    backgroundColor: content.bars.map((bar) => fill(bar, content)),
    borderColor: content.bars.map((bar) => edge(bar, content)),
    borderWidth: content.bars.map((bar) => (bar.state === "missing" ? 1 : 0)),
    borderSkipped: false,
    categoryPercentage: 1,
    barPercentage: content.labels.length > 200 ? 1 : 0.9,
    minBarLength: 1,
    grouped: false,
  };
}

// A mark at `height(bar)` above each bar that has one; undefined where there is none. There is a
// point for every bar all the same: Chart.js takes things with one index for one thing.
function marks(content, height, pointStyle) {
  const ink = style("--ink");
  return {
    type: "scatter",
    data: content.bars.map((bar, index) => ({ x: content.labels[index], y: height(bar) ?? NaN })),
    pointStyle,
    pointRadius: pointStyle === "triangle" ? 4 : 3,
    pointRotation: pointStyle === "triangle" ? 180 : 0,
    backgroundColor: ink,
    borderColor: ink,
    borderWidth: pointStyle === "crossRot" ? 1.5 : 0,
    order: -1, // in front of the bars
  };
}

// A dashed line and a name where a phase begins; Chart.js has none of its own.
const phaseLines = {
  id: "phaseLines",
  afterDatasetsDraw(chart, _, { phases }) {
    const { ctx, chartArea, scales } = chart;
    ctx.save();
    ctx.strokeStyle = style("--edge");
    ctx.fillStyle = style("--soft");
    ctx.font = "12px system-ui, sans-serif";
    ctx.setLineDash([3, 3]);
    const wide = scales.x.width / chart.data.labels.length;
    let free = -Infinity; // names that would run into each other are left out
    for (const { at, name } of phases) {
      const x = scales.x.left + at * wide;
      ctx.beginPath();
      ctx.moveTo(x, chartArea.top - 14);
      ctx.lineTo(x, chartArea.bottom);
      ctx.stroke();
      const end = x + 4 + ctx.measureText(name).width;
      if (x >= free && end <= chart.width) {
        ctx.fillText(name, x + 4, chartArea.top - 5);
        free = end + 4;
      }
    }
    ctx.restore();
  },
};

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
  timeline(content) {
    const last = content.options.length - 1;
    const options = common((index) => content.bars[index].words);
    options.layout = { padding: { top: content.phases.length ? 18 : 6 } };
    options.plugins.phaseLines = { phases: content.phases };
    options.scales = {
      x: bucketAxis(),
      y: axis({
        min: -0.5,
        max: last + 0.5,
        reverse: true,
        afterFit: sameLeft,
        ticks: {
          stepSize: 1,
          autoSkip: false,
          color: style("--ink"),
          callback: (value) => shortened(content.options[value]),
        },
        afterBuildTicks: (scale) => {
          scale.ticks = content.options.map((_, value) => ({ value }));
        },
      }),
    };
    // A bridge is shown but not learned from: a low bar.
    const rows = content.bars.map(({ arm, bridge }) => [bridge ? arm + 0.1 : arm - 0.34, arm + 0.34]);
    const ordered = (bar) => (bar.ordered ? bar.arm - 0.42 : undefined);
    return {
      data: {
        labels: content.labels,
        datasets: [bars(content, rows), marks(content, ordered, "triangle")],
      },
      options,
      plugins: [phaseLines],
      height: content.options.length * rowHeight + 50,
    };
  },

  // A row per region and a column per bucket, in the colour of the option that was shown.
  grid(content) {
    const cells = content.cells.map((row) => row.map(cellOf));
    const named = content.regions.length > 1;
    const options = common(() => []);
    options.interaction = { mode: "nearest", axis: "xy", intersect: false };
    options.layout = { padding: { top: 6 } };
    options.plugins.tooltip.filter = (item) => item.datasetIndex < cells.length;
    options.plugins.tooltip.callbacks.label = ({ datasetIndex, dataIndex }) => {
      const { arm, state, ordered, outlier } = cells[datasetIndex][dataIndex];
      const said = [`${named ? `${content.regions[datasetIndex]}: ` : ""}${content.options[arm]}`, `total ${state}`];
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
        ticks: { autoSkip: false, color: style("--ink"), callback: (value) => shortened(content.regions[value]) },
        afterBuildTicks: (scale) => {
          scale.ticks = content.regions.map((_, value) => ({ value }));
        },
      }),
    };
    const rows = cells.map((row, place) => ({
      ...bars({ ...content, bars: row }, row.map((cell) => (cell.arm === undefined ? null : [place - 0.42, place + 0.42]))),
    }));
    const flat = (kind) =>
      cells.flatMap((row, place) =>
        row.flatMap((cell, index) => (cell[kind] ? [{ x: content.labels[index], y: place }] : [])),
      );
    const points = (kind, pointStyle) => ({ ...marks({ ...content, bars: [] }, () => NaN, pointStyle), data: flat(kind) });
    return {
      data: { labels: content.labels, datasets: [...rows, points("ordered", "triangle"), points("outlier", "circle")] },
      options,
      height: cells.length * (cells.length > 30 ? 18 : 28) + 50,
    };
  },

  // What came in, in layers by the option that it came from.
  origins(content) {
    const options = common(() => []);
    options.plugins.tooltip.filter = (item) => item.raw > 0;
    options.plugins.tooltip.callbacks.label = ({ datasetIndex, raw }) =>
      `${content.options[datasetIndex]}: ${raw.toLocaleString("en", { maximumFractionDigits: 1 })} ${content.unit}`;
    options.scales = {
      x: { ...bucketAxis(), stacked: true },
      y: axis({ stacked: true, afterFit: sameLeft, beginAtZero: true, ticks: { maxTicksLimit: 6 } }),
    };
    return {
      data: {
        labels: content.labels,
        datasets: content.series.map((data, arm) => ({
          type: "bar",
          data,
          backgroundColor: colourOf(arm, content),
          categoryPercentage: 1,
          barPercentage: content.labels.length > 200 ? 1 : 0.9,
        })),
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

  totals(content) {
    const options = common((index) => content.bars[index].words);
    options.layout = { padding: { top: 10 } };
    options.scales = {
      x: bucketAxis(),
      y: axis({
        afterFit: sameLeft,
        suggestedMin: content.low,
        suggestedMax: content.high, // of the whole run, whatever part of it is shown
        grace: "5%",
        ticks: { maxTicksLimit: 6, ...inPercent(content) },
      }),
    };
    const revised = (bar) => (bar.revised ? bar.rate : undefined);
    const missing = (bar) => (bar.state === "missing" ? 0 : undefined);
    return {
      data: {
        labels: content.labels,
        datasets: [
          bars(content, content.bars.map((bar) => bar.rate)),
          marks(content, revised, "circle"),
          marks(content, missing, "crossRot"),
        ],
      },
      options,
      height: 230,
    };
  },

  estimates(content) {
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

// A cell of the grid: "2po" is option 2, whose total is awaited, ordered by a person.
function cellOf(text) {
  if (!text) return { state: "none" };
  const state = { k: "known", p: "awaited", m: "missing" }[/[kpm]/.exec(text)[0]];
  return { arm: parseInt(text, 10), state, ordered: text.includes("o"), outlier: text.includes("x") };
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
