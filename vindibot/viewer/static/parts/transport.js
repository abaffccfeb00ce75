// The controls below the board: the slider with the events above it, and the buttons that change the time.

import { button, el, icon, set, svg } from '../core/dom.js';
import { SPEEDS } from '../game/clock.js';
import { diamond } from '../board/marks.js';
import { MARKS } from '../game/names.js';
import { HEROES } from '../board/sprites.js';

const ICONS = {
  play: ['', 'M7 4.5v15l13-7.5z'],
  pause: ['', 'M6 4.5h4v15H6zM14 4.5h4v15h-4z'],
  first: ['M6 5v14', 'M19 5v14L8.5 12z'],
  last: ['M18 5v14', 'M5 5v14l10.5-7z'],
  back: ['', 'M16 5v14L6 12z'],
  forward: ['', 'M8 5v14l10-7z'],
  roundBack: ['', 'M12 5v14L3 12zM21 5v14l-9-7z'],
  roundForward: ['', 'M12 5v14l9-7zM3 5v14l9-7z'],
};
/** The buttons that change the time: the label, the icon, the key with the same effect, and this effect. */
export const STEPS = [
  { label: 'To the start', name: 'first', key: 'Home', act: (clock) => clock.halt(0) },
  { label: 'A round back', name: 'roundBack', key: 'Shift ←', act: (clock) => clock.step(-4) },
  { label: 'A ply back', name: 'back', key: '←', act: (clock) => clock.step(-1) },
  { label: 'A ply on', name: 'forward', key: '→', act: (clock) => clock.step(1) },
  { label: 'A round on', name: 'roundForward', key: 'Shift →', act: (clock) => clock.step(4) },
  { label: 'To the end', name: 'last', key: 'End', act: (clock) => clock.halt(Infinity) },
];

/** The controls of a clock. */
export class Transport {
  constructor(host, game, clock) {
    this.game = game;
    this.clock = clock;
    this.marks = svg('svg', { class: 'events', 'aria-hidden': 'true' });
    this.slider = el('input', {
      type: 'range',
      min: 0,
      max: game.last,
      value: 0,
      step: 1,
      'aria-label': 'Time',
      on: { input: () => clock.go(Number(this.slider.value)) },
    });
    this.icons = { play: icon(...ICONS.play), pause: icon(...ICONS.pause) };
    this.toggle = button('Play', this.icons.play, () => clock.toggle(), { class: 'main' });
    const steps = STEPS.map(({ label, name, key, act }) =>
      button(label, icon(...ICONS[name]), () => act(clock), { key }));
    this.speed = el(
      'select',
      {
        'aria-label': 'Speed',
        title: 'Speed (+ and −)',
        on: { change: () => clock.setSpeed(Number(this.speed.value)) },
      },
      SPEEDS.map((speed) => el('option', { value: speed, text: `${speed}×` })),
    );
    this.live = el(
      'button',
      { type: 'button', class: 'live', title: 'Jump to live (L)', hidden: true, on: { click: () => clock.follow() } },
      el('span', { class: 'dot', 'aria-hidden': 'true' }),
      el('span', { text: 'Live' }),
    );
    this.where = el('span', { class: 'where' });
    const moves = el(
      'div',
      { class: 'buttons', role: 'group', 'aria-label': 'Playback' },
      steps.slice(0, 3),
      this.toggle,
      steps.slice(3),
    );
    host.append(
      el('div', { class: 'scrub' }, this.marks, this.slider),
      el('div', { class: 'row' }, moves, this.speed, this.live, this.where),
    );
    this.resizes = new ResizeObserver(() => this.draw());
    this.resizes.observe(this.marks);
  }

  /** Show the time. */
  show(state) {
    const { clock, game } = this,
      going = clock.playing || clock.following;
    if (this.going !== going) {
      this.going = going;
      this.toggle.replaceChildren(going ? this.icons.pause : this.icons.play);
      set(this.toggle, { 'aria-label': going ? 'Pause' : 'Play', title: `${going ? 'Pause' : 'Play'} (Space)` });
    }
    if (this.speed.value !== String(clock.speed)) this.speed.value = clock.speed;
    if (state === this.state && game.last === this.last) return;
    this.state = state;
    this.last = game.last;
    this.slider.max = game.last;
    this.slider.value = state;
    const turn = game.turns[state],
      round = Math.min(Math.floor(turn / 4) + 1, Math.ceil(game.bundle.max_turns / 4));
    set(this.slider, { 'aria-valuetext': `turn ${turn} of ${game.bundle.max_turns}, round ${round}` });
    this.where.textContent = `${turn} / ${game.bundle.max_turns} · round ${round}`;
  }

  /** Show or hide the button that jumps to the end of a live game. */
  setLive(live, following) {
    this.live.hidden = !live;
    set(this.live, { 'aria-pressed': String(following) });
  }

  /** Draw the events again, after the game has grown or the size has changed. Kills and deaths are ticks in the
   *  colour of the killer, mines are small ticks, bad moves of a review are diamonds. */
  draw() {
    const { game, marks } = this,
      { clientWidth: width, clientHeight: height } = marks;
    if (!width || !game.last) return;
    // the slider's knob is 16 px wide, so the middle of the knob goes from 8 to width - 8
    const x = (state) => 8 + (state / game.last) * (width - 16),
      tick = (left, y, wide, tall, fill) => svg('rect', { x: left, y, width: wide, height: tall, fill });
    const mines = game.events.mine.map(({ state, heroes }) =>
      tick(x(state) - 0.5, height - 4, 1, 4, `${HEROES[heroes[heroes.length - 1] ?? 0].main}66`));
    const gaps = game.gaps.map((gap, state) => gap && state > 0 &&
      tick(x(state - 1), 0, Math.max(2, x(state) - x(state - 1)), height, '#8c8c8c99'));
    const deaths = game.events.death.map(({ state, heroes, by }) => {
      const killed = by >= 0, { main } = HEROES[killed ? by : heroes[0]];
      return tick(x(state) - 1, killed ? 0 : height / 2, 2.5, (killed ? height : height / 2) - 5, main);
    });
    const bad = game.marked.map(({ ply, mark }) => diamond(x(ply), 6, MARKS[mark].size));
    marks.replaceChildren(...mines, ...gaps.filter(Boolean), ...deaths, ...bad);
  }
}
