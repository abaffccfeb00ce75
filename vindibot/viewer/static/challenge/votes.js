// The votes of the bots, for a person who plays alone: the decisions of a bot below the table, and marks on the board.

import * as api from './api.js';
import { el, elsewhere, foreign, set } from '../core/dom.js';
import { marksOf } from '../board/overlays.js';
import { HEROES } from '../board/sprites.js';
import { store, stored } from '../core/storage.js';
import { Why } from '../parts/why.js';

const MARKS = new Set(['sums', 'line', 'goals']);
const MEMORY = 'vindibot-challenge-votes';

export class Votes {
  /** Show the votes of the bots in the game of a `GameView`. `token` is that of the person's link. */
  constructor(view, token) {
    this.view = view;
    this.token = token;
    this.others = [0, 1, 2, 3].filter((hero) => hero !== view.game.me);
    this.bot = this.others[0];
    this.turns = [[], [], [], []]; // the decisions of the bots, by hero
    this.known = 0;
    this._build();
    document.addEventListener('keydown', (event) => {
      if (event.key.toLowerCase() === 'v' && !elsewhere(event)) this._switch(!this.box.checked);
    }, { signal: view.ends.signal });
    this._switch(stored(MEMORY) === 'on');
  }

  _build() {
    const { game, side } = this.view, why = el('div', {});
    this.why = new Why(why, game);
    this.box = el('input', { type: 'checkbox', on: { change: () => this._switch(this.box.checked) } });
    this.tabs = this.others.map((hero) => {
      const click = () => this.chosen(hero);
      const tab = el('button', { type: 'button', class: 'tab', 'data-hero': hero, on: { click } },
        el('span', { class: 'number', text: hero + 1 }), foreign(game.names[hero], { class: 'name' }));
      tab.style.setProperty('--hero', HEROES[hero].main);
      return tab;
    });
    this.decisions = el('div', {}, el('div', { class: 'tabs', role: 'group', 'aria-label': 'Bot' }, this.tabs), why);
    side.append(el('section', { class: 'panel why', 'aria-label': 'How the bots decided' },
      el('label', { class: 'switch', title: 'what each trait of a bot voted for its last move (V)' }, this.box,
        'Show how the bots decided'), this.decisions));
  }

  shown(state) {
    const { board, game } = this.view, turn = this.box.checked ? this._decision(state) : null;
    if (state === this.marked && turn === this.markedTurn) return;
    this.marked = state;
    this.markedTurn = turn;
    // The marks show the game from the side of the selected bot.
    const its = Object.create(game, { me: { value: this.bot } });
    board.mark(turn ? marksOf(MARKS, its, { state, turn, hero: this.bot }) : null);
    this.why.show(turn, state);
  }

  chosen(hero) {
    if (!this.others.includes(hero)) return;
    this.bot = hero;
    this.marked = null;
    for (const tab of this.tabs) set(tab, { 'aria-pressed': String(Number(tab.dataset.hero) === hero) });
    this.view.show();
  }

  /** Return the selected bot's last decision at or before a state. */
  _decision(state) {
    return this.turns[this.bot].findLast((turn) => turn.ply < Math.max(1, state)) ?? null;
  }

  _switch(on) {
    this.box.checked = on;
    this.decisions.hidden = !on;
    store(MEMORY, on ? 'on' : 'off');
    this.chosen(this.bot);
    if (on && !this.listening) this._listen();
  }

  /** Request the votes as long as they are shown. */
  async _listen() {
    this.listening = true;
    const { signal } = this.view.ends;
    while (this.box.checked && !signal.aborted) {
      try {
        const { turns, over } = await api.votes(this.token, this.known, signal);
        for (const turn of turns) this.turns[turn.hero].push(turn);
        this.known += turns.length;
        if (turns.length) this.view.clock.redraw();
        if (over && !turns.length) break;
      } catch (problem) {
        if (problem.status || signal.aborted) break;
        await api.pause(1000);
      }
    }
    this.listening = false;
  }
}
