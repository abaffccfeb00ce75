// An expected line of a review on the board: what would have happened after a move. It has its own time and its own
// controls. These controls replace the game's controls until the user goes back to the game.

import { Clock } from '../game/clock.js';
import { button, el } from '../core/dom.js';
import { Game } from '../game/model.js';
import { DIRECTIONS } from '../game/names.js';
import { Scenes } from '../game/scene.js';
import { Transport } from './transport.js';

/** Return the button with which the user goes back to the game. */
export function backButton(back) {
  const words = ['← Back', el('span', { class: 'rest', text: ' to the game' })];
  return button('Back to the game', words, back, { key: 'Esc', class: 'back' });
}

export class Line {
  /** Show the line of a reviewed turn; `which` is "best" or "played". `shown` is called when the page must be drawn
   *  again, `back` when the user goes back to the game. */
  constructor(game, reviewed, which, { shown, back }) {
    this.reviewed = reviewed;
    this.which = which;
    this.game = new Game(game.lineFrom(reviewed.ply, reviewed[`${which}_line`]));
    this.scenes = new Scenes(this.game);
    this.clock = new Clock(() => this.game.last, shown);
    const move = which === 'best' ? reviewed.best : reviewed.move;
    this.title = `What would have happened after ${DIRECTIONS[move]}`;
    this.host = el('section', { class: 'transport line-transport', 'aria-label': this.title });
    this.host.append(
      el(
        'div',
        { class: 'line-head' },
        el('strong', { text: this.title }),
        backButton(back),
      ),
    );
    this.transport = new Transport(this.host, this.game, this.clock);
  }

  /** Return the events of the ply before the state that is shown, in words. */
  get said() {
    const { state } = this.clock;
    if (!state) return 'The position in the game. From here on, this is what the review expects.';
    return this.game.happened(state).join('. ');
  }
}
