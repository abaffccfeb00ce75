// Charts of gold, mines and life of the four heroes over time, and of the gold that a review expects. The curves are
// drawn again only when the game grows or the size changes. A vertical line over the curves shows the time. At first
// the curves end at the latest state that was shown, so that they do not tell the result. They show the whole game
// after it was shown to its end, or if the user asks for it.

import { el, set } from './dom.js';
import { diamond } from './marks.js';
import { GOLD, LIFE, MINES } from './model.js';
import { MARKS } from './names.js';
import { HEROES } from './sprites.js';

const PADDING = { left: 34, right: 8, top: 6, bottom: 4 };
/** The dashes of the lines of heroes 1..4. */
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
const LOOKS = {
  light: { line: 'rgba(0,0,0,.13)', text: '#5d5b54', gap: 'rgba(120,110,90,.28)' },
  dark: { line: 'rgba(255,255,255,.12)', text: '#a3a89f', gap: 'rgba(200,200,200,.16)' },
};

/** Return at most five round numbers from 0 to `most`, for the labels of an axis. */
function steps(most) {
  const rough = Math.max(1, most / 3),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((candidate) => candidate >= rough);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
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
    this.reveal = el('button', {
      type: 'button',
      class: 'reveal',
      text: 'Show the whole game',
      title: 'the curves end at the latest turn that you have seen',
      on: { click: () => this._reveal() },
    });
    host.append(el('div', { class: 'panel-head' }, el('h2', { id: 'charts-title', text: 'Curves' }), this.reveal));
    this.charts = [
      { field: GOLD, title: 'Gold', draw: this._curves },
      { field: MINES, title: 'Mines', draw: this._curves },
      { field: LIFE, title: 'Life', draw: this._bands },
      { title: 'Expected', draw: this._expected },
    ].map((chart) => this._build(host, chart, jump));
    this.expected = this.charts.at(-1);
    this.expected.legend.textContent = ' gold at the end, by the review';
    this.expected.figure.hidden = !game.expected.length;
    this.resizes = new ResizeObserver(() => {
      this.draw();
      this.show(this.state);
    });
    for (const chart of this.charts) this.resizes.observe(chart.box);
  }

  _build(host, chart, jump) {
    const canvas = el('canvas', { 'aria-hidden': 'true' }),
      needle = el('div', { class: 'needle' }),
      veil = el('div', { class: 'veil' }),
      ghost = el('div', { class: 'needle ghost' });
    const box = el('div', { class: 'plot', role: 'img' }, canvas, veil, ghost, needle),
      hint = el('span', { class: 'hint' });
    const legend = el('span', { class: 'legend' });
    const figure = el(
      'figure',
      { class: `chart chart-${chart.title.toLowerCase()}` },
      el('figcaption', {}, chart.title, legend, hint),
      box,
    );
    host.append(figure);
    const built = { ...chart, canvas, needle, veil, ghost, box, hint, legend, figure, width: 0 };
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
          : [0, 1, 2, 3].map((hero) => game.value(state, hero, chart.field)).join(' · ');
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
    let low = 0,
      high = game.last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (game.turns[middle] < turn - 0.5) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Return the number of turns of the axis. */
  _turns() {
    return Math.max(1, this.game.turns[this.game.last] - this.game.turns[0]);
  }

  _x(state, width) {
    const { game } = this;
    return PADDING.left + ((game.turns[state] - game.turns[0]) / this._turns()) * (width - PADDING.left - PADDING.right);
  }

  /** Move the line that shows the time. */
  show(state) {
    this.state = state;
    this.seen = Math.max(this.seen, state);
    if (!this.whole && this.game.ending && state === this.game.last) this._reveal();
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
    const look = LOOKS[this.theme];
    for (const chart of this.charts) {
      const { clientWidth: width, clientHeight: height } = chart.box,
        ratio = Math.min(2, window.devicePixelRatio || 1);
      if (!width || !height) continue;
      chart.width = width;
      chart.canvas.width = Math.round(width * ratio);
      chart.canvas.height = Math.round(height * ratio);
      const c = chart.canvas.getContext('2d');
      c.scale(ratio, ratio);
      c.font = '10px system-ui, sans-serif';
      chart.draw.call(this, c, chart, width, height, look);
      this._gaps(c, width, height, look);
      set(chart.box, { 'aria-label': this._label(chart) });
    }
  }

  _label(chart) {
    if (chart === this.expected) return 'Expected gold of the four heroes at the end, over time';
    const start = `${chart.title} of the four heroes over time`;
    if (!this.whole) return start;
    const { game } = this;
    return `${start}; at the end ${game.names.map((name, hero) => `${name} ${game.value(game.last, hero, chart.field)}`).join(', ')}`;
  }

  /** Draw the expected gold of each hero at the end, with bad moves as diamonds on the curve of the hero. */
  _expected(c, chart, width, height, look) {
    const { expected, marked } = this.game;
    if (!expected.length) return;
    const x = (state) => this._x(state, width),
      y = this._axis(c, width, height, look, Math.max(1, ...expected.flatMap(({ gold }) => gold)));
    c.lineJoin = 'round';
    for (const hero of this._order()) {
      this._pen(c, hero);
      c.globalAlpha = this.hero >= 0 && this.hero !== hero ? 0.4 : 1;
      c.lineWidth = this.hero === hero ? 2.6 : 1.7;
      c.beginPath();
      expected.forEach(({ state, gold }, i) => {
        // turns of a hero are four plies apart; turns within a longer distance were not reviewed
        if (!i || state - expected[i - 1].state > 8) c.moveTo(x(state), y(gold[hero]));
        else c.lineTo(x(state), y(gold[hero]));
      });
      c.stroke();
    }
    for (const { ply, hero, mark } of marked) {
      c.globalAlpha = this.hero >= 0 && this.hero !== hero ? 0.4 : 1;
      const { gold } = expected.find(({ state }) => state === ply);
      diamond(c, x(ply), y(gold[hero]), MARKS[mark].size);
    }
    c.globalAlpha = 1;
  }

  /** Draw the labels and lines of a vertical axis. Return the function from a value to its place. */
  _axis(c, width, height, look, most) {
    const inner = height - PADDING.top - PADDING.bottom,
      y = (value) => PADDING.top + (inner * (most - value)) / most;
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const value of steps(most)) {
      c.fillStyle = look.line;
      c.fillRect(PADDING.left, Math.round(y(value)), width - PADDING.left - PADDING.right, 1);
      c.fillStyle = look.text;
      c.fillText(value, PADDING.left - 5, y(value));
    }
    return y;
  }

  _gaps(c, width, height, look) {
    const { game } = this;
    c.fillStyle = look.gap;
    for (let state = 1; state <= game.last; state++) {
      if (!game.gaps[state]) continue;
      const left = this._x(state - 1, width),
        wide = Math.max(3, this._x(state, width) - left);
      c.fillRect(left, 0, wide, height);
    }
  }

  /** Return the points where a hero's value changes. The result has a list of points for each part of the game
   *  between two gaps. */
  _trace(c, field, hero, x, y) {
    const { game } = this;
    c.beginPath();
    for (let state = 0, before = null; state <= game.last; state++) {
      const value = game.value(state, hero, field),
        broken = game.gaps[state] || state === 0;
      if (broken) c.moveTo(x(state), y(value));
      else if (value !== before || state === game.last || game.gaps[state + 1]) {
        c.lineTo(x(state), y(before));
        c.lineTo(x(state), y(value));
      }
      before = value;
    }
  }

  _curves(c, chart, width, height, look) {
    const { game } = this;
    let most = 1;
    for (let state = 0; state <= game.last; state++)
      for (let hero = 0; hero < 4; hero++) most = Math.max(most, game.value(state, hero, chart.field));
    const x = (state) => this._x(state, width),
      y = this._axis(c, width, height, look, most);
    for (const hero of this._order()) {
      this._trace(c, chart.field, hero, x, y);
      this._pen(c, hero);
      c.globalAlpha = this.hero >= 0 && this.hero !== hero ? 0.4 : 1;
      c.lineWidth = this.hero === hero ? 2.6 : 1.7;
      c.lineJoin = 'round';
      c.stroke();
      c.globalAlpha = 1;
    }
  }

  /** Draw lines in the colour and with the dashes of a hero. */
  _pen(c, hero) {
    c.strokeStyle = HEROES[hero][this.theme === 'dark' ? 'main' : 'deep'];
    c.setLineDash(DASHES[hero]);
  }

  /** Return the heroes in the order of drawing: the highlighted hero is last. */
  _order() {
    return [0, 1, 2, 3].sort((a, b) => (a === this.hero) - (b === this.hero));
  }

  /** Draw the life of each hero in a separate band, because the curves would hide each other. Crosses mark deaths. */
  _bands(c, chart, width, height, look) {
    const { game } = this,
      each = height / 4,
      deaths = game.events.death;
    for (let hero = 0; hero < 4; hero++) {
      const top = hero * each + 2,
        bottom = (hero + 1) * each - 1,
        tall = bottom - top;
      const x = (state) => this._x(state, width),
        y = (value) => bottom - (tall * value) / 100;
      c.globalAlpha = this.hero >= 0 && this.hero !== hero ? 0.45 : 1;
      this._area(c, hero, x, y, bottom);
      c.fillStyle = look.line;
      c.fillRect(PADDING.left, Math.round(bottom), width - PADDING.left - PADDING.right, 1);
      c.fillStyle = look.text;
      c.textAlign = 'right';
      c.textBaseline = 'middle';
      c.fillText(`@${hero + 1}`, PADDING.left - 5, (top + bottom) / 2);
      c.setLineDash([]);
      c.strokeStyle = this.theme === 'dark' ? '#fff' : '#111';
      c.lineWidth = 1.4;
      c.beginPath();
      for (const { state, heroes } of deaths) {
        if (heroes[0] !== hero) continue;
        const at = x(state),
          middle = top + tall * 0.35,
          k = Math.min(3, tall / 4);
        c.moveTo(at - k, middle - k);
        c.lineTo(at + k, middle + k);
        c.moveTo(at + k, middle - k);
        c.lineTo(at - k, middle + k);
      }
      c.stroke();
      c.globalAlpha = 1;
    }
  }

  _area(c, hero, x, y, bottom) {
    const { game } = this;
    this._trace(c, LIFE, hero, x, y);
    this._pen(c, hero);
    c.lineWidth = 1.2;
    c.stroke();
    c.beginPath();
    for (let state = 0; state <= game.last; state++) {
      if (state === 0 || game.gaps[state]) {
        if (state) c.lineTo(x(state - 1), bottom);
        c.moveTo(x(state), bottom);
      }
      c.lineTo(x(state), y(game.value(state, hero, LIFE)));
    }
    c.lineTo(x(game.last), bottom);
    c.fillStyle = `${HEROES[hero].main}55`;
    c.fill();
  }
}
