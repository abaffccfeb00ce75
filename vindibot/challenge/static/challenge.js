// The page of challenges: the form, the game, and the next game. If several people play one game, `People` fills the
// page.

import * as api from './api.js';
import { Choice } from './choose.js';
import { People } from './people.js';
import { Play } from './play.js';
import { button, el } from '/viewer/dom.js';
import { watchMotion, watchTheme } from '/viewer/theme.js';

class Page {
  constructor(main) {
    const theme = button('Dark or light', '◐', () => this.switchTheme(), { class: 'plain' });
    this.body = el('div', { class: 'body' });
    main.append(el('header', { class: 'top' }, el('h1', { text: 'Challenge' }), el('span', { class: 'space' }),
      el('a', { href: '/doc', text: 'How to play' }), el('a', { href: '/', text: 'Games' }), theme), this.body);
    this.switchTheme = watchTheme((now) => {
      this.theme = now;
      this.shown?.setTheme(now);
    });
    watchMotion((still) => {
      this.still = still;
      this.shown?.setStill?.(still);
    });
    if (Number(main.dataset.people) > 1) this.shown = new People(this.body, { theme: this.theme, still: this.still });
    else this.choose();
  }

  /** Show the form. */
  async choose() {
    this._clear();
    try {
      this.offers = await api.offers();
    } catch (problem) {
      this.body.append(el('p', { class: 'problem', role: 'alert', text: problem.message }),
        el('button', { type: 'button', class: 'roomy', on: { click: () => this.choose() }, text: 'Try again' }));
      return;
    }
    const choice = this._put(new Choice(this.body, this.offers, async (wanted, pace) => {
      choice.busy('Starting the bots …');
      const begun = await api.begin(wanted).catch((problem) => choice.fail(problem.message));
      if (begun) this._play(begun, wanted, pace);
    }));
  }

  _play(begun, wanted, pace) {
    this._clear();
    const again = async () => {
      this._clear();
      this.body.append(el('p', { class: 'said', role: 'status', text: 'Starting the bots …' }));
      const next = await api.begin(wanted).catch(async (problem) => {
        await this.choose();
        this.shown?.fail?.(problem.message);
      });
      if (next) this._play(next, wanted, pace);
    };
    const options = { pace, limit: this.offers.your_limit_s, theme: this.theme, still: this.still };
    this._put(new Play(this.body, begun, options, { again, choose: () => this.choose() })).run();
  }

  _put(shown) {
    this.shown = shown;
    shown.setTheme(this.theme);
    return shown;
  }

  _clear() {
    this.shown?.remove();
    this.shown = null;
    this.body.replaceChildren();
  }
}

window.vindibotChallenge = new Page(document.getElementById('viewer'));
