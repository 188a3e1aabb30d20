// Draws the plots of a page with uPlot: one bar per day or month, divided by series. The tables of the page
// contain the same numbers.
'use strict';

const shortCount = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const moneyFormat = (currency, more) => new Intl.NumberFormat('en', { style: 'currency', currency, ...more });
const dollars = moneyFormat('USD', { maximumFractionDigits: 4 }); // of models, which are cheap

// colorOf returns the color that a class has at the moment, for the canvas.
function colorOf(box, name) {
  const probe = box.appendChild(document.createElement('span'));
  probe.className = name;
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

function drawPlot(figure) {
  const plot = JSON.parse(figure.dataset.plot), box = find('.canvas', figure);
  figure.hidden = false;
  box.replaceChildren();
  const text = colorOf(box, 'soft'), line = colorOf(box, 'plot-line');
  const monthly = plot.step === 'month', models = plot.unit === 'USD' && !monthly;
  const numbers = plot.unit === 'tokens' ? shortCount : models ? dollars : moneyFormat(plot.unit);
  const format = v => v == null ? '' : numbers.format(v);
  // All labels of an axis have the same number of decimals, such as $0.0100 beside $0.0075.
  const tickFormat = list => {
    if (!models) {
      const ticks = plot.unit === 'tokens' ? shortCount : moneyFormat(plot.unit, { notation: 'compact' });
      return list.map(v => v == null ? '' : ticks.format(v));
    }
    const decimals = Math.min(4, Math.max(2, ...list.map(v => (String(+(v || 0).toFixed(4)).split('.')[1] || '').length)));
    const even = moneyFormat('USD', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    return list.map(v => v == null ? '' : even.format(v));
  };
  // Each bar reaches from 0 to the sum of its series and those below it, so the highest comes first.
  const sums = [];
  plot.series.forEach((s, i) => sums.push(s.values.map((v, day) => v + (i ? sums[i - 1][day] : 0))));
  const order = plot.series.map((_, i) => i).reverse();
  const day = t => new Date(t * 1000).toLocaleDateString('en', { timeZone: 'UTC', ...(monthly ? { year: '2-digit' } : { day: 'numeric' }), month: 'short' });
  const half = monthly ? 1314000 : 43200; // half the time of a bar, in seconds
  const bars = uPlot.paths.bars({ size: [0.7, 36] });
  new uPlot({
    width: box.clientWidth, height: 220,
    tzDate: t => uPlot.tzDate(new Date(t * 1000), 'UTC'),
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { range: (u, min, max) => [min - half, max + half] }, y: { range: (u, min, max) => [0, max > 0 ? max * 1.05 : 1] } },
    axes: [
      { stroke: text, grid: { show: false }, ticks: { stroke: line }, space: 70, values: (u, list) => list.map(day) },
      { stroke: text, grid: { stroke: line }, ticks: { stroke: line }, size: 64, values: (u, list) => tickFormat(list) },
    ],
    series: [
      { label: monthly ? 'Month' : 'Day', value: (u, t) => t == null ? '' : day(t) },
      ...order.map(i => {
        const color = colorOf(box, 'plot-' + (i + 1));
        return { label: plot.series[i].name, fill: color, stroke: color, width: 0, paths: bars, points: { show: false }, value: (u, v, s, at) => at == null ? '' : format(plot.series[i].values[at]) };
      }),
    ],
  }, [plot.days, ...order.map(i => sums[i])], box);
}

function drawPlots() { all('figure[data-plot]').forEach(drawPlot); }

drawPlots();
document.addEventListener('htmx:after:swap', drawPlots); // an update replaces the figures
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawPlots);
let resized;
window.addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(drawPlots, 150); });
