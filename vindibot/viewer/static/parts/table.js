// The table of the four heroes. Jumps to events and the overlay of distances use the selected hero.

import { el, foreign, set } from '../core/dom.js';
import { HEROES } from '../board/sprites.js';

const ENDINGS = { finished: 'Played to the end', 'all-crashed': 'Ended by crashes', interrupted: 'Interrupted' };

export class HeroTable {
  /** `chosen` is called with the selected hero 0..3, or -1 if no hero is selected. */
  constructor(host, game, chosen) {
    this.game = game;
    this.hero = -1;
    this.shownEnding = null;
    this.chosen = chosen;
    this.rows = [0, 1, 2, 3].map((hero) => this._row(hero));
    const head = ['Hero', 'Life', 'Gold', 'Mines'].map((text, i) =>
      el('th', { scope: 'col', class: i > 1 ? 'number' : '', text }));
    head.push(el('th', { scope: 'col' }, el('span', { class: 'unseen', text: 'Place' })));
    this.ending = el('p', { class: 'ending', role: 'status' });
    host.classList.add('heroes-panel');
    host.append(
      el(
        'table',
        { class: 'heroes' },
        el('caption', { class: 'unseen', text: 'The four heroes now' }),
        el('thead', {}, el('tr', {}, head)),
        el(
          'tbody',
          {},
          this.rows.map(({ row }) => row),
        ),
      ),
      this.ending,
    );
  }

  /** Select a hero 0..3. If this hero is selected already, or for -1, clear the selection. */
  choose(hero) {
    this.hero = this.hero === hero ? -1 : hero;
    this.rows.forEach(({ pick, row }, other) => {
      set(pick, { 'aria-pressed': String(other === this.hero) });
      row.classList.toggle('picked', other === this.hero);
    });
    this.chosen(this.hero);
  }

  _row(hero) {
    const { game } = this,
      player = game.bundle.players[hero],
      press = () => this.choose(hero);
    const name = foreign(player.name, { class: 'name' });
    const rating =
      player.elo === null || player.elo === undefined ? null : el('span', { class: 'elo', text: `Elo ${player.elo}` });
    const pick = el(
      'button',
      {
        type: 'button',
        class: 'pick',
        'aria-pressed': 'false',
        title: 'choose this hero for jumps and distances',
        on: { click: press },
      },
      el('span', { class: 'number', text: hero + 1 }),
      name,
      rating,
      hero === game.me ? el('span', { class: 'ours', text: 'ours' }) : null,
    );
    const fill = el('span', { class: 'fill' }),
      life = el('span', { class: 'value' }),
      gold = el('td', { class: 'number gold' }),
      mines = el('td', { class: 'number' }),
      note = el('td', { class: 'rank' });
    const row = el(
      'tr',
      { 'data-hero': hero },
      el('th', { scope: 'row' }, pick),
      el('td', { class: 'life' }, el('span', { class: 'lifebar', 'aria-hidden': 'true' }, fill), life),
      gold,
      mines,
      note,
    );
    row.style.setProperty('--hero', HEROES[hero].main);
    return { row, pick, fill, life, gold, mines, note };
  }

  /** Show the heroes of a state. */
  show(state) {
    const { game } = this,
      mover = game.mover(state),
      over = state === game.last && game.results;
    this.rows.forEach((cells, hero) => {
      const now = game.hero(state, hero);
      const rank = over ? game.results.find((result) => result.hero === hero)?.rank : null;
      const note = rank ? `${rank}${['st', 'nd', 'rd'][rank - 1] ?? 'th'}` : now.crashed ? 'crashed' : '';
      cells.life.textContent = now.life;
      cells.fill.style.transform = `scaleX(${now.life / 100})`;
      cells.fill.className = `fill ${now.life > 50 ? 'good' : now.life > 20 ? 'warn' : 'bad'}`;
      cells.gold.textContent = now.gold;
      cells.mines.textContent = now.mines;
      cells.note.textContent = note;
      cells.row.classList.toggle('moves', hero === mover && !over);
    });
  }

  /** Show how the game ended, if this is known and `state` is the last one. Before, the result is not told. */
  finish(state = this.game.last) {
    const { last, results, names } = this.game,
      ending = state === last ? this.game.ending : null;
    if (this.shownEnding === ending) return;
    this.shownEnding = ending;
    if (!ending) return this.ending.replaceChildren();
    const first = (results ?? []).filter((result) => result.rank === 1);
    const parts = [ENDINGS[ending.kind] ?? `Our end: ${ending.kind}`];
    if (ending.kind !== 'interrupted' && results)
      parts.push(
        ...(first.length === 1
          ? [`. ${first[0].hero + 1} `, foreign(names[first[0].hero]), ' has won.']
          : ['. No winner: the best are equal.']),
      );
    else parts.push('.');
    if (ending.message) parts.push(' ', foreign(ending.message));
    this.ending.replaceChildren(...parts);
  }
}
