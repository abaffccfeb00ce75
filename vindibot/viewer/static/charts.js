// Charts of gold, mines and life of the four heroes over time. The curves are drawn again only when the game grows or the size
// changes. One line over the curves moves with the time.

import { el } from 'viewer/dom.js';
import { GOLD, LIFE, MINES } from 'viewer/model.js';
import { HEROES } from 'viewer/sprites.js';

const PADDING = { left: 34, right: 8, top: 6, bottom: 4 };
const LOOKS = {
  light: { line: 'rgba(0,0,0,.13)', text: '#5d5b54', gap: 'rgba(120,110,90,.28)' },
  dark: { line: 'rgba(255,255,255,.12)', text: '#a3a89f', gap: 'rgba(200,200,200,.16)' },
};

/** Return at most four round numbers up to `most`, for the labels of an axis. */
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
    this.charts = [
      { field: GOLD, title: 'Gold', draw: this._curves },
      { field: MINES, title: 'Mines', draw: this._curves },
      { field: LIFE, title: 'Life', draw: this._bands },
    ].map((chart) => this._build(host, chart, jump));
    this.state = 0;
    this.resizes = new ResizeObserver(() => {
      this.draw();
      this.show(this.state);
    });
    for (const chart of this.charts) this.resizes.observe(chart.box);
  }

  _build(host, chart, jump) {
    const canvas = el('canvas', { 'aria-hidden': 'true' }),
      needle = el('div', { class: 'needle' }),
      ghost = el('div', { class: 'needle ghost' });
    const box = el('div', { class: 'plot', role: 'img' }, canvas, ghost, needle),
      hint = el('span', { class: 'hint' });
    host.append(
      el('figure', { class: `chart chart-${chart.title.toLowerCase()}` }, el('figcaption', {}, chart.title, hint), box),
    );
    const built = { ...chart, canvas, needle, ghost, box, hint, width: 0 };
    const at = (event) => this._stateAt(event.clientX - box.getBoundingClientRect().left, box.clientWidth);
    box.addEventListener('pointerdown', (event) => {
      box.setPointerCapture(event.pointerId);
      jump(at(event));
    });
    box.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) jump(at(event));
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
    chart.hint.textContent =
      state === null
        ? ''
        : ` turn ${game.turns[state]}: ${[0, 1, 2, 3].map((hero) => game.value(state, hero, chart.field)).join(' · ')}`;
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
    for (const { needle, width } of this.charts) needle.style.transform = `translateX(${this._x(state, width).toFixed(1)}px)`;
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
      const said = this.game.names
        .map((name, hero) => `${name} ${this.game.value(this.game.last, hero, chart.field)}`)
        .join(', ');
      chart.box.setAttribute('aria-label', `${chart.title} of the four heroes over time; at the end ${said}`);
    }
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

  /** Return the points where a hero's value changes. The result has a list of points for each part of the game between two
   *  gaps. */
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
    const { game } = this,
      inner = height - PADDING.top - PADDING.bottom;
    let most = 1;
    for (let state = 0; state <= game.last; state++)
      for (let hero = 0; hero < 4; hero++) most = Math.max(most, game.value(state, hero, chart.field));
    const x = (state) => this._x(state, width),
      y = (value) => PADDING.top + inner * (1 - value / most);
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const value of steps(most)) {
      c.fillStyle = look.line;
      c.fillRect(PADDING.left, Math.round(y(value)), width - PADDING.left - PADDING.right, 1);
      c.fillStyle = look.text;
      c.fillText(String(value), PADDING.left - 5, y(value));
    }
    for (const hero of this._order()) {
      this._trace(c, chart.field, hero, x, y);
      c.strokeStyle = HEROES[hero].main;
      c.globalAlpha = this.hero >= 0 && this.hero !== hero ? 0.4 : 1;
      c.lineWidth = this.hero === hero ? 2.6 : 1.7;
      c.lineJoin = 'round';
      c.stroke();
      c.globalAlpha = 1;
    }
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
    c.strokeStyle = HEROES[hero].main;
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
