// The notes of a game: what bots and programs said on their turns. The notes are texts of other people, so they are
// shown as text nodes only.

import { el, foreign } from '../core/dom.js';

export class Notes {
  /** Make the panel inside `host`, an empty element. The panel is hidden while the game has no notes. */
  constructor(host, game) {
    this.host = host;
    this.game = game;
    this.body = el('ul', { class: 'said-list' });
    this.none = el('p', { class: 'none', text: 'No bot said anything on these turns.' });
    host.append(el('h2', { id: 'notes-title', text: 'Notes' }), this.body, this.none);
  }

  /** Show the notes of a state. Only notes of `hero` count, or all notes if `hero` is -1. */
  show(state, hero) {
    const { game } = this;
    this.host.hidden = !game.notes.size;
    if (this.host.hidden) return;
    const shown = `${state} ${hero} ${game.notes.size}`;
    if (shown === this.shown) return;
    this.shown = shown;
    const turns = game.notesAt(state, hero);
    this.none.hidden = Boolean(turns.length);
    this.body.replaceChildren(...turns.flatMap((turn) => turn.notes.map((note) => this._row(turn, note))));
  }

  _row({ hero, ply }, { source, text, square }) {
    const { game } = this;
    const place = square === undefined ? null : `(${Math.floor(square / game.size)}, ${square % game.size}) `;
    return el(
      'li',
      { 'data-hero': hero, 'data-ply': ply },
      el('span', { class: 'turn', text: game.turns[ply] }),
      el(
        'span',
        { class: 'by' },
        `${hero + 1} `,
        foreign(game.names[hero]),
        ' · ',
        foreign(source, { class: 'trait' }),
        ': ',
      ),
      el('span', {}, place, foreign(text, { class: 'note-text' })),
    );
  }
}
