// The page of a game. It reads the bundle, builds the parts of the page, and shows the same state in all parts.

import { Address, addressOf } from './address.js';
import { Board } from '../board/board.js';
import { Charts } from '../parts/charts.js';
import { copyText } from '../core/clipboard.js';
import { Clock } from '../game/clock.js';
import { button, el, elsewhere, foreign, icon, set } from '../core/dom.js';
import { gameFile } from './download.js';
import { Events, KINDS } from '../parts/events.js';
import { REST, framed, tellHeight, wishes } from './frame.js';
import { helpWindow, keyTable, lettersCount } from '../parts/keys.js';
import { Line } from '../parts/line.js';
import { ANSWERS, Lesson } from '../parts/lesson.js';
import { Game } from '../game/model.js';
import { Notes } from '../parts/notes.js';
import { OVERLAYS, marksOf } from '../board/overlays.js';
import { ReviewPanel } from '../parts/review.js';
import { Scenes } from '../game/scene.js';
import { Stream } from '../core/stream.js';
import { HeroTable } from '../parts/table.js';
import { watchMotion, watchTheme } from '../core/theme.js';
import { Transport } from '../parts/transport.js';
import { Why } from '../parts/why.js';

const SUN = [
  'M12 7.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM12 2v2.5M12 19.5V22M2 12h2.5' +
    'M19.5 12H22M5 5l1.7 1.7M17.3 17.3L19 19M5 19l1.7-1.7M17.3 6.7L19 5',
  '',
];
const LINK = ['M9.5 14.5l5-5M10.5 7l2-2a4.2 4.2 0 016 6l-2 2M13.5 17l-2 2a4.2 4.2 0 01-6-6l2-2', ''];
const ARROW_DOWN = ['M12 4v11M7 10.5l5 5 5-5M5 20h14', ''];
/** Milliseconds between two updates of the texts during playback. The board is updated in each frame. */
const PANELS_EVERY = 90;
/** At this number of plies per second or more, overlays are updated as rarely as texts. */
const HASTE = 24;
/** Milliseconds between two updates of the charts of a growing game. */
const CURVES_EVERY = 300;
/** Milliseconds for which a message stays while the game moves by itself. */
const TOLD_MS = 2000;
/** Milliseconds from the end of a live game until the page shows the next game, if the page is set to do so. */
const NEXT_AFTER = 8000;

class Page {
  constructor(main, data) {
    this.game = new Game(JSON.parse(data.textContent));
    this.scenes = new Scenes(this.game);
    this.hero = -1; // the hero of jumps and distances, -1 for all
    this.shown = new Set(this.game.review ? ['review'] : this.game.bundle.why ? ['line', 'goals', 'sums'] : []);
    if (this.game.notes.size || this.game.live) this.shown.add('marks');
    this.line = null; // the line of a review that is on the board instead of the game
    this.lesson = null; // the positions of bad moves for which the page asks
    this.still = false;
    this.toldUntil = 0;
    this.wishes = wishes();
    this.clock = new Clock(
      () => this.game.last,
      () => this.show(),
    );
    this.file = gameFile(this.game.bundle, data.dataset);
    this.address = new Address((turn) => {
      this.asked = turn;
      this._goAsked();
    });
    this._build(main, data.dataset);
    this._themes();
    document.addEventListener('keydown', (event) => this._key(event));
    this.start(data.dataset);
  }

  _build(main, { home }) {
    const { game } = this;
    const { bundle } = game;
    document.title = bundle.title;
    const table = keyTable(this);
    this.help = helpWindow(table);
    this.keys = Object.assign({}, ...table.map(([, , keys]) => keys));
    const parts = {
      board: el('div', {}),
      transport: el('section', { class: 'transport', 'aria-label': 'Time' }),
      events: el('section', { class: 'panel events-panel', 'aria-labelledby': 'events-title' }),
      overlays: el('fieldset', { class: 'overlays' }),
      table: el('section', { class: 'panel', 'aria-label': 'Heroes' }),
      review: el('section', { class: 'panel review', 'aria-labelledby': 'review-title', hidden: !game.review }),
      why: el('section', { class: 'panel why', 'aria-labelledby': 'why-title' }),
      notes: el('section', { class: 'panel notes', 'aria-labelledby': 'notes-title' }),
      charts: el('section', { class: 'panel charts', 'aria-labelledby': 'charts-title' }),
    };
    this.status = el('span', { class: 'status', role: 'status' });
    this.said = el('p', { class: 'said', 'aria-live': 'polite' });
    this.themeButton = button('Dark or light', icon(...SUN), () => this.switchTheme(), { key: 'I', class: 'plain' });
    const header = el(
      'header',
      { class: 'top' },
      home ? el('a', { class: 'home', href: home, target: framed() && '_blank', text: 'Games' }) : null,
      el('h1', {}, foreign(bundle.title)),
      this.status,
      el('span', { class: 'space' }),
      this.file && button(`Download the ${this.file.kind}`, icon(...ARROW_DOWN),
        () => this._download(), { class: 'plain' }),
      button('Copy the address of this turn', icon(...LINK), () => this._copyAddress(), { class: 'plain' }),
      this.themeButton,
      button('Keys', '?', () => this.help.showModal(), { key: '?', class: 'plain' }),
    );
    this.board = new Board(parts.board, game);
    const acts = {
      halt: (state) => this.inGame(() => this.clock.halt(state)),
      jump: (kind, way) => this.jump(kind, way),
      explore: (reviewed, which) => this.explore(reviewed, which),
      learn: () => this.learn(),
    };
    this.controls = parts.transport;
    this.stage = el('div', { class: 'stage' }, parts.board);
    this.transport = new Transport(parts.transport, game, this.clock);
    this.table = new HeroTable(parts.table, game, (hero) => this.choose(hero));
    this.why = new Why(parts.why, game);
    this.notes = new Notes(parts.notes, game);
    this.events = new Events(parts.events, game, acts);
    if (!bundle.why) parts.why.hidden = true;
    if (game.review) this.review = new ReviewPanel(parts.review, game, acts);
    this.charts = new Charts(parts.charts, game, (state) => this.inGame(() => this.clock.go(state)));
    this._overlays(parts.overlays);
    this.main = main;
    main.classList.add('game');
    document.documentElement.classList.add('game-page');
    if (framed()) document.documentElement.classList.add('framed');
    if (!this.wishes.controls) this._hideControls();
    main.append(
      header,
      this.stage,
      el(
        'div',
        { class: 'side' },
        parts.transport,
        this.said,
        parts.overlays,
        parts.table,
        parts.review,
        parts.why,
        parts.notes,
        parts.events,
        parts.charts,
      ),
      this.help,
    );
    if (framed()) tellHeight(main);
  }

  /** Leave the board, the button that plays, the turn, and a link to the whole page. */
  _hideControls() {
    document.documentElement.classList.add('bare');
    const link = el('a', { href: location.pathname, target: '_blank', class: 'whole' },
      foreign(this.game.bundle.title));
    this.controls.querySelector('.row').append(link);
  }

  _overlays(host) {
    host.append(el('legend', { text: 'On the board' }));
    this.boxes = new Map();
    const toggle = (id, label, key, tip, on) => {
      const box = el('input', { type: 'checkbox', checked: on, on: { change: () => this.toggle(id, box.checked) } });
      this.boxes.set(id, box);
      host.append(el('label', { title: `${tip} (${key})` }, box, el('span', { text: label })));
    };
    for (const { id, key, label, tip, votes, review } of OVERLAYS)
      if ((!votes || this.game.bundle.why) && (!review || this.game.review))
        toggle(id, label, key, tip, this.shown.has(id));
    toggle('names', 'Names', 'N', 'names of the heroes', true);
    this._feed();
  }

  /** Disable the boxes of overlays that have nothing to show in this game. */
  _feed() {
    for (const { id, key, tip, fed, without } of OVERLAYS) {
      const box = this.boxes.get(id);
      if (!fed || !box || box.fed) continue;
      box.fed = fed(this.game);
      box.disabled = !box.fed;
      box.checked = box.fed && this.shown.has(id);
      box.closest('label').title = box.fed ? `${tip} (${key})` : without;
    }
  }

  _themes() {
    this.switchTheme = watchTheme((theme) => {
      this.board.setTheme(theme);
      this.charts.setTheme(theme);
      this.transport.draw();
    });
    watchMotion((still) => {
      this.still = this.clock.still = still;
      if (this.line) this.line.clock.still = still;
      document.documentElement.classList.toggle('still', still);
    });
  }

  /** Switch an overlay on or off. */
  toggle(id, on = !this.boxes.get(id)?.checked) {
    const box = this.boxes.get(id);
    if (!box) return;
    if (box.disabled) {
      this.tell(`${box.closest('label').textContent}: ${OVERLAYS.find((one) => one.id === id).without}.`);
      return;
    }
    box.checked = on;
    if (id === 'names') this.board.setNames(on);
    else {
      this.shown[on ? 'add' : 'delete'](id);
      this.marked = null;
      this.show();
    }
  }

  /** Whether the game is running. */
  get live() {
    return this.game.live && !this.game.ending;
  }

  choose(hero) {
    this.hero = hero;
    this.charts.stress(hero);
    this.events.stress(hero);
    this.review?.stress(hero);
    this.marked = null;
    this.show();
  }

  jump(kind, way) {
    this.leave();
    const { game, clock } = this,
      state = game.seek(kind, clock.state, way, kind === 'ours' ? -1 : this.hero);
    if (state !== null) clock.halt(state);
    else this.tell(`There is no ${way > 0 ? 'later' : 'earlier'} ${KINDS.find((one) => one.kind === kind).label}.`);
  }

  /** Show a message where the events of the state are shown, until the state changes. While the game moves by itself,
   *  the message stays for some seconds. */
  tell(text) {
    this.said.textContent = text;
    this.toldUntil = performance.now() + TOLD_MS;
  }

  // ---- Learn from mistakes ----

  /** Begin the mode that asks for better moves in the positions of the worst moves. */
  learn() {
    this.leave();
    const lesson = new Lesson(this.game, this.hero, {
      halt: (state) => {
        this.clock.halt(state);
        this._lessonShown();
      },
      answered: () => this._lessonShown(),
      leave: () => this.endLesson(),
    });
    if (!lesson.turns.length) return;
    this.lesson = lesson;
    this.clock.pause();
    this.controls.hidden = true;
    this.controls.after(lesson.host);
    this.main.classList.add('learning');
    lesson.go();
    this.stage.scrollIntoView({ block: 'nearest' });
  }

  /** Go back to the game. */
  endLesson() {
    if (!this.lesson) return;
    this.lesson.host.remove();
    this.lesson = null;
    this.controls.hidden = false;
    this.main.classList.remove('learning', 'answered');
    this.review.learn.focus();
    this.marked = null;
    this.show();
  }

  _lessonShown() {
    this.main.classList.toggle('answered', !this.lesson.hides && this.lesson.turn !== undefined);
    this.marked = null;
    this.show();
  }

  // ---- Lines of a review ----

  /** Put the line of a reviewed turn on the board; `which` is "best" or "played". If this line is there already, go
   *  back to the game. */
  explore(reviewed, which) {
    const { line } = this;
    const shown = line?.reviewed === reviewed && line.which === which;
    this.leave();
    if (shown) return;
    if (!reviewed?.[`${which}_line`]?.length) {
      this.tell('There is no line of this turn. Bad moves have lines: B goes to the next one.');
      return;
    }
    this.clock.halt(reviewed.ply);
    this.line = new Line(this.game, reviewed, which, { shown: () => this.show(), back: () => this.leave() });
    this.line.clock.still = this.still;
    this.line.clock.speed = this.clock.speed;
    this.review.setLine(which);
    this.scrolled = window.scrollY;
    this.stage.scrollIntoView({ block: 'nearest' });
    this.controls.hidden = true;
    this.controls.after(this.line.host);
    this.stage.classList.add('elsewhere');
    this.line.clock.play();
  }

  /** Go back from a line to the game. */
  leave() {
    if (!this.line) return;
    const focused = this.line.host.contains(document.activeElement);
    this.line.clock.pause();
    this.line.host.remove();
    this.line = null;
    this.controls.hidden = false;
    if (focused) this.transport.toggle.focus();
    this.stage.classList.remove('elsewhere');
    this.review.setLine(null);
    window.scrollTo(0, this.scrolled);
    this.marked = this.describedState = null;
    this.show();
  }

  /** Go back from a line of a review to the game, then call `act`. */
  inGame(act) {
    this.leave();
    act();
  }

  _showLine() {
    const { line, board, table } = this,
      { clock, game } = line,
      { state } = clock;
    const moving = clock.pace > 0,
      now = performance.now();
    board.frame(line.scenes.at(clock.time, this.still ? 0 : clock.pace));
    board.mark(state ? null : marksOf(new Set(['review']), this.game, { reviewed: line.reviewed }));
    if (moving && now - (this.panelsAt ?? 0) < PANELS_EVERY) return;
    this.panelsAt = now;
    line.transport.show(state);
    table.game = game;
    table.show(state);
    table.game = this.game;
    set(this.said, { 'aria-live': moving ? 'off' : 'polite' });
    this.said.textContent = line.said;
    if (!moving) board.describe(`${line.title}: ${game.inWords(state)}`);
  }

  // ---- Copies, and the file of the game ----

  async _copyAddress() {
    const address = addressOf(this.game.turns[this.clock.state]);
    this.tell((await copyText(address)) ? `Copied: ${address}` : `Copy this address yourself: ${address}`);
  }

  _download() {
    const { kind, name } = this.file,
      commands = kind === 'recording' ? 'replay, watch and turn' : 'replay and watch';
    this.file.save();
    this.tell(`Downloading the ${kind} ${name}, for vindibot ${commands}.`);
  }

  // ---- The view ----

  /** Show the clock's time. The board is updated at once; during playback, the texts are updated a few times per
   *  second. */
  show() {
    if (this.line) this._showLine();
    else this._showGame();
  }

  _showGame() {
    const { clock, game, board } = this,
      state = clock.state,
      moving = clock.pace > 0;
    board.frame(this.scenes.at(clock.time, this.still ? 0 : clock.pace));
    this.charts.show(state);
    const turn = game.turnFor(state),
      reviewed = game.reviewFor(state, this.hero);
    const now = performance.now();
    if (clock.pace < HASTE || now - (this.marksAt ?? 0) >= PANELS_EVERY) this._mark(state, turn, reviewed, now);
    if (moving && now - (this.panelsAt ?? 0) < PANELS_EVERY) return;
    this.panelsAt = now;
    this.transport.show(state);
    this.table.show(state);
    this.events.show(state, clock.following);
    this.why.show(turn, state);
    this.notes.show(state, this.hero);
    this.review?.show(reviewed, state);
    if (this.asked === null) this.address.show(!clock.following && (clock.touched || state) ? game.turns[state] : null);
    this.transport.setLive(this.live, clock.following);
    this._tell(state, moving);
    this._status();
  }

  /** Update the overlays. */
  _mark(state, turn, reviewed, now) {
    const { game, board } = this;
    const shown = this.lesson?.hides ? new Set([...this.shown].filter((id) => !ANSWERS.has(id))) : this.shown;
    if (this.shown.size && (state !== this.marked || game.last !== this.markedLast)) {
      this.marked = state;
      this.markedLast = game.last;
      this.marksAt = now;
      const hero = this.hero >= 0 ? this.hero : Math.max(0, game.me);
      board.mark(marksOf(shown, game, { state, turn, hero, chosen: this.hero, reviewed }));
    } else if (!this.shown.size && this.marked !== undefined) {
      this.marked = undefined;
      board.mark(null);
    }
  }

  _tell(state, moving) {
    const { game } = this;
    if (state === this.describedState) return;
    if ((moving || this.clock.following) && performance.now() < this.toldUntil) return;
    this.describedState = state;
    const said = state
      ? game.happened(state).join('. ')
      : game.gaps[0]
        ? 'The beginning is not known.'
        : 'Before the first move.';
    // Otherwise a screen reader would get many sentences per second during playback.
    set(this.said, { 'aria-live': moving ? 'off' : 'polite' });
    this.said.textContent = said;
    if (!moving) this.board.describe(game.inWords(state));
  }

  _status() {
    const { game, live } = this;
    const trouble = this.stream?.words;
    const word = trouble || (live ? 'Live' : game.bundle.training ? 'Training game' : '');
    if (this.status.textContent !== word) this.status.textContent = word;
    this.status.className = `status ${trouble ? 'lost' : live ? 'live' : ''}`;
    this.table.finish(this.clock.state);
  }

  // ---- Keys ----

  _key(event) {
    const { key, shiftKey } = event;
    if (this.help.open || elsewhere(event)) return;
    if (key.length === 1 && key !== ' ' && !lettersCount()) return;
    const letter = key.length === 1 ? key.toUpperCase() : key;
    if (this.lesson && !['N', 'I', '?'].includes(letter)) {
      if (this.lesson.key(key)) event.preventDefault();
      return;
    }
    const act = (shiftKey && this.keys[`Shift ${letter}`]) || this.keys[letter];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // ---- Start, and growth ----

  start({ events, next }) {
    const { game, clock } = this;
    const { turn, autoplay, loop } = this.wishes;
    this.asked = this.address.turn ?? turn; // this turn may not be known yet
    this.autoplay = autoplay && !this.still;
    clock.rest = loop ? REST / 1000 : null;
    clock.from = () => (turn === null ? 0 : Math.max(0, game.turns.findLastIndex((one) => one <= turn)));
    clock.grows = events ? (game.live ? 'live' : 'loading') : '';
    if (game.live && this.asked === null) clock.follow();
    this._goAsked();
    if (events)
      this.stream = new Stream(
        events,
        (patches) => this._grow(patches),
        ({ state }) => this._connected(state, next),
        { rests: game.bundle.source === 'server' }, // a server keeps its games; `play --open` ends
      );
    this.transport.draw();
    this.show();
  }

  _goAsked() {
    const { game, clock } = this;
    if (this.asked !== null) {
      if (clock.grows && game.turns[game.last] < this.asked && !game.ending) return;
      const state = game.turns.findLastIndex((turn) => turn <= this.asked);
      this.asked = null;
      this.leave();
      clock.halt(Math.max(0, state));
    }
    if (this.autoplay && !clock.following) clock.play();
    this.autoplay = false;
  }

  _connected(connection, next) {
    const { clock } = this;
    if (connection === 'complete') {
      // The page goes on to the next game unless the user has changed the time.
      if (next && this.game.live && clock.following)
        setTimeout(() => clock.touched || location.assign(next), NEXT_AFTER);
      clock.settle();
      this._goAsked();
    }
    clock.redraw();
  }

  _grow(patches) {
    if (!patches.filter((patch) => this.game.apply(patch)).length) return;
    this.clock.grown();
    this.marked = null;
    this._goAsked();
    if (this.curves) return;
    this.curves = setTimeout(() => {
      this.curves = 0;
      this._feed();
      this.events.draw();
      this.events.show(this.clock.state, this.clock.following);
      this.charts.draw();
      this.transport.draw();
      this.charts.show(this.clock.state);
    }, CURVES_EVERY);
  }
}

window.vindibotPage = new Page(document.getElementById('viewer'), document.getElementById('game'));
