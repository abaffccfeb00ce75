// The form in which the person chooses opponents, map and pace. The browser stores the last choice. The form first
// selects this choice, without bots and maps that no longer exist.

import { begin, mapOf } from './api.js';
import { Board } from '../board/board.js';
import { button, el, foreign, set } from '../core/dom.js';
import { HEROES } from '../board/sprites.js';
import { MINE, TAVERN, tilesOf } from '../game/names.js';
import { store, stored } from '../core/storage.js';

const MEMORY = 'vindibot-challenge';
const SIZES = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28];
const LIMITS = [150, 300, 500, 1000, 2000, 5000];
/** The paces: the number of seconds after which the hero stays if the person has not moved. 0: only the server's
 *  limit counts. */
const PACES = [0, 5, 2, 1];

const seconds = (ms) => `${ms / 1000} s`;
const count = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;

const memory = () => JSON.parse(stored(MEMORY)) ?? {};

/** Return the pace of the last choice: the number of seconds after which the hero stays (0: never). */
export const storedPace = () => memory().pace ?? 0;

export class Choice {
  /** Make the form in the element `host`. When the game of the person's choice has begun, call `play` with the token of
   *  its link, and with the pace. */
  constructor(host, offers, play) {
    this.offers = offers;
    this.seed = Math.floor(Math.random() * offers.largest_seed);
    this.play = play;
    this.theme = 'dark';
    const before = memory(),
      { first } = offers;
    const bots = this._bots(before.bots);
    this.name = el('input', { type: 'text', id: 'name', maxlength: offers.longest_name, required: true,
      autocomplete: 'nickname', value: before.name ?? 'You' });
    this.hero = el('select', { id: 'hero' }, [1, 2, 3, 4].map((hero) => el('option', { value: hero,
      text: `hero ${hero}${hero === 1 ? ' (moves first)' : ''}` })));
    this.bots = bots.map((bot, index) => this._opponent(index, bot));
    this.map = this._maps();
    this.size = el('select', { id: 'size' }, el('option', { value: '', text: 'any size' }),
      SIZES.map((size) => el('option', { value: size, text: `${size} × ${size}` })));
    this.again = button('Another map', 'Another', () => this._another(), { class: 'roomy' });
    const rounds = before.rounds ?? first.rounds;
    this.rounds = el('input', { type: 'number', id: 'rounds', min: 1, max: 600, required: true, value: rounds });
    this.pace = el('select', { id: 'pace' },
      PACES.map((pace) => el('option', { value: pace, text: this._pace(pace) })));
    const limits = [...new Set([...LIMITS, first.limit_ms])].filter((ms) => ms > offers.margin_ms);
    limits.sort((a, b) => a - b);
    const limitText = (ms) => `at most ${seconds(ms)}${ms === 1000 ? ', as in the game' : ''}`;
    this.limit = el('select', { id: 'limit' }, limits.map((ms) => el('option', { value: ms, text: limitText(ms) })));
    this._pick(this.hero, first.hero ?? before.hero ?? 1);
    this._pick(this.size, before.size ?? '');
    this._pick(this.pace, before.pace ?? 0);
    this._pick(this.limit, first.limit_ms);
    this._pick(this.map, ['named', 'turn'].includes(first.map) ? first.map : before.map ?? first.map);
    this.problem = el('p', { class: 'problem', id: 'problem', role: 'alert' });
    this.go = el('button', { type: 'submit', class: 'go', text: 'Play' });
    this.preview = el('div', {});
    this.facts = el('p', { class: 'said' });
    const field = (label, control, ...more) => el('div', { class: 'field' },
      el('label', { for: control.id, text: label }), el('div', { class: 'row' }, control, more));
    const submit = (event) => {
      event.preventDefault();
      this._go();
    };
    this.form = el('form', { class: 'panel choice', on: { submit } },
      el('div', { class: 'pair' }, field('Your name', this.name), field('You are', this.hero)),
      el('fieldset', { class: 'opponents' }, el('legend', { text: 'Against' }), this.bots.map(({ row }) => row)),
      el('div', { class: 'pair' }, field('Map', this.map), field('Size', this.size, this.again)),
      el('div', { class: 'pair' }, field('Your pace', this.pace), field('Bots think', this.limit)),
      el('div', { class: 'pair' }, field('Rounds', this.rounds), el('div', { class: 'field end' }, this.go)),
      this.problem);
    for (const select of [this.map, this.size]) select.addEventListener('change', () => this._show());
    this.hero.addEventListener('change', () => this._number());
    host.append(el('div', { class: 'stage' }, this.preview, this.facts), this.form);
    this._number();
    this._show();
  }

  setLook({ theme }) {
    this.theme = theme;
    this.board?.setTheme(theme);
  }

  /** Disable the form while bots start, and show `text` on its button. If `text` is empty, enable the form again. */
  _busy(text) {
    for (const control of this.form.elements) control.disabled = Boolean(text);
    this.go.textContent = text || 'Play';
    if (!text) this._show();
  }

  _pace(pace) {
    if (pace) return `${pace} s per move${pace === 1 ? ', as in the game' : ''}, then your hero stays`;
    const limit = this.offers.your_limit_s;
    return limit ? `up to ${limit} s per move` : 'no time limit';
  }

  /** Return the ids of the bots to select: the bots that the command named, else the bots of the last game. A
   *  default bot replaces each bot of the last game that no longer exists. */
  _bots(before) {
    const offered = new Set(this.offers.bots.filter((bot) => !bot.problem).map((bot) => bot.id));
    const { first } = this.offers;
    if (first.named || before?.length !== 3) return first.bots;
    return first.bots.map((bot, index) => (offered.has(before[index]) ? before[index] : bot));
  }

  _opponent(index, chosen) {
    const names = this.offers.bots.map((bot) => bot.name);
    const ambiguous = new Set(names.filter((name, i) => names.indexOf(name) !== i));
    const number = el('span', { class: 'number' });
    const select = el('select', {}, this.offers.bots.map((bot) => {
      const shown = ambiguous.has(bot.name) || bot.where !== 'comes with vindibot' ?
        `${bot.name} (${bot.where})` : bot.name;
      return el('option', { value: bot.id, disabled: Boolean(bot.problem), title: bot.problem || bot.where,
        text: bot.problem ? `${bot.name}: cannot be read` : shown });
    }));
    this._pick(select, chosen);
    return { select, number, row: el('div', { class: 'opponent' }, number, select) };
  }

  /** Number the opponents. In order, they take all heroes except the person's. */
  _number() {
    const heroes = [0, 1, 2, 3].filter((hero) => hero !== Number(this.hero.value) - 1);
    this.bots.forEach(({ number, select }, index) => {
      number.textContent = heroes[index] + 1;
      number.style.setProperty('--hero', HEROES[heroes[index]].main);
      set(select, { 'aria-label': `Hero ${heroes[index] + 1}` });
    });
  }

  _maps() {
    const groups = new Map();
    for (const map of this.offers.maps) {
      const text = map.size && map.group ? `${map.name} (${map.size})` : map.name;
      const option = el('option', { value: map.id, text });
      if (!groups.has(map.group)) groups.set(map.group, map.group ? el('optgroup', { label: map.group }) : []);
      const group = groups.get(map.group);
      if (Array.isArray(group)) group.push(option);
      else group.append(option);
    }
    return el('select', { id: 'map' }, [...groups.values()].flat());
  }

  _pick(select, value) {
    const fits = (option) => option.value === String(value) && !option.disabled;
    if ([...select.options].some(fits)) select.value = value;
  }

  _another() {
    this.seed = Math.floor(Math.random() * this.offers.largest_seed);
    this._show();
  }

  /** Draw the selected map. */
  async _show() {
    const random = this.map.value === 'random',
      asked = (this.asked = {});
    this.size.disabled = this.again.disabled = !random;
    this.rounds.disabled = this.map.value === 'turn';
    try {
      const map = await mapOf(this.map.value, this.seed, random ? this.size.value : '');
      if (asked !== this.asked) return;
      this.board?.remove();
      const tiles = tilesOf(map.tiles);
      this.board = new Board(this.preview, { size: map.size, tiles, spawns: map.spawns,
        label: `The map: ${map.size} by ${map.size} squares` });
      this.board.setTheme(this.theme);
      this.board.setNames(false);
      this.board.frame({
        owners: Uint8Array.from(map.owners ?? tiles, (owner) => (map.owners ? owner : 0)),
        effects: [],
        heroes: (map.heroes ?? map.spawns.map((square) => ({ square, life: 100, crashed: false })))
          .map(({ square, ...hero }) => ({
            ...hero,
            x: square < 0 ? -9 : square % map.size,
            y: Math.floor(square / map.size),
            alpha: 1,
          })),
      });
      const mines = tiles.filter((tile) => tile === MINE).length,
        taverns = tiles.filter((tile) => tile === TAVERN).length;
      this.facts.replaceChildren(foreign(random ? 'a new map' : map.name),
        `, ${map.size} × ${map.size}, ${count(mines, 'mine')}, ${count(taverns, 'tavern')}`,
        map.rounds ? `, ${count(map.rounds, 'round')} left` : '');
    } catch (problem) {
      const alert = el('span', { class: 'problem', role: 'alert', text: problem.message });
      if (asked === this.asked) this.facts.replaceChildren(alert);
    }
  }

  async _go() {
    this.problem.textContent = '';
    for (const control of this.form.elements) set(control, { 'aria-invalid': null, 'aria-describedby': null });
    const choice = {
      name: this.name.value.trim(),
      hero: Number(this.hero.value),
      bots: this.bots.map(({ select }) => select.value),
      map: this.map.value,
      size: this.map.value === 'random' && this.size.value ? Number(this.size.value) : null,
      map_seed: this.seed,
      rounds: Number(this.rounds.value),
      limit_ms: Number(this.limit.value),
    };
    const pace = Number(this.pace.value);
    const { name, hero, bots, map, rounds } = choice;
    store(MEMORY, JSON.stringify({ name, hero, bots, map, size: this.size.value, rounds, pace }));
    this._busy('Starting the bots …');
    try {
      this.play((await begin(choice)).token, pace);
    } catch (problem) {
      this._busy('');
      this._wrong(problem.message);
    }
  }

  /** Show what is wrong, at the field whose name begins the message, or at the bot whose file it names. */
  _wrong(message) {
    this.problem.textContent = message;
    this.problem.scrollIntoView({ block: 'nearest' });
    const bot = this.bots.find(({ select }) => message.includes(select.selectedOptions[0].title));
    const control = [...this.form.elements].find(({ id }) => id && message.startsWith(`${id} `)) ?? bot?.select;
    if (!control) return;
    set(control, { 'aria-invalid': 'true', 'aria-describedby': 'problem' });
    control.focus();
  }

  remove() {
    this.asked = null;
    this.board?.remove();
  }
}
