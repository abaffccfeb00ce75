// The page of challenges: the form of a person who plays alone, and the game of a link.

import * as api from '../challenge/api.js';
import { Choice, storedPace } from '../challenge/choose.js';
import { Session } from '../challenge/session.js';
import { button, el, textButton } from '../core/dom.js';
import { store, stored } from '../core/storage.js';
import { watchMotion, watchTheme } from '../core/theme.js';

const MEMORY = 'vindibot-challenge-organiser';

class Page {
  constructor(main) {
    const theme = button('Dark or light', '◐', () => switchTheme(), { class: 'plain' });
    this.body = el('div', { class: 'body' });
    this.look = { theme: 'dark', still: false }; // the theme, and whether the user prefers little motion
    main.append(el('header', { class: 'top' }, el('h1', { text: 'Challenge' }), el('span', { class: 'space' }),
      el('a', { href: '/doc', text: 'How to play' }), el('a', { href: '/', text: 'Games' }), theme), this.body);
    const switchTheme = watchTheme((now) => this._look({ theme: now }));
    watchMotion((still) => this._look({ still }));
    this.several = Number(main.dataset.people) > 1;
    window.addEventListener('hashchange', () => location.reload());
    const token = location.hash.slice(1) || (this.several && stored(MEMORY, 'sessionStorage')) || '';
    if (this.several || token) this.play(token, this.several ? 0 : storedPace());
    else this.choose();
  }

  _look(changed) {
    Object.assign(this.look, changed);
    this.shown?.setLook(this.look);
  }

  /** Show the form. */
  async choose() {
    this._clear();
    history.replaceState(null, '', location.pathname);
    let offers;
    try {
      offers = await api.offers();
    } catch (problem) {
      this.body.append(el('p', { class: 'problem', role: 'alert', text: problem.message }),
        textButton('Try again', () => this.choose(), { class: 'roomy' }));
      return;
    }
    this.shown = new Choice(this.body, offers, (token, pace) => this.play(token, pace));
    this.shown.setLook(this.look);
  }

  /** Show the game of a link. `token` is "" for a spectator. `pace` is that of a person who plays alone. */
  play(token, pace) {
    this._clear();
    // The token of a person who plays alone is in the address, so that the game goes on when the page is loaded again.
    // A projector shows the address of the organiser's page, so there the tab keeps the token.
    const organises = () => store(MEMORY, token, 'sessionStorage') && history.replaceState(null, '', location.pathname);
    const wrong = () => (this.several ? store(MEMORY, '', 'sessionStorage') : this.choose());
    if (!this.several) history.replaceState(null, '', `#${token}`);
    this.shown = new Session(this.body, token, this.look, { choose: () => this.choose(), organises, wrong, pace });
  }

  _clear() {
    this.shown?.remove();
    this.shown = null;
    this.body.replaceChildren();
  }
}

window.vindibotChallenge = new Page(document.getElementById('viewer'));
