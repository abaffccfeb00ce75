// The panel that shows who is there. The organiser sees the links of the people, and starts and ends games. A person
// gives a name.

import * as api from './api.js';
import { copyText } from '../core/clipboard.js';
import { el, foreign, set, textButton } from '../core/dom.js';
import { HEROES } from '../board/sprites.js';
import { store, stored } from '../core/storage.js';

const MEMORY = 'vindibot-challenge-name';

export class Gathering {
  /** `state` is the host's state, `links` are the links of the people in the order of their heroes, if we are the
   *  organiser. */
  constructor(session, state, links) {
    this.session = session;
    this.organises = state.organises;
    this.me = state.me;
    this.head = el('span', { role: 'status' });
    this.words = el('p', { class: 'words' });
    const people = state.heroes.flatMap(({ person }, hero) => (person ? [hero] : []));
    this.heroes = state.heroes.map((_, hero) => this._hero(hero, links[people.indexOf(hero)]));
    this.host = el('section', { class: 'panel gathering', 'aria-label': 'People' }, el('h2', {}, this.head),
      this.words, this._form(), this._acts(),
      el('ul', { class: 'gathered' }, this.heroes.map(({ row }) => row)));
  }

  _hero(hero, link) {
    const name = foreign('', { class: 'name' }),
      note = el('span', { class: 'here' });
    const number = el('span', { class: 'number', text: hero + 1 });
    const copied = el('span', { class: 'here', role: 'status' });
    const copy = async () => {
      copied.textContent = (await copyText(link.link)) ? 'Copied' : 'Copy the address of the link yourself';
    };
    const details = link ? el('details', { open: true }, el('summary', { text: `Link of hero ${hero + 1}` }),
      el('img', { class: 'code', src: link.code, alt: `QR code of the link of hero ${hero + 1}` }),
      el('p', { class: 'row' }, el('a', { class: 'button', href: link.link, target: '_blank', rel: 'noopener',
          text: 'Open' }),
        textButton('Copy', copy, { class: 'roomy' }), copied)) : null;
    const row = el('li', { class: 'one', 'data-hero': hero }, el('p', { class: 'who' }, number, name, note), details);
    row.style.setProperty('--hero', HEROES[hero].main);
    return { row, name, note, details, came: false };
  }

  /** The form for the name of a person. */
  _form() {
    this.name = el('input', { type: 'text', id: 'name', maxlength: 30, required: true, autocomplete: 'nickname',
      'aria-describedby': 'problem', value: stored(MEMORY) ?? '' });
    const submit = (event) => {
      event.preventDefault();
      this._come();
    };
    this.form = el('form', { class: 'naming', hidden: true, on: { submit } },
      el('label', { for: 'name', text: 'Your name' }), el('div', { class: 'row' }, this.name,
        el('button', { type: 'submit', class: 'go', text: 'I am here' })));
    return this.form;
  }

  _come() {
    const name = this.name.value.trim();
    store(MEMORY, name);
    this.session.act(api.come(this.session.token, name));
  }

  _acts() {
    const { session } = this, { token } = session;
    this.start = textButton('Start', () => session.act(api.start(token)), { class: 'go', hidden: true });
    const end = () => window.confirm('End this game for all people?') && session.act(api.endGame(token));
    this.end = textButton('End the game', end, { class: 'roomy', hidden: true });
    return el('div', { class: 'row' }, this.start, this.end);
  }

  /** Show a state of the host. `beside` says whether the panel is beside a game. */
  show(state, beside) {
    const { heroes } = state, people = heroes.filter(({ person }) => person),
      here = people.filter((one) => one.name && one.here);
    const idle = state.state === 'waiting' || state.state === 'over', { organises } = this;
    const text = state.state === 'starting' ? 'The game begins …' :
      `${here.length} of ${people.length} people are here`;
    if (this.head.textContent !== text) this.head.textContent = text;
    this.words.textContent = this._words(state);
    this.form.hidden = this.me === null || Boolean(heroes[this.me].name);
    this.start.hidden = !organises || !idle;
    this.start.disabled = !here.length;
    this.start.textContent = state.game ? 'Play again' : here.length < people.length ? 'Start without the others' :
      'Start';
    this.end.hidden = !organises || state.state !== 'playing';
    this.host.classList.toggle('beside', beside);
    this.host.classList.toggle('asking', !this.form.hidden);
    this.host.classList.toggle('wide', organises && !beside);
    this.heroes.forEach((cells, hero) => this._showHero(cells, hero, heroes[hero], state, beside));
  }

  _showHero(cells, hero, one, { state }, beside) {
    const came = one.person && Boolean(one.name);
    cells.name.textContent = one.name || `hero ${hero + 1}`;
    cells.note.textContent = !one.person ? 'bot' : hero === this.me ? 'you' : !came ? 'not here yet' : one.here ?
      'here' : 'away';
    cells.row.classList.toggle('came', came && one.here);
    // The code of a person who is here is hidden, so that nobody takes it by mistake. It can be opened again.
    if (cells.details && (came !== cells.came || (beside && !cells.beside))) cells.details.open = !came && !beside;
    [cells.came, cells.beside] = [came, beside];
    set(cells.row, { 'aria-current': hero === this.me ? 'true' : null, 'data-state': state });
  }

  /** Return what the visitor can do or expect, in words. */
  _words({ state, heroes, game, seconds, rounds }) {
    const facts = `${rounds} ${rounds === 1 ? 'round' : 'rounds'}, ${seconds} s for a move of a person.`;
    if (this.organises) {
      if (game) return state === 'playing' ?
        'A person who is late stays for this turn. A person who is away can open the link again.' :
        'You can start the next game. Bots play for people who are not here.';
      return 'Each person opens one link. The game begins when all are here. ' +
        `If you start it earlier, bots play for the others. ${facts}`;
    }
    if (this.me !== null) {
      const you = heroes[this.me].name,
        playing = game?.people.includes(this.me);
      if (!you) return `You play hero ${this.me + 1}. ${facts}`;
      if (state === 'playing' && playing)
        return `You play hero ${this.me + 1}. If you are late, your hero stays for this turn.`;
      return `You play hero ${this.me + 1}${game ? ' in the next game' : ''}. ` +
        `It begins when it is started on the start page${game ? '' : ', or when all are here'}.`;
    }
    return game ? '' : `The game has not begun. ${facts}`;
  }
}
