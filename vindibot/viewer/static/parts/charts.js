// Charts of gold, mines and life of the four heroes over time, and of the gold that a review expects. The curves are
// drawn again only when the game grows or the size changes. A vertical line over the curves shows the time. At first
// the curves and their scale end at the latest state that was shown, so that they do not tell the result. They show the
// whole game after it was shown to its end, or if the user asks for it.

import { el, set, svg, textButton } from '../core/dom.js';
import { diamond } from '../board/marks.js';
import { GOLD, LIFE, MINES } from '../game/model.js';
import { MARKS } from '../game/names.js';
import { HEROES } from '../board/sprites.js';

const PADDING = { left: 34, right: 8, top: 6, bottom: 4 };
/** The dashes of the lines of heroes 1..4. */
const DASHES = [null, '7 3', '2 3', '9 3 2 3'];
const HERO = [0, 1, 2, 3];

/** Return at most five round numbers from 0 to `most`, for the labels of an axis. */
function steps(most) {
  const step = roundUp(Math.max(1, most / 3));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

/** Return the smallest of 1, 2, 5, 10, 20, ... that is at least `value`. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((k) => k * power).find((candidate) => candidate >= value);
}

export class Charts {
  /** `jump` is called with the number of the state that was clicked. */
  constructor(host, game, jump) {
    this.game = game;
    this.theme = 'dark';
    this.hero = -1;
    this.state = 0;
    this.seen = 0; // the latest state that was shown
    this.whole = false; // the whole game is shown
    this.reveal = textButton('Show the whole game', () => this._reveal(), {
      class: 'reveal',
      title: 'the curves end at the latest turn that you have seen',
    });
    host.append(el('div', { class: 'panel-head' }, el('h2', { id: 'charts-title', text: 'Curves' }), this.reveal));
    this.expectedGold = new Map(game.expected.map(({ state, gold }) => [state, gold]));
    const values = (field) => (state) => HERO.map((hero) => game.value(state, hero, field));
    this.charts = [
      { title: 'Gold', values: values(GOLD), draw: this._curves },
      { title: 'Mines', values: values(MINES), draw: this._curves },
      { title: 'Life', values: values(LIFE), draw: this._bands },
      { title: 'Expected', values: (state) => this.expectedGold.get(state) ?? [], draw: this._expected },
    ].map((chart) => this._build(host, chart, jump));
    this.expected = this.charts.at(-1);
    this.expected.figure.hidden = !game.expected.length;
    this.resizes = new ResizeObserver(() => {
      this.draw();
      this.show(this.state);
    });
    for (const chart of this.charts) this.resizes.observe(chart.box);
  }

  _build(host, chart, jump) {
    const drawing = svg('svg', { 'aria-hidden': 'true' }),
      needle = el('div', { class: 'needle' }),
      veil = el('div', { class: 'veil' }),
      ghost = el('div', { class: 'needle ghost' });
    const box = el('div', { class: 'plot', role: 'img' }, drawing, veil, ghost, needle),
      hint = el('span', { class: 'hint' });
    const figure = el(
      'figure',
      { class: `chart chart-${chart.title.toLowerCase()}` },
      el('figcaption', {}, chart.title, chart.title === 'Expected' && ' gold at the end, by the review', hint),
      box,
    );
    host.append(figure);
    const built = { ...chart, drawing, needle, veil, ghost, box, hint, figure, width: 0, peak: 1, known: -1,
      most: 1 };
    const at = (event) => this._stateAt(event.clientX - box.getBoundingClientRect().left, box.clientWidth);
    // A touch that begins to scroll the page is no click.
    let from = 0;
    box.addEventListener('pointerdown', (event) => {
      from = event.clientX;
      box.setPointerCapture(event.pointerId);
    });
    box.addEventListener('click', (event) => jump(at(event)));
    box.addEventListener('pointermove', (event) => {
      if (event.buttons & 1 && Math.abs(event.clientX - from) > 6) jump(at(event));
      this._hover(built, at(event));
    });
    box.addEventListener('pointerleave', () => this._hover(built, null));
    return built;
  }

  _hover(chart, state) {
    for (const { ghost, box } of this.charts) {
      ghost.hidden = state === null;
      if (state !== null) ghost.style.transform = `translateX(${this._x(state, box.clientWidth)}px)`;
    }
    const { game } = this;
    if (state === null) chart.hint.textContent = '';
    else if (!this.whole && state > this.seen) chart.hint.textContent = ` turn ${game.turns[state]}`;
    else {
      const values =
        chart === this.expected
          ? this._expectedAt(state)
          : chart.values(state).join(' · ');
      chart.hint.textContent = ` turn ${game.turns[state]}: ${values}`;
    }
  }

  _expectedAt(state) {
    const found = this.game.expected.findLast((one) => one.state <= state);
    return found ? found.gold.map(Math.round).join(' · ') : 'not reviewed';
  }

  _stateAt(x, width) {
    const { game } = this,
      turn = game.turns[0] + ((x - PADDING.left) / (width - PADDING.left - PADDING.right)) * this._turns();
    const state = game.turns.findIndex((one) => one >= turn - 0.5);
    return state < 0 ? game.last : state;
  }

  /** Return the number of turns of the axis. */
  _turns() {
    return Math.max(1, this.game.turns[this.game.last] - this.game.turns[0]);
  }

  _x(state, width) {
    const { game } = this;
    return PADDING.left +
      ((game.turns[state] - game.turns[0]) / this._turns()) * (width - PADDING.left - PADDING.right);
  }

  /** Move the line that shows the time. */
  show(state) {
    this.state = state;
    this.seen = Math.max(this.seen, state);
    if (!this.whole && this.game.ending && state === this.game.last) this._reveal();
    if (this.charts.some((chart) => chart.most < this._most(chart))) this.draw();
    for (const { needle, veil, width } of this.charts) {
      needle.style.transform = `translateX(${this._x(state, width).toFixed(1)}px)`;
      if (!this.whole) veil.style.transform = `translateX(${this._x(this.seen, width).toFixed(1)}px)`;
    }
  }

  /** Show the curves of the whole game. */
  _reveal() {
    this.whole = true;
    this.reveal.hidden = true;
    for (const { veil } of this.charts) veil.hidden = true;
    this.draw();
    this.show(this.state);
  }

  /** Return the top of a chart's scale: the largest value so far, or a round number that is not smaller, so that the
   *  scale does not tell what comes. */
  _most(chart) {
    const to = this.whole ? this.game.last : this.seen;
    while (chart.known < to) chart.peak = Math.max(chart.peak, ...chart.values(++chart.known));
    return this.whole ? chart.peak : roundUp(chart.peak);
  }

  setTheme(theme) {
    this.theme = theme;
    this.draw();
  }

  /** Highlight the curve of a hero; no curve for -1. */
  stress(hero) {
    this.hero = hero;
    this.draw();
  }

  draw() {
    for (const chart of this.charts) {
      const { clientWidth: width, clientHeight: height } = chart.box;
      chart.most = this._most(chart);
      if (!width || !height) continue;
      chart.width = width;
      const x = (state) => Number(this._x(state, width).toFixed(1));
      chart.drawing.replaceChildren(...chart.draw.call(this, chart, x, width, height), ...this._gaps(x, height));
      set(chart.box, { 'aria-label': this._label(chart) });
    }
  }

  _label(chart) {
    if (chart === this.expected) return 'Expected gold of the four heroes at the end, over time';
    const start = `${chart.title} of the four heroes over time`;
    if (!this.whole) return start;
    const { game } = this, last = chart.values(game.last);
    return `${start}; at the end ${game.names.map((name, hero) => `${name} ${last[hero]}`).join(', ')}`;
  }

  // ---- Parts of the drawings ----

  _line(width, y) {
    return svg('path', { class: 'grid', d: `M${PADDING.left} ${Math.round(y) + 0.5}H${width - PADDING.right}` });
  }

  _number(text, y) {
    return svg('text', { x: PADDING.left - 5, y, 'text-anchor': 'end', 'dominant-baseline': 'central', text });
  }

  /** Return the function from a value to its place on the vertical axis, and the labels and lines of this axis. */
  _axis({ most }, width, height) {
    const inner = height - PADDING.top - PADDING.bottom,
      y = (value) => PADDING.top + (inner * (most - value)) / most;
    return { y, axis: steps(most).flatMap((value) => [this._line(width, y(value)), this._number(value, y(value))]) };
  }

  /** Return the curve of a hero, in the colour and with the dashes of the hero. */
  _curve(hero, d, width = this.hero === hero ? 2.6 : 1.7) {
    return svg('path', { d, fill: 'none', stroke: HEROES[hero][this.theme === 'dark' ? 'main' : 'deep'],
      'stroke-width': width, 'stroke-dasharray': DASHES[hero],
      'stroke-linejoin': 'round', opacity: this._shine(hero) });
  }

  _shine(hero) {
    return this.hero >= 0 && this.hero !== hero ? 0.4 : 1;
  }

  /** Return the heroes in the order of drawing: the highlighted hero is last. */
  _order() {
    return [...HERO].sort((a, b) => Number(a === this.hero) - Number(b === this.hero));
  }

  /** Return the path of the values of a hero over the whole game. It breaks at gaps. With a `floor`, each part is an
   *  area above it. */
  _path(chart, hero, x, y, floor = null) {
    const { game } = this;
    let d = '', before = null, start = 0;
    const close = () => (d && floor !== null ? `V${floor}H${start}Z` : '');
    for (let state = 0; state <= game.last; state++) {
      const value = chart.values(state)[hero];
      if (game.gaps[state] || state === 0) {
        d += `${close()}M${x(state)} ${y(value).toFixed(1)}`;
        start = x(state);
      } else if (value !== before || state === game.last || game.gaps[state + 1])
        d += `H${x(state)}V${y(value).toFixed(1)}`;
      before = value;
    }
    return d + close();
  }

  _gaps(x, height) {
    const gaps = [...this.game.gaps.keys()].filter((state) => state && this.game.gaps[state]);
    return gaps.map((state) => svg('rect', { class: 'gap', x: x(state - 1), y: 0, height,
      width: Math.max(3, x(state) - x(state - 1)) }));
  }

  // ---- The drawings ----

  _curves(chart, x, width, height) {
    const { y, axis } = this._axis(chart, width, height);
    return [...axis, ...this._order().map((hero) => this._curve(hero, this._path(chart, hero, x, y)))];
  }

  /** Draw the expected gold of each hero at the end, with bad moves as diamonds on the curve of the hero. */
  _expected(chart, x, width, height) {
    const { expected, marked } = this.game,
      { y, axis } = this._axis(chart, width, height);
    // turns of a hero are four plies apart; turns within a longer distance were not reviewed
    const path = (hero) => expected.map(({ state, gold }, i) =>
      `${i && state - expected[i - 1].state <= 8 ? 'L' : 'M'}${x(state)} ${y(gold[hero]).toFixed(1)}`).join('');
    const bad = marked.map(({ ply, hero, mark }) => svg('g', { opacity: this._shine(hero) },
      diamond(x(ply), y(this.expectedGold.get(ply)[hero]), MARKS[mark].size)));
    return [...axis, ...this._order().map((hero) => this._curve(hero, path(hero))), ...bad];
  }

  /** Draw the life of each hero in a separate band, because the curves would hide each other. Crosses mark deaths. */
  _bands(chart, x, width, height) {
    const each = height / 4;
    return HERO.flatMap((hero) => {
      const bottom = (hero + 1) * each - 1,
        tall = each - 3,
        k = Math.min(3, tall / 4);
      const y = (value) => bottom - (tall * value) / 100,
        deaths = this.game.events.death.filter(({ heroes }) => heroes[0] === hero);
      const crosses = deaths.map(({ state }) =>
        `M${x(state) - k} ${y(65) - k}l${2 * k} ${2 * k}m0 ${-2 * k}l${-2 * k} ${2 * k}`);
      return [
        svg('path', { d: this._path(chart, hero, x, y, bottom), fill: `${HEROES[hero].main}55`,
          opacity: this._shine(hero) }),
        this._curve(hero, this._path(chart, hero, x, y), 1.2),
        this._line(width, bottom), this._number(`@${hero + 1}`, bottom - tall / 2),
        svg('path', { class: 'crosses', d: crosses.join('') }),
      ];
    });
  }
}
